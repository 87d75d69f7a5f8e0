"""PairLoader: batches of (low, normal) from a set, through DALI."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from ..manifests.decoding import decode_as_rgb
from ..manifests.errors import ImageRefused, LoaderError
from ..manifests.layouts import SHARDS
from .contents import Contents, Piece, contents_of
from .options import Options, make_options
from .order import epoch_order, epoch_seed
from .ranks import Rank, find_rank, local_ranks, usable_cores
from .state import check_state, fingerprint

_MANY_GPUS = 4  # of a host: see `options.Options.hw_decoder_load`
_NEAR = 4096  # bytes between two members that are read at once
READERS = ("webdataset", "file", "external")


class PairLoader:
    """An iterable over batches of pairs; each pass is one epoch.

    Batches are (low, normal) torch tensors, or (low, normal, keys) with `keys=True`, on the GPU or the CPU, in step: a low never
    comes with another image's normal.

    Parameters
    ----------
    data : str, Path or sequence
        A set's folder, or a list of (low, normal) paths or bytes, see `pairs_in`.
    split : str
        "train" or "val", of a set.
    normals : str or Path, optional
        Of a set of lows only (`gloam regenerate --low-only`): the set that it was made from.
    reader : str
        "webdataset" for shards, "file" for files, "external" for lists and for either (it reads at offsets and shuffles
        without limit); "auto" takes what fits.
    shuffle, last_batch : optional
        By default True and "drop" for train, False and "partial" otherwise.
    device : str
        "gpu", "cpu", or "auto": a GPU if torch sees one.
    device_id : int, optional
        Which GPU; by default torch's current one.
    rank, world_size : int, optional
        Otherwise of torch.distributed, torchrun's or SLURM's environment, or 0 of 1.
    threads : int, optional
        That read and decode on the CPU; by default this rank's share of the cores.
    **options
        See `options.Options`: batch_size, size, crop, augment, dtype, value_range, layout, seed, keys, ...

    Raises
    ------
    LoaderError
        When an option is wrong, there are fewer pairs than ranks, an image cannot be decoded (named by shard, key and member), or
        images of one batch differ in size.
    SetError
        When the set is half built, or a shard or index is missing or stale.

    Notes
    -----
    Epochs are shuffled anew, as the seed says; see `set_epoch`. `state_dict` and `load_state_dict` resume in mid-epoch with
    exactly the batches that were left, augmentation included.

    A GPU has few queues that its streams share, unless CUDA_DEVICE_MAX_CONNECTIONS says otherwise before CUDA starts: decoding
    then waits behind training. Importing gloam.loaders sets it to 32 where it is not set; do so before the first use of the GPU.
    """

    def __init__(
        self,
        data: str | Path | Sequence[Any],
        split: str = "train",
        *,
        normals: str | Path | None = None,
        reader: str = "auto",
        shuffle: bool | None = None,
        last_batch: str | None = None,
        device: str = "auto",
        device_id: int | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        threads: int | None = None,
        **options: Any,
    ) -> None:
        self.contents: Contents = contents_of(data, split, normals)
        training = split == "train" and self.contents.layout != "lists"
        self.rank: Rank = find_rank(rank, world_size)
        self.options: Options = make_options(
            shuffle=training if shuffle is None else shuffle,
            last_batch=("drop" if training else "partial") if last_batch is None else last_batch,
            device=_device(device),
            threads=threads or usable_cores(),
            **({"hw_decoder_load": 1.0} if local_ranks() >= _MANY_GPUS else {}) | options,
        )
        self.reader = _reader(reader, self.contents)
        self._device_id = device_id
        if self.contents.count < self.rank.world:
            raise LoaderError(f"{self.contents.name}: {self.contents.count} pairs are fewer than {self.rank.world} ranks")
        first, last = self.rank.slice(self.contents.count)
        self._samples = last - first
        self._pairs: list[tuple[str, Piece, Piece]] | None = None
        self._pipeline: Any = None
        self._base = 0  # the epoch that the pipeline was built for; it goes on through the next ones
        self.epoch = 0
        self._batch = 0  # of the epoch: how many were handed out
        self._resume: bytes | None = None
        self._checkpoint: bytes | None = None
        self._closed = False
        if not len(self):
            raise LoaderError(
                f"{self.contents.name}: {self.contents.count} pairs give {self.rank.world} ranks no whole batch of "
                f"{self.options.batch_size}; take smaller batches or last_batch='partial'"
            )

    def __len__(self) -> int:
        """Batches an epoch, of this rank."""
        return self.rank.batches(self.contents.count, self.options.batch_size, self.options.last_batch == "drop")

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """The rest of the running epoch, or a new one: after `break`, the next pass goes on where this one was left."""
        if self._closed:
            raise LoaderError("the loader is closed")
        if self._pipeline is None:
            self._pipeline = self._build(self._base, self._resume)
        while self._batch < len(self):
            left = self._samples - self._batch * self.options.batch_size
            outputs = self._run()
            self._checkpoint = None
            self._batch += 1
            yield self._batch_of(outputs, min(left, self.options.batch_size))
        self._next_epoch()

    def set_epoch(self, epoch: int) -> None:
        """Begin epoch number `epoch` with the next pass; passes count up by themselves.

        A jump builds a new pipeline (seconds, on a GPU), whose shuffling begins anew: the order of the webdataset and file
        readers is a function of the seed, of the epoch that one jumped to, and of the epochs since; that of the external
        reader, of (seed, epoch) alone.
        """
        if (epoch, 0) != (self.epoch, self._batch):
            self.epoch, self._base, self._batch, self._resume = epoch, epoch, 0, None
            self._pipeline = self._checkpoint = None

    def state_dict(self) -> dict[str, Any]:
        """Where the loader is: a small dict of JSON values. Take it between batches."""
        dali = self._resume
        if self._pipeline is not None and (self._batch or self.epoch != self._base):
            if self._checkpoint is None:
                self._checkpoint = self._pipeline.checkpoint()
            dali = self._checkpoint
        return {
            "fingerprint": fingerprint(self.contents, self.options, self.rank, self.reader),
            "epoch": self.epoch,
            "base": self._base,
            "batch": self._batch,
            "dali": base64.b64encode(dali).decode("ascii") if dali else "",
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where another loader of the same set, options and rank was.

        Raises
        ------
        LoaderError
            When the state is of something else, with what differs.
        """
        check_state(state, fingerprint(self.contents, self.options, self.rank, self.reader))
        self.epoch, self._base, self._batch = int(state["epoch"]), int(state["base"]), int(state["batch"])
        self._pipeline = self._checkpoint = None
        self._resume = base64.b64decode(state["dali"]) or None

    def close(self) -> None:
        """Free the pipeline and its memory; the loader cannot be used afterwards."""
        self._pipeline, self._closed = None, True

    def __enter__(self) -> PairLoader:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _next_epoch(self) -> None:
        """Take the pipeline to the beginning of the next epoch. A new one for each would cost seconds on a GPU."""
        if self.reader != "external":
            # DALI pads every rank's part to whole batches, as many as the largest part has.
            largest = -(-self.contents.count // self.rank.world)
            for _ in range(-(-largest // self.options.batch_size) - len(self)):
                self._run()
        self.epoch, self._batch, self._checkpoint = self.epoch + 1, 0, None

    def _build(self, epoch: int, checkpoint: bytes | None) -> Any:
        """The pipeline of an epoch."""
        from . import pipelines

        options, seed = self.options, self.options.seed
        common = {
            "options": options,
            "batch_size": options.batch_size,
            "num_threads": options.threads,
            "device_id": self._gpu() if options.device == "gpu" else None,
            "seed": epoch_seed(seed, epoch, f"draws of rank {self.rank.rank}"),
            "prefetch_queue_depth": options.prefetch,
            "enable_checkpointing": True,
            "checkpoint": checkpoint,
        }
        sharding = {"rank": self.rank.rank, "world": self.rank.world, "shuffle_seed": epoch_seed(seed, epoch, "shuffle")}
        if options.device == "gpu":
            common |= pipelines.SIDE_BY_SIDE
        if self.reader == "webdataset":
            others = self.contents.shards("normal") if self.contents.two_sets else None
            pipeline = pipelines.webdataset_pairs(*self.contents.shards(), **common, **sharding, normals=others)
        elif self.reader == "file":
            lists = str(self.contents.list_path("low")), str(self.contents.list_path("normal"))
            roots = str(self.contents.root), str(self.contents.normal_root)
            pipeline = pipelines.file_pairs(roots[0], *lists, **common, **sharding, normal_root=roots[1])
        else:
            first, last = self.rank.slice(self.contents.count)
            orders = partial(_rank_order, self.contents.count, seed, options.shuffle, first, last)
            pipeline = pipelines.external_pairs(_Source(self._all_pairs(), orders, epoch, len(self), options), **common)
        try:
            pipeline.build()
        except RuntimeError as error:  # no GPU, no memory on it, ...
            raise LoaderError(f"{self.contents.name}: DALI: {_last_words(error)}") from error
        return pipeline

    def pipeline(self, epoch: int = 0) -> Any:
        """The DALI pipeline of an epoch, built, of this rank's samples; `len(self)` batches of it are the epoch."""
        return self._build(epoch, None)

    def _gpu(self) -> int:
        if self._device_id is not None:
            return self._device_id
        import torch

        return torch.cuda.current_device()

    def _all_pairs(self) -> list[tuple[str, Piece, Piece]]:
        if self._pairs is None:
            self._pairs = self.contents.pairs()
        return self._pairs

    def _run(self) -> tuple[Any, ...]:
        try:
            if self.options.device == "gpu":
                import torch

                return tuple(self._pipeline.run(torch.cuda.current_stream()))
            return tuple(self._pipeline.run())
        except LoaderError:
            raise
        except Exception as error:  # DALI raises RuntimeError and whatever a source raised
            self._pipeline = None
            raise self._explained(error) from error

    def _explained(self, error: Exception) -> LoaderError:
        """DALI does not say which image failed: look for it."""
        first, last = self.rank.slice(self.contents.count)
        pairs = self._all_pairs() if self.reader != "webdataset" else self.contents.pairs()
        with ThreadPoolExecutor(self.options.threads) as pool:
            # The damaged image may be on any rank's side where shuffling moved shards; this rank's own are likelier.
            for found in pool.map(_damage, [*pairs[first:last], *pairs[:first], *pairs[last:]]):
                if found:
                    return LoaderError(f"{self.contents.name}: {found}; gloam verify the set, gloam build mends it")
        return LoaderError(f"{self.contents.name}: DALI: {_last_words(error)}")

    def _batch_of(self, outputs: tuple[Any, ...], count: int) -> tuple[Any, ...]:
        low, normal, *labels = outputs
        if self.reader == "file":
            numbers = [np.array(label.as_cpu().as_tensor()).ravel() for label in labels]
            if (numbers[0] != numbers[1]).any():
                raise LoaderError(f"{self.contents.name}: the lists of lows and normals are out of step; gloam verify the set")
        keys: list[str] = []
        if self.reader == "webdataset" and self.contents.two_sets:
            keys, others = (_keys(label, count) for label in labels)
            if keys != others:
                where = f"{self.contents.name} and the normals of {self.contents.normal_root}"
                raise LoaderError(f"{where} are out of step; gloam verify both")
        images = tuple(_tensor(images)[:count] for images in (low, normal))
        if not self.options.keys:
            return images
        if self.reader == "webdataset":
            return (*images, keys or _keys(labels[0], count))
        places = np.array(labels[0].as_cpu().as_tensor()).ravel()[:count]
        return (*images, [self._all_pairs()[int(place)][0] for place in places])


def _keys(records: Any, count: int) -> list[str]:
    """The keys in the records of a batch."""
    return [str(json.loads(np.array(records[i]).tobytes().rstrip(b"\0"))["key"]) for i in range(count)]


def _rank_order(count: int, seed: int, shuffle: bool, first: int, last: int, epoch: int) -> Any:
    return epoch_order(count, seed, epoch, shuffle)[first:last]


class _Source:
    """What an external source calls: encoded batches by number, epoch after epoch, read by several threads. What an epoch's last
    batch lacks is filled with its last pair."""

    def __init__(
        self, pairs: list[tuple[str, Piece, Piece]], orders: Callable[[int], Any], base: int, batches: int, options: Options
    ) -> None:
        self._pairs, self._orders, self._base, self._batches = pairs, lru_cache(maxsize=2)(orders), base, batches
        self._batch_size = options.batch_size
        self._pool = ThreadPoolExecutor(options.threads)

    def __call__(self, info: Any) -> tuple[list[Any], list[Any], list[Any]]:
        epoch, batch = divmod(info.iteration, self._batches)
        order = self._orders(self._base + epoch)
        start = batch * self._batch_size
        numbers = order[np.minimum(np.arange(start, start + self._batch_size), len(order) - 1)].tolist()
        arrays = list(self._pool.map(self._read, numbers))
        return [low for low, _ in arrays], [normal for _, normal in arrays], [np.array([n], np.int64) for n in numbers]

    def _read(self, number: int) -> tuple[Any, Any]:
        """Both images of a pair; in a tar they lie side by side, and are read at once."""
        _, low, normal = self._pairs[number]
        if low.size > 0 and low.path == normal.path and 0 <= normal.offset - low.offset - low.size < _NEAR:
            whole = np.frombuffer(Piece(low.path, low.offset, normal.offset + normal.size - low.offset).read(), np.uint8)
            return whole[: low.size], whole[normal.offset - low.offset :]
        return np.frombuffer(low.read(), np.uint8), np.frombuffer(normal.read(), np.uint8)


def _last_words(error: Exception) -> str:
    """Of DALI's long messages, what was wrong."""
    lines = [line for line in str(error).splitlines() if line and not line.startswith(("Critical", "Current", "  ", "which"))]
    return lines[-1] if lines else str(error)


def _damage(pair: tuple[str, Piece, Piece]) -> str:
    """What is wrong with a stored pair, or ""."""
    key, *pieces = pair
    shapes = []
    for member, piece in zip(("low", "normal"), pieces, strict=True):
        where = piece.named(key, member)
        try:
            shapes.append(decode_as_rgb(piece.read()).shape)
        except ImageRefused as refusal:
            return f"{where} cannot be decoded: {refusal.detail}"
        except LoaderError as error:
            return f"{where}: {error}"
    return "" if shapes[0] == shapes[1] else f"{key}: low and normal differ in size"


def _tensor(images: Any) -> Any:
    """A torch tensor over DALI's memory, without a copy."""
    from torch.utils.dlpack import from_dlpack

    try:
        tensor = images.as_tensor()
    except Exception as error:
        shapes = sorted({tuple(shape) for shape in images.shape()})
        raise LoaderError(
            f"images of one batch have different sizes ({', '.join(map(str, shapes[:3]))}): give size=, pad=True or batch_size=1"
        ) from error
    return from_dlpack(tensor)


def _reader(reader: str, contents: Contents) -> str:
    fitting = {"lists": "external", SHARDS: "webdataset"}.get(contents.layout, "file")
    if contents.two_sets and contents.layout != contents.normal_layout:
        fitting = "external"
    if reader == "auto":
        return fitting
    if reader not in READERS:
        raise LoaderError(f"reader {reader!r}: must be auto or one of {', '.join(READERS)}")
    if reader not in (fitting, "external"):
        raise LoaderError(f"reader {reader!r} cannot read {contents.name}, whose layout is {contents.layout}; take {fitting!r}")
    return reader


def _device(device: str) -> str:
    if device != "auto":
        return device
    try:
        import torch
    except ImportError:
        return "cpu"
    return "gpu" if torch.cuda.is_available() else "cpu"
