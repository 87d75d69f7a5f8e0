"""Facts that draws know of the samples of a batch: parameters, noise, light."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import cv2
import numpy as np
import numpy.typing as npt
import torch

from ..synth.kernels.arrays import Pixels
from ..synth.models import DrawColumns, LowMaker
from ..synth.parameters.drawing import records_of
from ..synth.parameters.keyed_columns import Ragged
from .augment import CropFlip
from .lows import LiveLows
from .options import Options

Maps = dict[str, npt.NDArray[np.float32]]
_CHANNELS = {"light": 1, "mask": 1}


class SampleInfo(NamedTuple):
    """Facts of a sample that its draw knows.

    drawn: columns of this one sample; none where nothing was drawn, as of lists and of real pairs,
      or nobody asks.
    maps: dict of name to float32 array (h, w, 3 or 1); those that were asked for and are there.
    shape: (h, w); of the sample's images.
    component: name, in a mixture.
    """

    drawn: DrawColumns | None
    maps: Maps
    shape: tuple[int, int]
    component: str = ""


InfoFunction = Callable[[Pixels, CropFlip], SampleInfo]
"""Tells what is known of a sample, by its decoded normal and its crop."""


def info_functions(
    options: Options,
    drawn: LiveLows | None,
    keys: Sequence[str],
    epoch: int,
    maker: LowMaker | None = None,
) -> list[InfoFunction]:
    """Return what tells of each sample of a batch what its draw knows; none where nobody asks.

    drawn: how the lows were drawn; None where nothing was.
    maker: maker of the lows, where there is one already.
    """
    if not options.extras:
        return []
    draws: list[DrawColumns | None] = [None] * len(keys)
    if drawn is not None:
        maker = maker or drawn.maker(keys, epoch)
        if {"draw", "ev"} & set(options.extras):
            draws = _apart(drawn.columns_of(keys, epoch), len(keys))
    return [partial(sample_info, maker, i, one, options) for i, one in enumerate(draws)]


def _apart(parts: Sequence[DrawColumns], count: int) -> list[DrawColumns | None]:
    """Return the columns of each sample of a batch."""
    found: list[DrawColumns | None] = [None] * count
    for kind, places, columns in parts:
        for row, place in enumerate(places.tolist()):
            own = {
                path: Ragged(*(one[row : row + 1] for one in column))
                if isinstance(column, Ragged)
                else column[row : row + 1]
                for path, column in columns.items()
            }
            found[place] = DrawColumns(kind, places[row : row + 1], own)
    return found


def sample_info(
    maker: LowMaker | None,
    number: int,
    drawn: DrawColumns | None,
    options: Options,
    normal: Pixels,
    crop: CropFlip,
) -> SampleInfo:
    """Find out what is known of a sample.

    maker: maker of its batch's lows; None where it has none.
    number: its draw among the maker's.
    drawn: columns of this one sample.
    normal: uint8 array (H, W, 3).
    """
    shape = options.size or (crop.height, crop.width)
    maps: Maps = {}
    if maker is not None and options.maps:
        made = maker.maps(number, normal, options.maps, crop.window)
        maps = {name: transformed(one, crop, shape) for name, one in made.items()}
    if crop.turned:
        shape = shape[::-1]
    return SampleInfo(drawn, maps, shape)


def transformed(
    image: npt.NDArray[np.float32], crop: CropFlip, shape: tuple[int, int]
) -> npt.NDArray[np.float32]:
    """Return a window's map as its pixels are: resized where they are, flipped, turned."""
    for axis, side in enumerate(shape):
        before = image.shape[axis]
        if side != before:
            high, wide = (side, image.shape[1]) if axis == 0 else (image.shape[0], side)
            how = cv2.INTER_AREA if side < before else cv2.INTER_LINEAR
            image = np.asarray(cv2.resize(image, (wide, high), interpolation=how), np.float32)
    image = image.reshape(*shape, -1)
    image = image[:: -1 if crop.down else 1, :: -1 if crop.across else 1]
    return image.transpose(1, 0, 2) if crop.turned else image


def batch_extras(infos: Sequence[SampleInfo], options: Options) -> dict[str, Any]:
    """Return what is known of a batch; see `options.PairOptions.extras`."""
    parts = [
        one.drawn._replace(places=np.array([i]))
        for i, one in enumerate(infos)
        if one.drawn is not None
    ]
    made = draw_extras(options, parts, len(infos))
    if "component" in made:
        made["component"] = [one.component for one in infos]
    if "draw" in made:
        made["draw"]["records"] = list(made["draw"]["records"])
    maps = {name: _joint_maps(name, infos, options) for name in options.maps}
    return {name: (made | maps)[name] for name in options.extras}


def drawn_columns(
    options: Options, drawn: LiveLows | None, keys: Sequence[str], epoch: int
) -> list[DrawColumns]:
    """Return the draws of a batch as columns; none where nobody asks for them."""
    wanted = {"draw", "ev"} & set(options.extras) and drawn is not None
    return drawn.columns_of(keys, epoch) if drawn is not None and wanted else []


def draw_extras(
    options: Options, parts: Sequence[DrawColumns], count: int, device: str = "cpu"
) -> dict[str, Any]:
    """Return what is known of a batch without its pixels: a twentieth of `batch_extras`'s time.

    parts: its draws, see `drawn_columns`.
    """
    made, table = dict[str, Any](), _table(parts, count)
    for name in options.extras:
        if name == "component":
            made[name] = [""] * count
        elif name == "ev":
            ev = table.get("exposure.ev", np.full(count, np.nan))
            made[name] = _on_device(ev.astype(np.float32), device)
        elif name == "draw":
            rows = _on_device(np.array([*table.values()]).reshape(-1, count), device)
            columns = dict(zip(table, rows, strict=True))
            made[name] = {"records": Records(parts, count), "table": columns}
    return made


def _on_device(array: npt.NDArray[Any], device: str) -> torch.Tensor:
    """Return an array on a device of torch, without waiting for what a GPU is at."""
    tensor = torch.from_numpy(array)
    return tensor if device == "cpu" else tensor.pin_memory().to(device, non_blocking=True)


def _table(parts: Sequence[DrawColumns], count: int) -> dict[str, npt.NDArray[np.float64]]:
    """Return the columns of numbers, NaN where a draw has none."""
    table: dict[str, npt.NDArray[np.float64]] = {}
    for part in parts:
        for path, column in part.columns.items():
            if isinstance(column, np.ndarray) and column.dtype.kind in "iuf":
                whole = table.setdefault(path, np.full(count, np.nan))
                whole[part.places] = column
    table.pop("pixel_seed", None)  # more than a double holds
    return dict(sorted(table.items()))


class Records(Sequence[dict[str, Any] | None]):
    """The draws of a batch as a set stores them, made when the first is asked for."""

    def __init__(self, parts: Sequence[DrawColumns], count: int) -> None:
        self._parts, self._count = parts, count
        self._made: list[dict[str, Any] | None] | None = None

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: Any) -> Any:
        if self._made is None:
            self._made = [None] * self._count
            for kind, places, columns in self._parts:
                for place, record in zip(places.tolist(), records_of(kind, columns), strict=True):
                    if place < self._count:
                        self._made[place] = record.model_dump(mode="json")
        return self._made[number]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


def _joint_maps(name: str, infos: Sequence[SampleInfo], options: Options) -> torch.Tensor:
    """Return maps of a batch as a tensor, in the images' layout, units and kind of float."""
    height, width = (max(sides) for sides in zip(*(one.shape for one in infos), strict=True))
    channels = _CHANNELS.get(name, 3)
    shift, scale = options.levels_to_values
    made = np.zeros((len(infos), height, width, channels), np.float32)
    for into, one in zip(made, infos, strict=True):
        h, w = one.shape
        into[:h, :w] = one.maps.get(name, np.float32(np.nan))
        if name == "clean":
            into[:h, :w] = (into[:h, :w] - shift) * scale
        elif name == "noise":
            into[:h, :w] *= scale
    tensor = torch.from_numpy(made)
    if options.layout == "CHW":
        tensor = tensor.permute(0, 3, 1, 2).contiguous()
    return tensor.half() if options.dtype == "float16" else tensor
