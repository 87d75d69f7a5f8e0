"""One pair as a sample, and samples as a batch: what TorchLoader's processes do."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch.utils.data import Dataset

from ..errors import LoaderError
from .columns import StoredPair
from .dataset import PairDataset
from .forms import change_of, changed
from .live.lows import LiveLows
from .options import Options

_DTYPES = {"float32": torch.float32, "float16": torch.float16, "uint8": torch.uint8}


class Place(NamedTuple):
    """All that a process needs to make one sample, so that none holds a list of the set."""

    pair: StoredPair
    seed: int
    epoch: int = 0


class Samples(PairDataset, Dataset[Any]):
    """Pairs in the form that the options ask for."""

    def __init__(
        self, contents: Any, options: Options, decoder: str, live: LiveLows | None = None
    ) -> None:
        super().__init__(contents, decoder, live)
        self._options = options

    def __getitem__(self, place: Any) -> Any:
        if not isinstance(place, Place):
            return super().__getitem__(place)
        low, normal = self.decoded(place.pair, place.epoch)
        change = change_of(low.shape[0], low.shape[1], self._options, place.seed)
        size = self._options.size
        return changed(low, change, size), changed(normal, change, size), place.pair.key


class Collate:
    """Samples to (low, normal), or (low, normal, keys), of tensors."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def __call__(self, samples: list[tuple[Any, Any, str]]) -> tuple[Any, ...]:
        """Return a batch of samples."""
        lows, normals, keys = zip(*samples, strict=True)
        images = self._stacked(lows), self._stacked(normals)
        return (*images, list(keys)) if self._options.keys else images

    def _stacked(self, images: tuple[Any, ...]) -> Any:
        options = self._options
        shapes = sorted({image.shape for image in images})
        if len(shapes) > 1:
            if not options.pad:
                shown = ", ".join(map(str, shapes[:3]))
                raise LoaderError(
                    f"images of one batch have different sizes ({shown}): give size=, pad=True or"
                    " batch_size=1"
                )
            height, width = (max(shape[axis] for shape in shapes) for axis in (0, 1))
            images = tuple(
                np.pad(i, ((0, height - i.shape[0]), (0, width - i.shape[1]), (0, 0)))
                for i in images
            )
        batch = torch.from_numpy(np.stack(images))
        if options.layout == "CHW":
            batch = batch.permute(0, 3, 1, 2).contiguous()
        if options.dtype == "uint8":
            return batch
        scaled = batch.float() / 127.5 - 1 if options.value_range[0] < 0 else batch.float() / 255
        return scaled.to(_DTYPES[options.dtype])
