"""One pair as a sample, and samples as a batch: what TorchLoader's processes do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import Dataset, get_worker_info

from ..errors import GloamError
from ..storage.stores import AT_ONCE, in_store
from ..synth.kernels.arrays import Pixels, Window
from ..synth.kernels.resize import flip_normalize, normalize, resized
from .augment import CropFlip, crop_numbers, draw_crop
from .columns import StoredPair, fetched
from .dataset import PairDataset, check_one_size
from .devices import converted
from .given import Known, Teller, batch_known, tellers
from .labels import PairLabels, together
from .live.lows import LiveLows
from .memory.reused import ReusedMemory
from .memory.shared_buffers import BufferHandle, SharedBufferPool, shared
from .options import Options


class Place(NamedTuple):
    """All that a process needs to make one sample, so that none holds a list of the set."""

    pair: StoredPair
    epoch: int = 0
    labels: PairLabels | None = None
    bright: Place | None = None  # of unpaired pictures


class Samples(PairDataset, Dataset[Any]):
    """Pairs, transformed as the options ask for."""

    def __init__(
        self,
        contents: Any,
        options: Options,
        decoder: str,
        live: LiveLows | None = None,
        drawn: LiveLows | None = None,
    ) -> None:
        super().__init__(contents, decoder, live)
        self._options, self._drawn = options, live or drawn

    def __getitems__(self, places: list[Any]) -> list[Any]:
        """Return the samples of a batch of one epoch; out of a store they are read side by side."""
        if not all(isinstance(place, Place) for place in places):
            return [super(Samples, self).__getitem__(place) for place in places]
        images = (one for place in places for one in (place.pair.low, place.pair.normal))
        if self._contents.far and any(in_store(one.path) for one in images):  # and not in copies
            with ThreadPoolExecutor(AT_ONCE) as pool:
                read = list(pool.map(fetched, [place.pair for place in places]))
            places = [place._replace(pair=pair) for place, pair in zip(places, read, strict=True)]
        keys, epoch = [place.pair.key for place in places], places[0].epoch
        maker = None if self._live is None else self._live.maker(keys, epoch)
        known: Sequence[Teller | None] = tellers(self._options, self._drawn, keys, epoch, maker)
        known = known or [None] * len(places)
        return [
            self._sample(place, numbers, None if maker is None else partial(maker.low, i), known[i])
            for i, (place, numbers) in enumerate(
                zip(places, crop_numbers(self._options, epoch, keys), strict=True)
            )
        ]

    def __getitem__(self, place: Any) -> Any:
        return self.__getitems__([place])[0]

    def _sample(
        self,
        place: Place,
        numbers: npt.NDArray[np.float64],
        made: Callable[[Pixels, Window], Pixels] | None,
        known: Teller | None,
    ) -> Sample:
        """Return the sample of a pair, whose low is made of its normal, or stored."""
        pair = place.pair
        if made is None:
            low, normal = self.decoded(pair)
            inner = crop = draw_crop(self._options, numbers, *low.shape[:2])
        else:
            normal = self.normal(pair)
            crop = draw_crop(self._options, numbers, *normal.shape[:2])
            low, inner = made(normal, crop.window), crop.within()
        labels = None if place.labels is None else place.labels.moved(crop, self._options)
        sizes = sized(low, inner, self._options), sized(normal, crop, self._options)
        told = None if known is None else known(normal, crop)
        return Sample(*sizes, crop, pair.key, labels, told)


class Sample(NamedTuple):
    """A pair that has the size of its batch, but not its flips, layout and type yet.

    low, normal: uint8 arrays (H, W, 3).
    crop: of which flips and turn are left to do.
    """

    low: Pixels
    normal: Pixels
    crop: CropFlip
    key: str
    labels: PairLabels | None = None
    known: Known | None = None


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
    rooms: where they are written while there is room, else to memory of their own.

    Raises LoaderError when they differ, and nothing is said that makes them alike.
    """

    def __init__(
        self,
        options: Options,
        shapes: Sequence[tuple[int, int]],
        members: int = 2,
        rooms: SharedBufferPool | None = None,
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
        self._room = None if rooms is None else rooms.take(wanted)
        if rooms is None or self._room is None:
            self._made = _memory(wanted, kind)
        else:
            self._made = rooms.open(self._room)
        if padded:  # what lies beyond an image is level 0
            self._made.fill_(float(-self._shift * self._scale))
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
        rooms: SharedBufferPool | None = None,
    ) -> Self:
        """Write samples: the images of each, which have their size, and its crop."""
        shapes = [turned_shape(images[0].shape, crop) for images, crop in samples]
        batch = cls(options, shapes, len(samples[0][0]), rooms)
        for number, (images, crop) in enumerate(samples):
            batch.place(number, images, crop)
        return batch

    def made(self) -> tuple[BufferHandle] | tuple[torch.Tensor, ...]:
        """Return the room with low and normal, or else both."""
        return self.tensors() if self._room is None else (self._room,)

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


def collate_pairs(
    options: Options,
    rooms: SharedBufferPool | None,
    asked: Options,
    samples: Sequence[Sample],
) -> tuple[Any, ...]:
    """Return a batch: (low, normal), or (low, normal, keys, labels, what is known), of tensors.

    rooms: of a loader whose own processes it works in, and of uint8: a room is in place of low and
      normal, while there is one.
    asked: options as they were given, where `options` are of levels that values are made of later.
    """
    pairs = [((sample.low, sample.normal), sample.crop) for sample in samples]
    made: tuple[Any, ...] = BatchTensors.of(options, pairs, rooms).made()
    if options.keys:
        made = (*made, [sample.key for sample in samples])
    labels = [sample.labels for sample in samples if sample.labels is not None]
    if labels:
        made = (*made, together(labels, [sample.crop for sample in samples], options))
    known = [sample.known for sample in samples if sample.known is not None]
    return (*made, batch_known(known, asked)) if known else made


class ToldSamples(Dataset[Any]):
    """Samples in a process of a loader's own: a refusal is told in their place.

    Raised there, it would come with all of the process's trace in its message.
    """

    def __init__(self, samples: Any) -> None:
        self._samples = samples

    def __len__(self) -> int:
        return len(self._samples)

    def __getitems__(self, places: list[Any]) -> Any:
        """Return the samples of a batch, or the error that one of them is refused with."""
        try:
            whole = getattr(self._samples, "__getitems__", None)
            return [self._samples[place] for place in places] if whole is None else whole(places)
        except GloamError as refusal:
            return refusal


def told_batch(collate: Callable[[Any], tuple[Any, ...]], samples: Any) -> Any:
    """Return a batch of what `ToldSamples` gives, or a refusal.

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
