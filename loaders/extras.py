"""Facts that draws know of the samples of a batch: parameters, noise, light."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import cv2
import numpy as np
import numpy.typing as npt
import torch

from ..synth.kernels.arrays import Pixels
from ..synth.models import DrawColumns, LowMaker, draw_columns
from ..synth.parameters.drawing import records_of
from .augment import CropFlip
from .components import OpenComponent
from .lows import LiveLows
from .options import Options
from .steps import Group

_CHANNELS = {"light": 1, "mask": 1}


class SampleMaps(NamedTuple):
    """Maps of a sample, as its draw knows them.

    maps: dict of name to float32 array (h, w, 3 or 1); those that were asked for and are there.
    shape: (h, w); of the sample's images.
    """

    maps: dict[str, npt.NDArray[np.float32]]
    shape: tuple[int, int]


MapFunction = Callable[[Pixels, CropFlip], SampleMaps]
"""Makes the maps of a sample of its decoded normal, by its crop."""


def map_functions(
    options: Options,
    drawn: LiveLows | None,
    keys: Sequence[str],
    epoch: int,
    maker: LowMaker | None = None,
) -> list[MapFunction]:
    """Return what makes the maps of each sample of a batch; none where nobody asks.

    drawn: how the lows were drawn; None where nothing was.
    maker: maker of the lows, where there is one already.
    """
    if not options.maps:
        return []
    if drawn is not None:
        maker = maker or drawn.maker(keys, epoch)

    def made(number: int, normal: Pixels, crop: CropFlip) -> SampleMaps:
        shape = options.size or (crop.height, crop.width)
        found = {} if maker is None else maker.maps(number, normal, options.maps, crop.window)
        maps = {name: transformed(one, crop, shape) for name, one in found.items()}
        return SampleMaps(maps, shape[::-1] if crop.turned else shape)

    return [partial(made, number) for number in range(len(keys))]


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


def batch_maps(maps: Sequence[SampleMaps], options: Options) -> dict[str, torch.Tensor]:
    """Return the maps of a batch by their names."""
    return {name: _join_maps(name, maps, options) for name in options.maps}


class StepDraws(NamedTuple):
    """Draws of a step's samples.

    parts: as columns, where somebody asks for them.
    names: those of the samples' components.
    """

    parts: list[DrawColumns]
    names: list[str]

    def extras(
        self, options: Options, maps: Mapping[str, Any], device: str = "cpu"
    ) -> dict[str, Any]:
        """Return what is known of a batch; see `options.PairOptions.extras`."""
        made, count = dict[str, Any](), len(self.names)
        table = _number_columns(self.parts, count)
        for name in options.extras:
            if name == "component":
                made[name] = self.names
            elif name == "ev":
                ev = table.get("exposure.ev", np.full(count, np.nan))
                made[name] = _tensor_on_device(ev.astype(np.float32), device)
            elif name == "draw":
                rows = _tensor_on_device(np.array([*table.values()]).reshape(-1, count), device)
                columns = dict(zip(table, rows, strict=True))
                made[name] = {"records": Records(self.parts, count), "table": columns}
            else:
                made[name] = maps[name]
        return made


def draws_of(
    components: Sequence[OpenComponent], step: int, groups: Sequence[Group], options: Options
) -> StepDraws:
    """Return the draws of a step's samples, where somebody asks, and their components' names."""
    parts = []
    names = [""] * sum(len(group.rows) for group in groups)
    for group in groups:
        component = components[group.component]
        for row in group.rows.tolist():
            names[row] = component.name
        drawn = component.lows(step) or component.drawn
        if drawn is not None and {"draw", "ev"} & set(options.extras):
            columns = draw_columns(drawn.recipe, drawn.seed_of(group.epoch), group.keys)
            parts += [part._replace(places=group.rows[part.places]) for part in columns]
    return StepDraws(parts, names)


def _tensor_on_device(array: npt.NDArray[Any], device: str) -> torch.Tensor:
    """Return an array on a device of torch, without waiting for what a GPU is at."""
    tensor = torch.from_numpy(array)
    return tensor if device == "cpu" else tensor.pin_memory().to(device, non_blocking=True)


def _number_columns(parts: Sequence[DrawColumns], count: int) -> dict[str, npt.NDArray[np.float64]]:
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


def _join_maps(name: str, maps: Sequence[SampleMaps], options: Options) -> torch.Tensor:
    """Return maps of a batch as a tensor, in the images' layout, units and kind of float."""
    height, width = (max(sides) for sides in zip(*(one.shape for one in maps), strict=True))
    channels = _CHANNELS.get(name, 3)
    shift, scale = options.levels_to_values
    made = np.zeros((len(maps), height, width, channels), np.float32)
    for into, one in zip(made, maps, strict=True):
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
