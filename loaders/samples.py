"""Samples one by one, and as a batch: what a loader is a loader of, and what its processes do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from operator import methodcaller
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import Dataset, get_worker_info

from ..errors import GloamError
from ..storage.stores import AT_ONCE
from ..synth.kernels.arrays import Pixels, Window
from ..synth.kernels.resize import flip_normalize, normalize, resized
from ..synth.models import LowMaker
from .augment import CropFlip, crop_numbers, draw_crop
from .backend import converted
from .buffers import BufferHandle, ReusedMemory, SharedBufferPool, shared
from .components import OpenComponent
from .extras import InfoFunction, SampleInfo, batch_extras, info_functions
from .labels import PairLabels, joint_labels
from .mixture import at
from .options import Options
from .order import Position
from .stored_pairs import ReadyBatch, StoredPair, check_one_size


class Place(NamedTuple):
    """All that a process needs to make one sample, so that none holds a list of the set.

    component: number of the component.
    step: number of the batch, for schedules.
    pair: StoredPair or StoredClip.
    epoch: pass over the component.
    labels: of the pair; of a single image the number of its class.
    bright: (pair, epoch); of unpaired pictures.
    """

    component: int
    step: int
    pair: Any
    epoch: int = 0
    labels: PairLabels | int | None = None
    bright: tuple[StoredPair, int] | None = None


class Sample(NamedTuple):
    """A sample that has the size of its batch, but not its flips, layout and type yet.

    images: of each frame, low and normal, or one image; uint8 arrays (H, W, 3).
    crop: of which flips and turn are left to do.
    """

    images: list[tuple[Pixels, ...]]
    crop: CropFlip
    key: str
    of_clip: bool = False
    labels: PairLabels | int | None = None
    info: SampleInfo | None = None


class Samples(Dataset[Any]):
    """The samples of a loader, of all ranks: decoded, by number, or transformed, by `Place`.

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
        if isinstance(place, Place):
            return self.__getitems__([place])[0]
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

    def __getitems__(self, places: list[Any]) -> list[Any]:
        """Return the samples of a batch; out of a store they are read side by side."""
        if not all(isinstance(place, Place) for place in places):
            return [self[place] for place in places]
        if any(place.pair.remote for place in places):
            with ThreadPoolExecutor(AT_ONCE) as pool:
                read = list(pool.map(methodcaller("fetched"), [place.pair for place in places]))
            places = [place._replace(pair=pair) for place, pair in zip(places, read, strict=True)]
        groups: dict[tuple[int, int], list[int]] = {}
        for i, one in enumerate(places):
            groups.setdefault((one.component, one.epoch), []).append(i)
        made: dict[int, Sample] = {}
        for (component, epoch), own in groups.items():
            samples = self._of_group(component, epoch, [places[i] for i in own])
            made |= zip(own, samples, strict=True)
        return [made[i] for i in range(len(places))]

    def _of_group(self, number: int, epoch: int, places: Sequence[Place]) -> list[Sample]:
        """Return samples of one component and pass; what they are drawn by is drawn together."""
        component, step = self._components[number], places[0].step
        options, keys = at(self._sizes, step), [place.pair.key for place in places]
        live, frames = component.lows(step), component.contents.frames
        maker = None if live is None else live.maker(keys, epoch, frames)
        infos: Sequence[InfoFunction | None] = info_functions(
            options, live or component.drawn, keys, epoch, maker
        )
        infos = infos or [None] * len(places)
        drawn = crop_numbers(options, epoch, keys)
        return [
            self._sample(
                component,
                options,
                place,
                own,
                None if maker is None else partial(_lows, maker, i * frames),
                info_of,
            )
            for i, (place, own, info_of) in enumerate(zip(places, drawn, infos, strict=True))
        ]

    def _sample(
        self,
        component: OpenComponent,
        options: Options,
        place: Place,
        numbers: npt.NDArray[np.float64],
        made: Callable[[list[Pixels], Window], list[Pixels]] | None,
        info_of: InfoFunction | None,
    ) -> Sample:
        """Return a sample, whose low is made of its normal, or stored, or another picture."""
        pair, contents, lows = place.pair, component.contents, list[Pixels]()
        if place.bright is not None:
            lows, normals = (contents.normals_of(one) for one in (pair, place.bright[0]))
            other = crop_numbers(options, place.bright[1], [place.bright[0].key])[0]
            other[4:] = numbers[4:]
            inner = draw_crop(options, numbers, *lows[0].shape[:2])
            crop = draw_crop(options, other, *normals[0].shape[:2])
        elif made is None and not component.single:
            lows, normals = contents.images_of(pair, self._decoder)
            inner = crop = draw_crop(options, numbers, *normals[0].shape[:2])
        else:
            normals = contents.normals_of(pair)
            inner = crop = draw_crop(options, numbers, *normals[0].shape[:2])
            if made is not None:
                lows, inner = made(normals, crop.window), crop.within()
        labels, info = place.labels, None
        if isinstance(labels, PairLabels):
            labels = labels.transformed(crop, options)
        members = [[sized(low, inner, options) for low in lows]] if lows else []
        members.append([sized(normal, crop, options) for normal in normals])
        if info_of is not None:
            info = info_of(normals[0], crop)._replace(component=component.name)
        images = list(zip(*members, strict=True))
        return Sample(images, crop, pair.key, contents.of_clips, labels, info)

    def _decoded_at(self, component: OpenComponent, number: int) -> Any:
        contents, live = component.contents, component.lows(0)
        pair = contents.pair(number)
        if live is None and not component.single and component.bright is None:
            lows, normals = contents.images_of(pair, self._decoder)
        else:
            lows = normals = contents.normals_of(pair)
        if component.classes is not None:
            return normals[0], int(component.classes[number])
        if live is not None:
            lows = _lows(live.maker([pair.key], 0, len(normals)), 0, normals)
        if component.bright is not None:
            bright = component.bright.pair(number % component.bright.count)
            normals = component.bright.normals_of(bright)
        return (lows, normals) if contents.of_clips else (lows[0], normals[0])


def _lows(
    maker: LowMaker, first: int, normals: Sequence[Pixels], window: Window | None = None
) -> list[Pixels]:
    """Make the lows of a sample's frames; all are lit as its first one is.

    first: number of the first one's draw among the maker's.
    """
    if len(normals) == 1:
        return [maker.low(first, normals[0], window)]
    return [maker.low(first + i, one, window, normals[0]) for i, one in enumerate(normals)]


def places_of(loader: Any) -> Iterator[list[Place]]:
    """Yield what is left of a loader's running epoch: batches of places."""
    epoch, share = loader.epoch, loader.share
    for batch in range(loader.place[1], len(loader)):
        step = loader.order.step(epoch, batch, share)
        yield [_place_of(loader.components, step.number, one) for one in step.positions]


def _place_of(components: Sequence[OpenComponent], step: int, one: Position) -> Place:
    component, bright = components[one.component], None
    contents, columns = component.contents, component.labels
    labels: PairLabels | int | None = None
    if columns is not None:
        mask = columns.mask(one.number)
        mask = None if mask is None else contents.nearest(mask)
        labels = PairLabels(columns.take([one.number]), columns.roles, mask)
    elif component.classes is not None:
        labels = int(component.classes[one.number])
    if component.bright is not None and one.bright is not None:
        bright = component.bright.pair(one.bright[0]), one.bright[1]
    return Place(one.component, step, contents.pair(one.number), one.epoch, labels, bright)


def sized(image: Pixels, crop: CropFlip, options: Options) -> Pixels:
    """Return the window of an image that is kept, contiguous, resized where it has to be."""
    top, left, height, width = crop.window
    if options.size is not None and options.size != (height, width):
        return resized(np.ascontiguousarray(image), crop.window, options.size)
    return np.ascontiguousarray(image[top : top + height, left : left + width])


def turned_shape(shape: Sequence[int], crop: CropFlip) -> tuple[int, int]:
    """Return height and width of an image that may be turned."""
    height, width = shape[:2]
    return (width, height) if crop.turned else (height, width)


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
            self._made = (memory.empty if memory else _memory)(wanted, kind)
        if padded:  # what lies beyond an image is level 0
            self._made.fill_(float(-self._shift * self._scale) if blank is None else blank)
        self._into = self._made.numpy().reshape(members, len(shapes), -1)
        self._half = options.dtype == "float16"

    def place(self, number: int, images: Sequence[Pixels], crop: CropFlip) -> None:
        """Write the images of a pair, which have their size, with the flips of a crop."""
        flips = int(crop.across), int(crop.down), int(crop.turned)
        for image, into in zip(images, self._into[:, number], strict=True):
            flip_normalize(image, flips, self._shift, self._scale, self._steps, into)

    @classmethod
    def of(
        cls,
        options: Options,
        samples: Sequence[tuple[Sequence[Pixels], CropFlip]],
        buffers: SharedBufferPool | None = None,
    ) -> Self:
        """Write samples: the images of each, which have their size, and its crop."""
        shapes = [turned_shape(images[0].shape, crop) for images, crop in samples]
        batch = cls(options, shapes, len(samples[0][0]), buffers)
        for number, (images, crop) in enumerate(samples):
            batch.place(number, images, crop)
        return batch

    def made(self) -> tuple[BufferHandle] | tuple[torch.Tensor, ...]:
        """Return the buffer with low and normal, or else both."""
        return self.tensors() if self._buffer is None else (self._buffer,)

    def tensors(self) -> tuple[torch.Tensor, ...]:
        """Return low and normal, (N, 3, H, W) or (N, H, W, 3)."""
        made = self._made.half() if self._half else self._made
        return tuple(made)


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


def _memory(shape: tuple[int, ...], kind: torch.dtype) -> torch.Tensor:
    """Return an empty tensor; in a DataLoader's process it is shared with who takes the batch.

    It is not where there is no shared memory left.
    """
    if get_worker_info() is not None:
        with suppress(RuntimeError):  # of torch, that tells so by nothing else
            return shared(shape, kind)
    return torch.empty(shape, dtype=kind)


def collate(
    options: Options, buffers: SharedBufferPool | None, asked: Options, samples: Sequence[Sample]
) -> tuple[Any, ...]:
    """Return a batch: (low, normal, keys, labels, extras) or (images, labels, keys), of tensors.

    Those of clips are (N, T, C, H, W).

    buffers: of a loader whose own processes it works in, and of uint8: one is in place of low and
      normal, while there is one.
    asked: options as they were given, where `options` are of levels that values are made of later.
    """
    frames = [(images, sample.crop) for sample in samples for images in sample.images]
    made: Any = BatchTensors.of(options, frames, buffers).made()
    if samples[0].of_clip:
        made = tuple(one.view(len(samples), -1, *one.shape[1:]) for one in made)
    crops = [sample.crop for sample in samples]
    labels = [one.labels for one in samples if isinstance(one.labels, PairLabels)]
    infos = [sample.info for sample in samples if sample.info is not None]
    if isinstance(samples[0].labels, int):
        made = (*made, torch.tensor([sample.labels for sample in samples]))
    if options.keys:
        made = (*made, [sample.key for sample in samples])
    if labels:
        made = (*made, joint_labels(labels, crops, options))
    return (*made, batch_extras(infos, asked)) if infos else made


class ErrorsAsItems(Dataset[Any]):
    """Samples in a process of a loader's own: a refusal is handed over in their place.

    Raised there, it would come with all of the process's trace in its message.
    """

    def __init__(self, samples: Any) -> None:
        self._samples = samples

    def __len__(self) -> int:
        return len(self._samples)

    def __getitems__(self, places: list[Any]) -> Any:
        """Return the samples of a batch, or the error that one of them is refused with."""
        try:
            return self._samples.__getitems__(places)
        except GloamError as refusal:
            return refusal


def batch_or_error(collate: Callable[[Any], tuple[Any, ...]], samples: Any) -> Any:
    """Return a batch of what `ErrorsAsItems` gives, or a refusal.

    A batch that shared memory has no room for goes through a pipe, as NumPy's arrays do.
    """
    if isinstance(samples, GloamError):
        return samples
    try:
        batch = collate(samples)
    except GloamError as refusal:
        return refusal
    kept = isinstance(batch[0], BufferHandle) or batch[0].is_shared()
    return batch if kept else converted(batch, np.asarray)
