"""The samples of a loader, decoded by number, or made into batches where a process asks for one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from operator import methodcaller
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.utils.data import Dataset

from ..errors import GloamError
from ..storage.stores import AT_ONCE
from ..synth.kernels.arrays import Pixels
from .augment import CropFlip, crop_numbers, draw_crop
from .backend import converted
from .buffers import BufferHandle, SharedBufferPool
from .components import OpenComponent
from .labels import StepLabels, begin_labels
from .mixture import at
from .options import Options
from .order import Step
from .render.host import BatchTensors, StepMaker, sized, turned_shape
from .steps import DecodedStep, RenderedStep, groups_of, joint_numbers, rendered_step
from .stored_pairs import ReadyBatch, StoredSample


class StoredStep(NamedTuple):
    """All that a process needs to make a step, so that none holds a list of the set.

    bright: the same of the other list of unpaired pictures; None without.
    """

    step: Step
    samples: list[StoredSample]
    bright: list[StoredSample | None]
    labels: StepLabels | None = None


class Samples(Dataset[Any]):
    """The samples of a loader, of all ranks: decoded, by number, or as batches, by `StoredStep`.

    sizes: dict of step to Options.
    count: samples of an epoch.
    """

    def __init__(
        self,
        components: Sequence[OpenComponent],
        sizes: Mapping[int, Options],
        decoder: str,
        count: int,
    ) -> None:
        self._components, self._sizes = components, sizes
        self._decoder, self._count = decoder, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, place: Any) -> Any:
        """Return a sample, decoded: its images are uint8 RGB (H, W, 3), or lists of frames.

        Raises LoaderError naming an image that cannot be read or decoded; IndexError beyond the
        last sample.
        """
        if isinstance(place, ReadyBatch):
            return place
        if isinstance(place, StoredStep):
            return ReadyBatch(self.rendered(place).as_batch())
        whole = sum(one.count for one in self._components)
        count = whole if len(self._components) > 1 else self._count
        if not -count <= place < count:
            raise IndexError(f"index {place} is out of range for {count:,} samples")
        left = place % count
        for component in self._components:
            if left < component.contents.count:
                return self._decoded_at(component, left)
            left -= component.contents.count
        raise IndexError(place)

    def rendered(
        self,
        stored: StoredStep,
        levels: Options | None = None,
        buffers: SharedBufferPool | None = None,
    ) -> RenderedStep:
        """Make a step; out of a store its images are read side by side.

        levels: options of uint8, where values are made of levels later.
        buffers: of those: one is in place of low and normal, while there is one.
        """
        step, samples = stored.step, stored.samples
        options = at(self._sizes, step.number)
        if any(one.remote for one in samples):
            with ThreadPoolExecutor(AT_ONCE) as pool:
                samples = list(pool.map(methodcaller("fetched"), samples))
        groups = [
            group._replace(keys=[samples[row].key for row in group.rows.tolist()])
            for group in groups_of(step)
        ]
        random = joint_numbers(groups, lambda own: crop_numbers(options, own.epoch, own.keys))
        frames = self._components[0].contents.frames
        count = frames * len(samples)
        images: dict[int, Pixels] = {}  # of one sample after the other: normals, then lows
        sizes, normal = np.zeros((0, 2), np.int64), np.arange(count)
        decoded = DecodedStep(step, images, sizes, count + normal, normal)
        maker = StepMaker(self._components, options, decoded, groups, sized)
        made, maps, crops = list[tuple[tuple[Pixels, ...], CropFlip]](), [], []
        for row, (one, sample) in enumerate(zip(step.positions, samples, strict=True)):
            component, bright = self._components[one.component], stored.bright[row]
            first = row * frames
            lows, normals = self._images(component, sample, bright)
            images.clear()
            images |= {first + i: image for i, image in enumerate(normals)}
            images |= {count + first + i: image for i, image in enumerate(lows)}
            crop = low_crop = draw_crop(options, random[row], *lows[0].shape[:2])
            if one.bright is not None and bright is not None:
                numbers = crop_numbers(options, one.bright[1], [bright.key])[0]
                numbers[4:] = random[row, 4:]
                crop = draw_crop(options, numbers, *normals[0].shape[:2])
            crops.append(crop)
            made += [(maker.images(first + i, low_crop, crop), crop) for i in range(frames)]
            maps.append(maker.maps(row, crop))
        shapes = [turned_shape(frame[0].shape, crop) for frame, crop in made]
        batch = BatchTensors(levels or options, shapes, len(made[0][0]), buffers)
        for number, (frame, crop) in enumerate(made):
            batch.place(number, frame, crop)
        named = groups if options.keys else None
        labels, extras = stored.labels, maker.extras(maps)
        moved = begin_labels(labels, np.array(crops, np.int64), options)()
        if extras and "draw" in extras:
            extras["draw"]["records"] = list(extras["draw"]["records"])
        return rendered_step(self._components, step, batch.tensors(), named, moved, extras)

    def _images(
        self, component: OpenComponent, sample: StoredSample, bright: StoredSample | None
    ) -> tuple[list[Pixels], list[Pixels]]:
        """Decode the lows and normals of a sample; where lows are made, its normals are both."""
        contents = component.contents
        if component.bright is not None and bright is not None:
            return contents.normals_of(sample), component.bright.normals_of(bright)
        if not contents.live:
            return contents.images_of(sample, self._decoder)
        normals = contents.normals_of(sample)
        return normals, normals

    def _decoded_at(self, component: OpenComponent, number: int) -> Any:
        contents, live, bright = component.contents, component.lows(0), component.bright
        sample = contents.pair(number)
        other = None if bright is None else bright.pair(number % bright.count)
        lows, normals = self._images(component, sample, other)
        if component.classes is not None:
            return normals[0], int(component.classes[number])
        if live is not None:
            maker, lit_as = live.maker([sample.key], 0, len(normals)), normals[0]
            lows = [
                maker.low(i, one, None, lit_as if len(normals) > 1 else None)
                for i, one in enumerate(normals)
            ]
        return (lows, normals) if contents.of_clips else (lows[0], normals[0])


def stored_steps(loader: Any) -> Iterator[list[StoredStep]]:
    """Yield what is left of a loader's running epoch, each batch as the one item of a list."""
    epoch, share, components = loader.epoch, loader.share, loader.components
    for batch in range(loader.place[1], len(loader)):
        step = loader.order.step(epoch, batch, share)
        samples, brights = [], []
        for one in step.positions:
            component, other = components[one.component], one.bright
            samples.append(component.contents.pair(one.number))
            apart = component.bright is not None and other is not None
            brights.append(component.bright.pair(other[0]) if apart else None)
        yield [StoredStep(step, samples, brights, components[0].labels_of(step))]


class OwnSteps(Dataset[Any]):
    """Steps that a loader's own processes make: a refusal is handed over in place of one.

    Raised there, it would come with all of the process's trace in its message. A batch that shared
    memory has no room for goes through a pipe, as NumPy's arrays do.

    levels, buffers: see `Samples.rendered`.
    """

    def __init__(
        self, samples: Samples, levels: Options | None, buffers: SharedBufferPool | None
    ) -> None:
        self._samples, self._levels, self._buffers = samples, levels, buffers

    def __len__(self) -> int:
        return len(self._samples)

    def __getitems__(self, stored: list[StoredStep]) -> Any:
        """Return the one step of a list, or the error that it is refused with."""
        try:
            made = self._samples.rendered(stored[0], self._levels, self._buffers)
        except GloamError as refusal:
            return refusal
        first = made.images[0]
        kept = isinstance(first, BufferHandle) or torch.utils.data.get_worker_info() is None
        return made if kept or first.is_shared() else converted(made, np.asarray)


def as_it_is(made: Any) -> Any:
    """Return what `OwnSteps` gives: it is a batch already."""
    return made
