"""Darkening as an augmentation, in four pipelines of other people's: run it on a folder.

    python examples/augment.py PHOTOS [plain | albumentations | torchvision | detector]

plain: a Dataset of one's own. albumentations, torchvision: a transform among others (each needs its
library). detector: what YOLO-like trainers take, batches of images with boxes and labels, half of
the images darkened. Each shows the shapes of a batch. Noise differs from call to call, worker to
worker, and epoch to epoch.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

import gloam
from gloam.errors import GloamError

SIZE = 128


class Photographs(Dataset[Any]):
    """Photographs of a folder; `make` turns one, RGB (H, W, 3) uint8, into a sample."""

    def __init__(self, folder: Path, make: Callable[[np.ndarray[Any, Any]], Any]) -> None:
        self.paths = gloam.pairs_in(folder)  # of one folder its photographs, whatever their suffix
        self.make = make

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, number: int) -> Any:
        image = Image.open(self.paths[number]).convert("RGB").resize((2 * SIZE, 2 * SIZE))
        return self.make(np.asarray(image))


class Plain:
    """Low and normal as tensors."""

    def __init__(self) -> None:
        self.darken = gloam.Darken("uneven", seed=1)

    def __call__(self, normal: np.ndarray[Any, Any]) -> tuple[torch.Tensor, torch.Tensor]:
        low = self.darken(normal)
        return torch.from_numpy(low), torch.from_numpy(normal.copy())


class WithAlbumentations:
    """A transform among others; crops come first, so that less is darkened."""

    def __init__(self) -> None:
        import albumentations

        from gloam.loaders.albumentations import Darken

        self.steps = albumentations.Compose(
            [albumentations.RandomCrop(SIZE, SIZE), Darken("even", seed=1, p=0.8)]
        )

    def __call__(self, normal: np.ndarray[Any, Any]) -> torch.Tensor:
        return torch.from_numpy(self.steps(image=normal)["image"])


class WithTorchvision:
    """A pair, cropped and flipped alike by the transforms behind it."""

    def __init__(self) -> None:
        from torchvision.transforms import v2

        from gloam.loaders.torchvision import MakePair

        self.steps = v2.Compose(
            [MakePair("uneven", seed=1), v2.RandomCrop(SIZE), v2.RandomHorizontalFlip()]
        )

    def __call__(self, normal: np.ndarray[Any, Any]) -> Any:
        return self.steps(torch.from_numpy(normal.copy()).permute(2, 0, 1))


class ForADetector:
    """An image, darkened or not, with its boxes: darkening moves nothing."""

    def __init__(self) -> None:
        self.darken = gloam.Darken("night-lights", seed=1)

    def __call__(self, normal: np.ndarray[Any, Any]) -> tuple[torch.Tensor, torch.Tensor]:
        boxes = torch.tensor([[0.1, 0.2, 0.5, 0.6]]) * normal.shape[0]  # of a data set's own
        image = self.darken(normal) if torch.rand(()) < 0.5 else normal
        return torch.from_numpy(image.copy()).permute(2, 0, 1), boxes


PIPELINES: dict[str, type[Any]] = {
    "plain": Plain,
    "albumentations": WithAlbumentations,
    "torchvision": WithTorchvision,
    "detector": ForADetector,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("photographs", type=Path)
    parser.add_argument("pipeline", nargs="?", choices=PIPELINES, default="plain")
    args = parser.parse_args()
    try:
        dataset = Photographs(args.photographs, PIPELINES[args.pipeline]())
    except gloam.errors.GloamError as error:
        raise SystemExit(str(error)) from error
    batch = next(iter(DataLoader(dataset, batch_size=4, shuffle=True, num_workers=2)))
    for part in batch if isinstance(batch, list | tuple) else [batch]:
        print(tuple(part.shape), part.dtype, f"mean {part.float().mean():.1f}")


if __name__ == "__main__":
    try:
        main()
    except (GloamError, OSError) as error:
        raise SystemExit(f"augment.py: {error}") from error
