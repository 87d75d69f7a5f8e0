"""Batches of (images, labels) through DALI."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dataset import ImageDataset
from ..image_loader import ImageLoader
from .batches import numbers_of, tensor_of
from .dali_loader import DaliLoader
from .transforms.host_images import HostImages


class DaliImages(ImageLoader, DaliLoader):
    """ImageLoader with backend="dali"."""

    @property
    def dataset(self) -> ImageDataset:
        """The images of all ranks; `dataset[i]` decodes one of them on the CPU."""
        return ImageDataset(self.contents, self._classes_of)

    def _build(self, epoch: int, checkpoint: bytes | None) -> Any:
        """Build the pipeline of an epoch."""
        from . import image_pipelines

        builder = self._builder
        numbers = self._source_numbers(epoch, checkpoint)
        common = builder.common(epoch, checkpoint) | {"crops": builder.crops(epoch, numbers)}
        if self._paths and not builder.by_number:
            made = image_pipelines.file_images(self._paths, **common, part=builder.part(epoch))
        elif self.reader == "webdataset" and not builder.by_number:
            shards = self.contents.shards("normal")
            made = image_pipelines.webdataset_images(*shards, **common, part=builder.part(epoch))
        else:
            made = image_pipelines.external_images(builder.source(numbers, "normal"), **common)
        pipeline = builder.built(made)
        if self.options.device == "gpu":
            return pipeline
        return HostImages(
            pipeline,
            self.options,
            self._numbers,
            self.contents.keys_of,
            builder.epoch_of(epoch),
            0 if checkpoint is None else self._done,
        )

    def _numbers(self, done: int, given: Any) -> Any:
        """Return the numbers of a batch's images, which shards do not tell."""
        if self._paths or self.reader != "webdataset" or self._builder.by_number:
            return numbers_of(given)
        return self._source(done)

    def _handed_out(self, outputs: tuple[Any, ...], count: int, done: int) -> tuple[Any, ...]:
        import torch

        images, given = outputs
        numbers = given if isinstance(given, np.ndarray) else self._numbers(done, given)
        chosen = np.asarray(numbers)[:count]
        tensor = tensor_of(images)[:count]
        labels = torch.from_numpy(self._classes_of[chosen]).to(tensor.device, non_blocking=True)
        if not self.options.keys:
            return tensor, labels
        return tensor, labels, self.contents.keys_of(chosen)
