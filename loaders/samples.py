"""One pair as a sample, and samples as a batch: what TorchLoader's processes do."""

from __future__ import annotations

from typing import Any, NamedTuple

import cv2
import numpy as np
import torch
from torch.utils.data import Dataset

from ..errors import LoaderError
from .columns import StoredPair
from .dataset import PairDataset, decoded_pair
from .options import Options

_DTYPES = {"float32": torch.float32, "float16": torch.float16, "uint8": torch.uint8}
_AREA = (0.35, 1.0)


class Place(NamedTuple):
    """All that a process needs to make one sample, so that none holds a list of the set."""

    pair: StoredPair
    seed: int


class Samples(PairDataset, Dataset[Any]):
    """Pairs in the form that the options ask for."""

    def __init__(self, contents: Any, options: Options, decoder: str) -> None:
        super().__init__(contents, decoder)
        self._options = options

    def __getitem__(self, place: Any) -> Any:
        if not isinstance(place, Place):
            return super().__getitem__(place)
        low, normal = decoded_pair(place.pair, self._decoder)
        change = _change(
            low.shape[0],
            low.shape[1],
            self._options,
            np.random.Generator(np.random.Philox(key=place.seed)),
        )
        return change(low), change(normal), place.pair.key


def _change(height: int, width: int, options: Options, draws: np.random.Generator) -> Any:
    """Return one pair's crop, resize, flips and turn, as a function of an image."""
    top, left, h, w = 0, 0, height, width
    if options.crop == "random" and options.size is not None:
        share = max(1.0, options.size[0] / height, options.size[1] / width)
        h, w = (
            min(height, round(options.size[0] / share)),
            min(width, round(options.size[1] / share)),
        )
    elif options.crop == "random-resized":
        area, aspect = (
            draws.uniform(*_AREA) * height * width,
            np.exp(draws.uniform(np.log(3 / 4), np.log(4 / 3))),
        )
        h, w = (
            min(height, max(1, round((area / aspect) ** 0.5))),
            min(width, max(1, round((area * aspect) ** 0.5))),
        )
    top, left = int(draws.integers(0, height - h + 1)), int(draws.integers(0, width - w + 1))
    across, down, turned = (bool(bit) and options.augment for bit in draws.integers(0, 2, 3))
    turned = turned and options.square

    def change(image: Any) -> Any:
        image = image[top : top + h, left : left + w]
        if options.size is not None and image.shape[:2] != options.size:
            small = options.size[0] <= h and options.size[1] <= w
            image = cv2.resize(
                image,
                options.size[::-1],
                interpolation=cv2.INTER_AREA if small else cv2.INTER_LINEAR,
            )
        image = image[:: -1 if down else 1, :: -1 if across else 1]
        return np.ascontiguousarray(image.transpose(1, 0, 2) if turned else image)

    return change


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
