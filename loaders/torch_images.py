"""Batches of (images, labels) that worker processes decode and make."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch.utils.data import Dataset

from ..synth.kernels.arrays import Pixels
from .augment import CropFlip, crop_numbers, draw_crop
from .columns import StoredPair
from .dataset import ImageDataset
from .epoch_order import epoch_order
from .image_loader import ImageLoader
from .memory.shared_buffers import SharedBufferPool
from .options import Options
from .samples import BatchTensors, sized
from .worker_loader import WorkerLoader


class ImagePlace(NamedTuple):
    """All that a process needs to make one sample."""

    image: StoredPair
    epoch: int
    label: int


class ImageSample(NamedTuple):
    """An image that has the size of its batch, but not its flips, layout and type yet."""

    image: Pixels
    crop: CropFlip
    key: str
    label: int


class ImageSamples(ImageDataset, Dataset[Any]):
    """Images, transformed as the options ask for."""

    def __init__(self, contents: Any, classes: Any, options: Options) -> None:
        super().__init__(contents, classes)
        self._options = options

    def __getitem__(self, place: Any) -> Any:
        if not isinstance(place, ImagePlace):
            return super().__getitem__(place)
        image, key = self.normal(place.image), place.image.key
        numbers = crop_numbers(self._options, place.epoch, [key])[0]
        crop = draw_crop(self._options, numbers, *image.shape[:2])
        return ImageSample(sized(image, crop, self._options), crop, key, place.label)


def collate_images(options: Options, samples: Sequence[ImageSample]) -> tuple[Any, ...]:
    """Return a batch: (images, labels), or (images, labels, keys), of tensors."""
    images = [((sample.image,), sample.crop) for sample in samples]
    labels = torch.tensor([sample.label for sample in samples])
    made = (*BatchTensors.of(options, images).tensors(), labels)
    return (*made, [sample.key for sample in samples]) if options.keys else made


class TorchImages(ImageLoader, WorkerLoader):
    """ImageLoader with backend="torch"."""

    _backend = "torch"

    def _set_up(self) -> None:
        self._dataset = ImageSamples(self.contents, self._classes_of, self._asked)
        self._prepare()

    def _collate(self, options: Options, rooms: SharedBufferPool | None) -> Any:
        return partial(collate_images, options)

    def _places(self) -> Iterator[list[ImagePlace]]:
        epoch, count = self.epoch, self.contents.count
        order = epoch_order(count, self.options.seed, epoch, self.options.shuffle)
        for batch in range(self._batch, len(self)):
            numbers = order[self._places_of(batch) % count].tolist()
            yield [
                ImagePlace(self.contents.pair(n), epoch, int(self._classes_of[n])) for n in numbers
            ]
