"""The same batches without DALI: a plain torch DataLoader, for machines that have none; PairLoader is measured against it."""

from __future__ import annotations

import multiprocessing.util
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from ..manifests.decoding import decode_as_rgb
from ..manifests.errors import ImageRefused, LoaderError
from .contents import Piece, contents_of
from .options import Options, make_options
from .order import epoch_order, epoch_seed
from .ranks import Rank, find_rank, usable_cores
from .state import check_state, fingerprint

_DTYPES = {"float32": torch.float32, "float16": torch.float16, "uint8": torch.uint8}
_AREA = (0.35, 1.0)


class TorchLoader:
    """As `PairLoader`, with its arguments, order, epochs, ranks and states; decoding by OpenCV or Pillow in worker processes.

    Parameters
    ----------
    data, split, normals, shuffle, last_batch, rank, world_size, **options
        As of `PairLoader`.
    device : str
        "cpu", or a torch device to which batches are copied ahead of their use, from pinned memory on a stream of its own; "auto"
        takes the GPU that torch sees (CUDA or Apple's).
    workers : int, optional
        Processes; by default this rank's share of the cores; 0 decodes in this process.
    decoder : str
        "opencv" or "pillow".

    Raises
    ------
    LoaderError, SetError
        As `PairLoader`.
    """

    def __init__(
        self,
        data: str | Path | Sequence[Any],
        split: str = "train",
        *,
        normals: str | Path | None = None,
        shuffle: bool | None = None,
        last_batch: str | None = None,
        device: str = "auto",
        rank: int | None = None,
        world_size: int | None = None,
        workers: int | None = None,
        decoder: str = "opencv",
        **options: Any,
    ) -> None:
        self.contents = contents_of(data, split, normals)
        training = split == "train" and self.contents.layout != "lists"
        self.rank: Rank = find_rank(rank, world_size)
        self.options: Options = make_options(
            shuffle=training if shuffle is None else shuffle,
            last_batch=("drop" if training else "partial") if last_batch is None else last_batch,
            **options,
        )
        if decoder not in ("opencv", "pillow"):
            raise LoaderError(f"decoder {decoder!r}: must be opencv or pillow")
        self.device = _device(device)
        self.epoch = 0
        self._batch = 0
        if not len(self):
            raise LoaderError(
                f"{self.contents.name}: {self.contents.count} pairs give {self.rank.world} ranks no whole batch of "
                f"{self.options.batch_size}; take smaller batches or last_batch='partial'"
            )
        workers = usable_cores() if workers is None else workers
        self._sampler = _Batches(self)
        self._loader: DataLoader[Any] = DataLoader(
            _Pairs(self.contents.pairs(), self.options, decoder),
            batch_sampler=self._sampler,
            num_workers=workers,
            pin_memory=self.device.type == "cuda",
            persistent_workers=workers > 0,
            prefetch_factor=self.options.prefetch if workers else None,
            collate_fn=_Collate(self.options),
            worker_init_fn=_prepare_worker,
            multiprocessing_context="spawn" if workers else None,
        )

    def __len__(self) -> int:
        """Batches an epoch, of this rank."""
        return self.rank.batches(self.contents.count, self.options.batch_size, self.options.last_batch == "drop")

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """The rest of the running epoch, or a new one."""
        ahead: tuple[Any, ...] | None = None
        stream = torch.cuda.Stream(self.device) if self.device.type == "cuda" else None
        for low, normal, keys in self._loader:
            with torch.cuda.stream(stream):
                copied = (low.to(self.device, non_blocking=True), normal.to(self.device, non_blocking=True), keys)
            if ahead is not None:
                yield self._handed_out(ahead, stream)
            ahead = copied
        if ahead is not None:
            yield self._handed_out(ahead, stream)
        self.set_epoch(self.epoch + 1)

    def _handed_out(self, batch: tuple[Any, ...], stream: Any) -> tuple[Any, ...]:
        low, normal, keys = batch
        if stream is not None:
            current = torch.cuda.current_stream(self.device)
            current.wait_stream(stream)
            low.record_stream(current)
            normal.record_stream(current)
        self._batch += 1
        return (low, normal, keys) if self.options.keys else (low, normal)

    def set_epoch(self, epoch: int) -> None:
        """Begin epoch number `epoch` with the next pass; passes count up by themselves."""
        self.epoch, self._batch = epoch, 0

    def state_dict(self) -> dict[str, Any]:
        """Where the loader is: a small dict of JSON values."""
        own = fingerprint(self.contents, self.options, self.rank, "torch")
        return {"fingerprint": own, "epoch": self.epoch, "batch": self._batch}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where another loader of the same set, options and rank was; refuses a state of anything else."""
        check_state(state, fingerprint(self.contents, self.options, self.rank, "torch"))
        self.epoch, self._batch = int(state["epoch"]), int(state["batch"])

    def close(self) -> None:
        """End the worker processes."""
        iterator = getattr(self._loader, "_iterator", None)
        if iterator is not None:
            iterator._shutdown_workers()
            self._loader._iterator = None

    def __enter__(self) -> TorchLoader:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def batches(self) -> Iterator[list[tuple[int, int]]]:
        """What is left of the running epoch: batches of (number of the pair, seed of its draws)."""
        first, last = self.rank.slice(self.contents.count)
        order = epoch_order(self.contents.count, self.options.seed, self.epoch, self.options.shuffle)[first:last]
        for batch in range(self._batch, len(self)):
            numbers = order[batch * self.options.batch_size : (batch + 1) * self.options.batch_size]
            yield [(int(n), epoch_seed(self.options.seed, self.epoch, f"draws of pair {n}")) for n in numbers]


def _prepare_worker(number: int) -> None:
    """One thread a process, as the processes are the parallelism; and an end without C++ destructors, which can abort in a worker
    that is stopped in mid-batch."""
    cv2.setNumThreads(0)
    multiprocessing.util.Finalize(None, os._exit, (0,), exitpriority=-100)


class _Batches(Sampler[list[tuple[int, int]]]):
    def __init__(self, loader: TorchLoader) -> None:
        self._loader = loader

    def __iter__(self) -> Iterator[list[tuple[int, int]]]:
        return self._loader.batches()

    def __len__(self) -> int:
        return len(self._loader)


class _Pairs(Dataset[Any]):
    def __init__(self, pairs: list[tuple[str, Piece, Piece]], options: Options, decoder: str) -> None:
        self._pairs, self._options, self._decoder = pairs, options, decoder

    def __len__(self) -> int:
        return len(self._pairs)

    def __getitem__(self, place: tuple[int, int]) -> tuple[Any, Any, str]:
        number, seed = place
        key, low_piece, normal_piece = self._pairs[number]
        decoded = []
        for member, piece in (("low", low_piece), ("normal", normal_piece)):
            try:
                decoded.append(_decoded(piece.read(), self._decoder))
            except ImageRefused as refusal:
                where = piece.named(key, member)
                raise LoaderError(
                    f"{where} cannot be decoded: {refusal.detail}; gloam verify the set, gloam build mends it"
                ) from None
        low, normal = decoded
        if low.shape != normal.shape:
            raise LoaderError(f"{key}: low and normal differ in size")
        change = _change(low.shape[0], low.shape[1], self._options, np.random.Generator(np.random.Philox(key=seed)))
        return change(low), change(normal), key


def _decoded(data: bytes, decoder: str) -> Any:
    if decoder == "opencv":
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)
        if image is not None:
            return image
    # Pillow, and what OpenCV cannot read; it says what is wrong with a damaged image.
    return decode_as_rgb(data)


def _change(height: int, width: int, options: Options, draws: np.random.Generator) -> Any:
    """One pair's crop, resize, flips and turn, as a function of an image."""
    top, left, h, w = 0, 0, height, width
    if options.crop == "random" and options.size is not None:
        share = max(1.0, options.size[0] / height, options.size[1] / width)
        h, w = min(height, round(options.size[0] / share)), min(width, round(options.size[1] / share))
    elif options.crop == "random-resized":
        area, aspect = draws.uniform(*_AREA) * height * width, np.exp(draws.uniform(np.log(3 / 4), np.log(4 / 3)))
        h, w = min(height, max(1, round((area / aspect) ** 0.5))), min(width, max(1, round((area * aspect) ** 0.5)))
    top, left = int(draws.integers(0, height - h + 1)), int(draws.integers(0, width - w + 1))
    across, down, turned = (bool(bit) and options.augment for bit in draws.integers(0, 2, 3))
    turned = turned and options.square

    def change(image: Any) -> Any:
        image = image[top : top + h, left : left + w]
        if options.size is not None and image.shape[:2] != options.size:
            small = options.size[0] <= h and options.size[1] <= w
            image = cv2.resize(image, options.size[::-1], interpolation=cv2.INTER_AREA if small else cv2.INTER_LINEAR)
        image = image[:: -1 if down else 1, :: -1 if across else 1]
        return np.ascontiguousarray(image.transpose(1, 0, 2) if turned else image)

    return change


class _Collate:
    """Samples to (low, normal, keys) of tensors."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def __call__(self, samples: list[tuple[Any, Any, str]]) -> tuple[Any, Any, list[str]]:
        lows, normals, keys = zip(*samples, strict=True)
        return self._stacked(lows), self._stacked(normals), list(keys)

    def _stacked(self, images: tuple[Any, ...]) -> Any:
        options = self._options
        shapes = sorted({image.shape for image in images})
        if len(shapes) > 1:
            if not options.pad:
                shown = ", ".join(map(str, shapes[:3]))
                raise LoaderError(f"images of one batch have different sizes ({shown}): give size=, pad=True or batch_size=1")
            height, width = (max(shape[axis] for shape in shapes) for axis in (0, 1))
            images = tuple(np.pad(i, ((0, height - i.shape[0]), (0, width - i.shape[1]), (0, 0))) for i in images)
        batch = torch.from_numpy(np.stack(images))
        if options.layout == "CHW":
            batch = batch.permute(0, 3, 1, 2).contiguous()
        if options.dtype == "uint8":
            return batch
        scaled = batch.float() / 127.5 - 1 if options.value_range[0] < 0 else batch.float() / 255
        return scaled.to(_DTYPES[options.dtype])


def _device(device: str) -> torch.device:
    if device != "auto":
        return torch.device(device)
    if torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
