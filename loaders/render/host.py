"""Batches that threads of this process make of decoded images, on the CPU."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from ...synth.kernels.arrays import Pixels
from ...synth.models import DrawColumns
from ..augment import CropFlip, crop_numbers
from ..buffers import ReusedMemory
from ..components import OpenComponent
from ..extras import (
    InfoFunction,
    SampleInfo,
    batch_extras,
    draw_extras,
    drawn_columns,
    info_functions,
)
from ..labels import batch_labels, move_mask
from ..mixture import at
from ..options import Options
from ..order import Positions
from ..samples import BatchTensors, sized, turned_shape
from ..steps import DecodedStep, Decoder, Fit, Group, RenderedStep, draw_crops_of, groups_of

Resizer = Callable[[Sequence[Pixels]], Sequence[Pixels]]
"""Function of the windows of a batch: returns them in the size that is asked for."""


class HostRenderer:
    """Makes batches of decoded steps: lows that are made, windows, resizing, flips.

    sizes: dict of step to Options.
    fit: see `Fit`.
    resizer: resizes in place of `fit`.
    blank: value of what is padded; by default level 0, which is -0.0 where values begin at 0.

    Raises LoaderError when images of one batch have different sizes, and nothing is said that makes
    them alike.
    """

    def __init__(
        self,
        decoder: Decoder,
        components: Sequence[OpenComponent],
        sizes: Mapping[int, Options],
        fit: Fit = sized,
        resizer: Resizer | None = None,
        blank: float | None = None,
    ) -> None:
        self._decoder, self._components, self._sizes = decoder, components, sizes
        self._fit, self._resizer, self._blank = fit, resizer, blank
        self._pool = ThreadPoolExecutor(max(sizes[0].workers, 1))
        self._memory = ReusedMemory()
        self._begun: deque[Callable[[], RenderedStep]] = deque()

    def next(self) -> RenderedStep:
        """Make the next batch."""
        while len(self._begun) <= self._decoder.ahead:
            self._begun.append(self._begin(self._decoder.next()))
        return self._begun.popleft()()

    def close(self) -> None:
        """End the threads that decode and make batches."""
        self._decoder.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _begin(self, decoded: DecodedStep) -> Callable[[], RenderedStep]:
        """Begin a batch; return what waits for it."""
        options, step = at(self._sizes, decoded.step.number), decoded.step
        frames = decoded.frames
        groups = groups_of(step)
        keys = [self._components[one.component].contents.keys_of(one.numbers) for one in groups]
        random = [
            crop_numbers(options, group.epoch, own) for group, own in zip(groups, keys, strict=True)
        ]
        low_crops, crops = draw_crops_of(decoded, groups, random, self._components, options)
        asked = options.model_copy(update={"extras": options.maps})
        lows, info_of = self._makers(decoded, groups, keys, asked)
        resized = self._resized(decoded, (low_crops, crops), lows, options)
        single = self._components[0].single

        def fitted(i: int, number: int, crop: CropFlip) -> Pixels:
            found = resized.get((i, number))
            return self._fit(decoded.images[number], crop, options) if found is None else found

        def made(i: int, crop: CropFlip) -> Sequence[Pixels]:
            normal = fitted(i, int(decoded.normal[i]), crop)
            if single:
                return (normal,)
            if i in lows:
                # All frames of a clip are lit as its first one is.
                lit_as = decoded.images[decoded.normal[i - i % frames]] if frames > 1 else None
                whole = lows[i](decoded.images[decoded.normal[i]], crop.window, lit_as)
                return self._fit(whole, crop.within(), options), normal
            return fitted(i, int(decoded.low[i]), CropFlip(*low_crops[i].tolist())), normal

        drawn = [CropFlip(*crop) for crop in crops.tolist()]
        shapes = [options.size or turned_shape((one.height, one.width), one) for one in drawn]
        batch = BatchTensors(options, shapes, 2 - single, blank=self._blank, memory=self._memory)

        def made_one(i: int) -> SampleInfo | None:
            batch.place(i, made(i, drawn[i]), drawn[i])
            return info_of[i](decoded.images[decoded.normal[i]], drawn[i]) if info_of else None

        tasks = [self._pool.submit(made_one, i) for i in range(len(drawn))]
        labels = labels_of(self._components[0], step.positions, crops, options, self._pool)

        def finished() -> RenderedStep:
            infos = [one for task in tasks if (one := task.result()) is not None]
            extras = None
            if options.extras:
                extras = batch_extras(infos, asked) if infos else {}
                parts, names = draws_of(self._components, step.number, groups, keys, options)
                extras |= draw_extras(options, parts, len(names)) | {"component": names}
                extras = {name: extras[name] for name in options.extras}
            return RenderedStep(step, batch.tensors(), labels(), extras)

        return finished

    def _makers(
        self,
        decoded: DecodedStep,
        groups: Sequence[Group],
        keys: Sequence[Sequence[str]],
        asked: Options,
    ) -> tuple[dict[int, Callable[..., Pixels]], dict[int, InfoFunction]]:
        """Return what makes lows, by row of the batch, and what tells of its draws."""
        frames, step = decoded.frames, decoded.step
        lows: dict[int, Callable[..., Pixels]] = {}
        info_of: dict[int, InfoFunction] = {}
        for group, own in zip(groups, keys, strict=True):
            component = self._components[group.component]
            live = component.lows(step.number)
            maker = None if live is None else live.maker(own, group.epoch, frames)
            rows = group.rows.tolist()
            if maker is not None:
                of_step = [row * frames + frame for row in rows for frame in range(frames)]
                lows |= {place: partial(maker.low, i) for i, place in enumerate(of_step)}
            info_of |= zip(
                rows,
                info_functions(asked, live or component.drawn, own, group.epoch, maker),
                strict=False,
            )
        return lows, info_of

    def _resized(
        self,
        decoded: DecodedStep,
        crops: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]],
        lows: Mapping[int, Any],
        options: Options,
    ) -> dict[tuple[int, int], Pixels]:
        """Return windows of stored images that a resizer resizes, by row and image."""
        if self._resizer is None or options.size is None:
            return {}
        windows: dict[tuple[int, int], Pixels] = {}
        for own, (low, normal) in enumerate(zip(*crops, strict=True)):
            for number, crop in ((decoded.low[own], low), (decoded.normal[own], normal)):
                top, left, height, width = crop[:4].tolist()
                if (height, width) != options.size and own not in lows:
                    image = decoded.images[number][top : top + height, left : left + width]
                    windows[own, int(number)] = np.ascontiguousarray(image)
        if not windows:
            return {}
        return dict(zip(windows, self._resizer([*windows.values()]), strict=True))


def labels_of(
    component: OpenComponent,
    positions: Positions,
    crops: npt.NDArray[Any],
    options: Options,
    pool: Executor,
) -> Callable[[], dict[str, Any] | None]:
    """Begin to read the masks of a step; return what waits for its labels."""
    columns = component.labels
    if columns is None:
        return lambda: None
    numbers = positions.number.tolist()
    masks: list[Future[Any]] = []
    if columns.masks is not None:
        nearest = component.contents.nearest
        masks = [
            pool.submit(move_mask, nearest(columns.masks[number]), crop, options)
            for number, crop in zip(numbers, crops, strict=True)
        ]
    roles = columns.roles

    def finished() -> dict[str, Any]:
        read = [mask.result() for mask in masks]
        return batch_labels(columns.take(numbers), crops, read, roles, options)

    return finished


def draws_of(
    components: Sequence[OpenComponent],
    step: int,
    groups: Sequence[Group],
    keys: Sequence[Sequence[str]],
    options: Options,
) -> tuple[list[DrawColumns], list[str]]:
    """Return the draws of a step's samples, where somebody asks, and their components' names."""
    parts: list[DrawColumns] = []
    names = [""] * sum(len(group.rows) for group in groups)
    for group, own in zip(groups, keys, strict=True):
        component = components[group.component]
        for row in group.rows.tolist():
            names[row] = component.name
        drawn = component.lows(step) or component.drawn
        columns = drawn_columns(options, drawn, own, group.epoch)
        parts += [part._replace(places=group.rows[part.places]) for part in columns]
    return parts, names


def enlarged(image: Pixels, crop: CropFlip, options: Options) -> Pixels:
    """Return the window of an image that is kept, in the size that is asked for.

    OpenCV enlarges it where it grows along both sides, within a level of `samples.sized`.
    """
    height, width = options.size or (0, 0)
    if crop.height > height or crop.width > width:
        return sized(image, crop, options)
    top, left = crop.top, crop.left
    window = image[top : top + crop.height, left : left + crop.width]
    if (height, width) == (crop.height, crop.width):
        return np.ascontiguousarray(window)
    larger: Pixels = np.asarray(cv2.resize(window, (width, height), interpolation=cv2.INTER_LINEAR))
    return larger
