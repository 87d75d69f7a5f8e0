"""Measure how fast photographs load, compared with DataLoaders of OpenCV and Pillow."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import cv2
import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from ...engines.process import (
    end_with_parent,
    main_left_alone,
    prepare_own_process,
    prepare_workers,
)
from ..image_files import images_in, images_listed
from ..image_loader import ImageLoader
from .pairs import Asked, Bench, machine_facts


def bench_images(asked: Asked) -> Bench:
    """Measure the ways to load the images of a folder or list."""
    root, size = asked.root, asked.size
    images = images_in(root) if root.is_dir() else images_listed(root)
    count = min(asked.batch_size, len(images.paths))
    asked, gpu = asked._replace(batch_size=count), torch.cuda.is_available()
    device = "gpu" if gpu else "cpu"
    common: dict[str, Any] = {"batch_size": count, "size": size, "device": device}
    speeds = [asked.timed("DALI", partial(ImageLoader, root, backend="dali", **common))]
    for decoder in ("opencv", "pillow"):
        for processes in asked.workers:
            for ahead in (False, True) if gpu else (False,):
                name = f"DataLoader, {decoder}, {processes} workers"
                name += ", prefetched to the GPU" if ahead else ""
                data = _Images(images.paths, images.labels, decoder, size)
                make = partial(_Plain, data, count, processes, gpu, ahead)
                speeds.append(asked.timed(name, make))
    return Bench(machine_facts(asked, "images", len(images.paths)), speeds)


class _Images(Dataset[Any]):
    """Images by number, as a DataLoader's processes make them: uint8 CHW."""

    def __init__(self, paths: list[str], labels: list[int], decoder: str, size: int) -> None:
        self._paths, self._labels, self._decoder, self._size = paths, labels, decoder, size

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, number: int) -> tuple[torch.Tensor, int]:
        path, sides = self._paths[number], (self._size, self._size)
        if self._decoder == "opencv":
            read = cv2.imread(path, cv2.IMREAD_COLOR_RGB)
            if read is None:
                raise ValueError(f"{path}: cannot be read")
            image: Any = cv2.resize(read, sides, interpolation=cv2.INTER_LINEAR)
        else:
            with Image.open(path) as opened:
                whole = opened.convert("RGB")
            image = np.asarray(whole.resize(sides, Image.Resampling.BILINEAR))
        return torch.from_numpy(image.transpose(2, 0, 1).copy()), self._labels[number]


class _Plain:
    """A plain DataLoader, whose batches are made floats on the device."""

    def __init__(
        self,
        images: _Images,
        batch_size: int,
        workers: int,
        gpu: bool = False,
        ahead: bool = False,
    ) -> None:
        self._device, self._ahead = torch.device("cuda" if gpu else "cpu"), ahead
        self._loader = DataLoader(
            images,
            batch_size=batch_size,
            shuffle=True,
            drop_last=True,
            num_workers=workers,
            pin_memory=gpu,
            persistent_workers=workers > 0,
            worker_init_fn=_prepare,
            multiprocessing_context=prepare_workers([__name__], workers + 1) if workers else None,
        )

    def __enter__(self) -> _Plain:
        return self

    def __exit__(self, *exception: object) -> None:
        iterator = getattr(self._loader, "_iterator", None)
        if iterator is not None:
            iterator._shutdown_workers()

    def __iter__(self) -> Iterator[Any]:
        if not self._ahead:
            yield from map(self._moved, self._batches())
            return
        stream, waiting = torch.cuda.Stream(), None
        for batch in self._batches():
            with torch.cuda.stream(stream):
                moved = self._moved(batch)
            if waiting is not None:
                torch.cuda.current_stream().wait_stream(stream)
                yield waiting
            waiting = moved
        if waiting is not None:
            yield waiting

    def _batches(self) -> Iterator[Any]:
        with main_left_alone():
            return iter(self._loader)

    def _moved(self, batch: Any) -> tuple[torch.Tensor, torch.Tensor]:
        images, labels = (one.to(self._device, non_blocking=True) for one in batch)
        return images.float() / 255, labels


def _prepare(number: int) -> None:
    prepare_own_process()
    end_with_parent()
