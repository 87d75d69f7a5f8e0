"""Batches that a CPU makes of decoded images: by threads, or one in each worker process."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import get_worker_info

from ...synth.kernels.arrays import Pixels
from ...synth.kernels.resize import flip_normalize, normalize, resized
from ..augment import CropFlip, crop_numbers
from ..buffers import BufferHandle, ReusedMemory, SharedBufferPool, shared
from ..components import OpenComponent
from ..extras import MapFunction, SampleMaps, batch_maps, draws_of, map_functions
from ..labels import begin_labels
from ..mixture import at
from ..options import Options
from ..order import Step
from ..steps import (
    DecodedStep,
    Decoder,
    Group,
    RenderedStep,
    draw_crops_of,
    groups_of,
    joint_numbers,
    rendered_step,
)
from ..stored_pairs import check_one_size

Fit = Callable[[Pixels, CropFlip, Options], Pixels]
"""Function of an image, its CropFlip and options: cuts its window, resized as is asked for."""
Resizer = Callable[[Sequence[Pixels]], Sequence[Pixels]]
"""Function of the windows of a batch: returns them in the size that is asked for."""
_NONE = None, None  # of a low and a normal, windows that have their size already


def sized(image: Pixels, crop: CropFlip, options: Options) -> Pixels:
    """Return the window of an image that is kept, contiguous, resized where it has to be."""
    top, left, height, width = crop.window
    if options.size is not None and options.size != (height, width):
        return resized(np.ascontiguousarray(image), crop.window, options.size)
    return np.ascontiguousarray(image[top : top + height, left : left + width])


class StepMaker:
    """Makes the images of a step's samples of decoded ones, and tells what their draws know.

    All that they are drawn by is drawn together. Images have their size, but no flips yet.

    groups: its samples by component and pass, with keys.
    lows: dict of the number of a frame to what makes its low; none where lows are stored.
    """

    def __init__(
        self,
        components: Sequence[OpenComponent],
        options: Options,
        step: Step,
        groups: Sequence[Group],
        fit: Fit,
    ) -> None:
        self._components, self._options, self._step = components, options, step.number
        self._groups, self._fit = groups, fit
        self.lows: dict[int, Callable[..., Pixels]] = {}
        self._maps_of: dict[int, MapFunction] = {}
        self._frames = components[0].contents.frames
        for group in groups:
            component = components[group.component]
            live = component.lows(step.number)
            maker = None if live is None else live.maker(group.keys, group.epoch, self._frames)
            if maker is not None:
                places = enumerate(group.frames(self._frames).tolist())
                self.lows |= {place: partial(maker.low, i) for i, place in places}
            drawn = live or component.drawn
            made = map_functions(options, drawn, group.keys, group.epoch, maker)
            self._maps_of |= zip(group.rows.tolist(), made, strict=False)

    def images(
        self,
        i: int,
        images: tuple[Pixels, Pixels],
        first: Pixels,
        crops: tuple[CropFlip, CropFlip],
        ready: Sequence[Pixels | None] = _NONE,
    ) -> tuple[Pixels, ...]:
        """Return the low and the normal of a frame, or the one image of a sample.

        images, crops: of its low and its normal.
        first: the normal of its sample's first frame, by which all of a clip are lit.
        ready: windows that have their size already.
        """

        def fitted(which: int) -> Pixels:
            if (window := ready[which]) is not None:
                return window
            return self._fit(images[which], crops[which], self._options)

        if self._components[0].single:
            return (fitted(1),)
        if i not in self.lows:
            return fitted(0), fitted(1)
        made = self.lows[i](images[1], crops[1].window, first if self._frames > 1 else None)
        within = crops[1]._replace(top=0, left=0)  # it is the window already
        return self._fit(made, within, self._options), fitted(1)

    def maps(self, i: int, normal: Pixels, crop: CropFlip) -> SampleMaps | None:
        """Return the maps of a sample, where they are asked for."""
        return self._maps_of[i](normal, crop) if self._maps_of else None

    def extras(self, maps: Sequence[SampleMaps | None]) -> dict[str, Any] | None:
        """Return what draws know of the step, where it is asked for, by the samples' maps."""
        options, found = self._options, [one for one in maps if one is not None]
        if not options.extras:
            return None
        draws = draws_of(self._components, self._step, self._groups, options)
        return draws.extras(options, batch_maps(found, options) if found else {})


class CpuRenderer:
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
        groups = groups_of(step, self._components)
        random = joint_numbers(groups, lambda own: crop_numbers(options, own.epoch, own.keys))
        low_crops, crops = draw_crops_of(decoded, random, self._components, options)
        maker = StepMaker(self._components, options, step, groups, self._fit)
        ready = self._resized(decoded, (low_crops, crops), maker.lows, options)
        drawn, low_drawn = (
            [CropFlip(*crop) for crop in own.tolist()] for own in (crops, low_crops)
        )
        shapes = [options.size or turned_shape((one.height, one.width), one) for one in drawn]
        members = 2 - self._components[0].single
        batch = BatchTensors(options, shapes, members, blank=self._blank, memory=self._memory)
        lows, normals = decoded.low.tolist(), decoded.normal.tolist()
        images, frames = decoded.images, decoded.frames

        def made_one(i: int) -> SampleMaps | None:
            both = images[lows[i]], images[normals[i]]
            first, cuts = images[normals[i - i % frames]], (low_drawn[i], drawn[i])
            windows = [ready.get((i, one)) for one in (lows[i], normals[i])] if ready else _NONE
            batch.place(i, maker.images(i, both, first, cuts, windows), drawn[i])
            return maker.maps(i, both[1], drawn[i])

        tasks = [self._pool.submit(made_one, i) for i in range(len(drawn))]
        own = self._components[0].labels_of(step)
        labels = begin_labels(own, crops, options, self._pool.map)

        def finished() -> RenderedStep:
            extras = maker.extras([task.result() for task in tasks])
            named = groups if options.keys else None
            images = batch.tensors()
            return rendered_step(self._components, step, images, named, labels(), extras)

        return finished

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


def turned_shape(shape: Sequence[int], crop: CropFlip) -> tuple[int, int]:
    """Return height and width of an image that may be turned."""
    height, width = shape[:2]
    return (width, height) if crop.turned else (height, width)


def enlarged(image: Pixels, crop: CropFlip, options: Options) -> Pixels:
    """Return the window of an image that is kept, in the size that is asked for.

    OpenCV enlarges it where it grows along both sides, within a level of `sized`.
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


class BatchTensors:
    """Tensors that pairs are written to, each transformed as the options ask for.

    shapes: sequence of (height, width); of the pairs, in order, once they are turned; see
      `turned_shape`.
    members: images of each: low and normal.
    buffers: where they are written while one is free, else to memory of their own.
    memory: which that is taken from.

    Raises LoaderError when they differ, and nothing is said that makes them alike.
    """

    def __init__(
        self,
        options: Options,
        shapes: Sequence[tuple[int, int]],
        members: int = 2,
        buffers: SharedBufferPool | None = None,
        blank: float | None = None,
        memory: ReusedMemory | None = None,
    ) -> None:
        if not options.pad:
            check_one_size(shapes)
        height, width = (max(sides) for sides in zip(*shapes, strict=True))
        last, padded = options.layout == "HWC", len(set(shapes)) > 1
        form = (height, width, 3) if last else (3, height, width)
        self._steps = (1, 3 * width, 3) if last else (height * width, width, 1)
        self._shift, self._scale = map(np.float32, options.levels_to_values)
        kind = torch.uint8 if options.dtype == "uint8" else torch.float32
        wanted = (members, len(shapes), *form)
        self._buffer = None if buffers is None else buffers.take(wanted)
        if buffers is not None and self._buffer is not None:
            self._made = buffers.open(self._buffer)
        else:
            self._made = (memory.empty if memory else _batch_memory)(wanted, kind)
        if padded:  # what lies beyond an image is level 0
            self._made.fill_(float(-self._shift * self._scale) if blank is None else blank)
        self._into = self._made.numpy().reshape(members, len(shapes), -1)
        self._half = options.dtype == "float16"

    def place(self, number: int, images: Sequence[Pixels], crop: CropFlip) -> None:
        """Write the images of a pair, which have their size, with the flips of a crop."""
        flips = int(crop.across), int(crop.down), int(crop.turned)
        for image, into in zip(images, self._into[:, number], strict=True):
            flip_normalize(image, flips, self._shift, self._scale, self._steps, into)

    def tensors(self) -> tuple[BufferHandle] | tuple[torch.Tensor, ...]:
        """Return low and normal, (N, 3, H, W) or (N, H, W, 3), or the buffer that holds both."""
        if self._buffer is not None:
            return (self._buffer,)
        return tuple(self._made.half() if self._half else self._made)


def values_of(images: torch.Tensor, options: Options, memory: ReusedMemory) -> torch.Tensor:
    """Return levels (uint8) in the type and range that options ask for, where they lie.

    The same values as `BatchTensors` writes; what is of another type than uint8 stays as it is.
    """
    if images.dtype != torch.uint8 or options.dtype == "uint8":
        return images
    shift, scale = map(np.float32, options.levels_to_values)
    if images.device.type == "cpu":  # torch's threads would wait for cores that decode
        values = memory.empty(images.shape)
        normalize(images.numpy().reshape(-1), shift, scale, values.numpy().reshape(-1))
    else:
        values = images.float().sub_(float(shift)).mul_(float(scale))
    return values.half() if options.dtype == "float16" else values


def _batch_memory(shape: tuple[int, ...], kind: torch.dtype) -> torch.Tensor:
    """Return an empty tensor; in a DataLoader's process it is shared with who takes the batch.

    It is not where there is no shared memory left.
    """
    if get_worker_info() is not None:
        with suppress(RuntimeError):  # of torch, that tells so by nothing else
            return shared(shape, kind)
    return torch.empty(shape, dtype=kind)
