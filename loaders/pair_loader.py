"""PairLoader: batches of (low, normal) from a set, through DALI."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from ..manifests.decoding import decode_as_rgb
from ..manifests.errors import ImageRefused, LoaderError
from ..manifests.layouts import SHARDS
from .contents import Contents, Piece, contents_of
from .options import Options, make_options
from .order import epoch_order, epoch_seed
from .ranks import Rank, find_rank, usable_cores
from .state import check_state, fingerprint

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
    reader : str
        "webdataset" for shards, "file" for files, "external" for lists and for either (it reads at offsets and shuffles without
        limit); "auto" takes what fits.
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
    An epoch's order is a function of (seed, epoch). `state_dict` and `load_state_dict` resume in mid-epoch with exactly the
    batches that were left, augmentation included.
    """

    def __init__(
        self,
        data: str | Path | Sequence[Any],
        split: str = "train",
        *,
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
        self.contents: Contents = contents_of(data, split)
        training = split == "train" and self.contents.layout != "lists"
        self.rank: Rank = find_rank(rank, world_size)
        self.options: Options = make_options(
            shuffle=training if shuffle is None else shuffle,
            last_batch=("drop" if training else "partial") if last_batch is None else last_batch,
            device=_device(device),
            threads=threads or usable_cores(),
            **options,
        )
        self.reader = _reader(reader, self.contents)
        self._device_id = device_id
        if self.contents.count < self.rank.world:
            raise LoaderError(f"{self.contents.name}: {self.contents.count} pairs are fewer than {self.rank.world} ranks")
        first, last = self.rank.slice(self.contents.count)
        self._samples = last - first
        self._pairs: list[tuple[str, Piece, Piece]] | None = None
        self._pipeline: Any = None
        self._first: tuple[Any, ...] | None = None  # batch of a pipeline that was built ahead
        self._ahead: Future[Any] | None = None
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
            self._pipeline = self._build(self.epoch, self._resume)
        while self._batch < len(self):
            left = self._samples - self._batch * self.options.batch_size
            outputs = self._run()
            self._checkpoint = None
            self._batch += 1
            if self._batch == (len(self) + 1) // 2:
                self._prepare_next()
            yield self._batch_of(outputs, min(left, self.options.batch_size))
        self._next_epoch()

    def set_epoch(self, epoch: int) -> None:
        """Begin epoch number `epoch` with the next pass; passes count up by themselves."""
        self.epoch, self._batch, self._resume = epoch, 0, None
        self._pipeline = self._checkpoint = self._ahead = self._first = None

    def state_dict(self) -> dict[str, Any]:
        """Where the loader is: a small dict of JSON values. Take it between batches."""
        dali = self._resume
        if self._pipeline is not None and self._batch:
            if self._checkpoint is None:
                self._checkpoint = self._pipeline.checkpoint()
            dali = self._checkpoint
        return {
            "fingerprint": fingerprint(self.contents, self.options, self.rank, self.reader),
            "epoch": self.epoch,
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
        self.set_epoch(int(state["epoch"]))
        self._batch = int(state["batch"])
        self._resume = base64.b64decode(state["dali"]) or None

    def close(self) -> None:
        """Free the pipeline and its memory; the loader cannot be used afterwards."""
        if self._ahead is not None:
            self._ahead.exception()  # wait: a pipeline that is being built cannot be freed
        self._pipeline = self._ahead = self._first = None
        self._closed = True

    def __enter__(self) -> PairLoader:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def _repeats(self) -> bool:
        """Whether every epoch is the same: then one pipeline serves all. A new one costs seconds on a GPU."""
        options = self.options
        return not (options.shuffle or options.augment or options.crop != "resize")

    def _prepare_next(self) -> None:
        """Begin to build the next epoch's pipeline beside the running one, so that nobody waits for it."""
        if not self._repeats and self._ahead is None:
            self._ahead = _in_thread(self._build_started, self.epoch + 1)

    def _next_epoch(self) -> None:
        ahead, pipeline = self._ahead, self._pipeline
        repeats = self._repeats and self.reader != "external"
        if repeats:
            # DALI pads every rank's part to whole batches, as many as the largest part has.
            largest = -(-self.contents.count // self.rank.world)
            for _ in range(-(-largest // self.options.batch_size) - len(self)):
                self._run()
        self.set_epoch(self.epoch + 1)
        if repeats:
            self._pipeline = pipeline
        elif ahead is not None:
            try:
                self._pipeline, self._first = ahead.result()
            except Exception:
                self._pipeline = None  # built again when the epoch begins, where errors are explained

    def _build_started(self, epoch: int) -> tuple[Any, tuple[Any, ...]]:
        """A pipeline and its first batch."""
        pipeline = self._build(epoch, None)
        if self.options.device == "cpu":
            return pipeline, tuple(pipeline.run())
        import torch

        with torch.cuda.device(pipeline.device_id):
            stream = torch.cuda.current_stream()
            first = tuple(pipeline.run(stream))
            stream.synchronize()  # whoever takes it may use another stream
        return pipeline, first

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
        if self.reader == "webdataset":
            tars, indexes = self.contents.shards()
            order = epoch_order(len(tars), seed, epoch, options.shuffle)
            pipeline = pipelines.webdataset_pairs([tars[i] for i in order], [indexes[i] for i in order], **common, **sharding)
        elif self.reader == "file":
            lists = str(self.contents.list_path("low")), str(self.contents.list_path("normal"))
            pipeline = pipelines.file_pairs(str(self.contents.root), *lists, **common, **sharding)
        else:
            first, last = self.rank.slice(self.contents.count)
            order = epoch_order(self.contents.count, seed, epoch, options.shuffle)[first:last]
            pipeline = pipelines.external_pairs(_Source(self._all_pairs(), order, options), **common)
        pipeline.build()
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

                return self._outputs(torch.cuda.current_stream())
            return self._outputs(None)
        except LoaderError:
            raise
        except Exception as error:  # DALI raises RuntimeError and whatever a source raised
            self._pipeline = None
            raise self._explained(error) from error

    def _outputs(self, stream: Any) -> tuple[Any, ...]:
        if self._first is not None:
            first, self._first = self._first, None
            return first
        return tuple(self._pipeline.run(stream))

    def _explained(self, error: Exception) -> LoaderError:
        """DALI does not say which image failed: look for it."""
        lines = [line for line in str(error).splitlines() if line and not line.startswith(("Critical", "Current", "  ", "which"))]
        words = lines[-1] if lines else str(error)
        first, last = self.rank.slice(self.contents.count)
        pairs = self._all_pairs() if self.reader != "webdataset" else self.contents.pairs()
        with ThreadPoolExecutor(self.options.threads) as pool:
            # The damaged image may be on any rank's side where shuffling moved shards; this rank's own are likelier.
            for found in pool.map(_damage, [*pairs[first:last], *pairs[:first], *pairs[last:]]):
                if found:
                    return LoaderError(f"{self.contents.name}: {found}; gloam verify the set, gloam build mends it")
        return LoaderError(f"{self.contents.name}: DALI: {words}")

    def _batch_of(self, outputs: tuple[Any, ...], count: int) -> tuple[Any, ...]:
        low, normal, *labels = outputs
        if self.reader == "file":
            numbers = [np.array(label.as_cpu().as_tensor()).ravel() for label in labels]
            if (numbers[0] != numbers[1]).any():
                raise LoaderError(f"{self.contents.name}: the lists of lows and normals are out of step; gloam verify the set")
        images = tuple(_tensor(images)[:count] for images in (low, normal))
        if not self.options.keys:
            return images
        if self.reader == "webdataset":
            return (*images, [json.loads(np.array(labels[0][i]).tobytes().rstrip(b"\0"))["key"] for i in range(count)])
        places = np.array(labels[0].as_cpu().as_tensor()).ravel()[:count]
        return (*images, [self._all_pairs()[int(place)][0] for place in places])


def _in_thread(function: Callable[[int], Any], argument: int) -> Future[Any]:
    """The function's result to be, worked out in a thread that does not keep the program from ending."""
    future: Future[Any] = Future()

    def work() -> None:
        try:
            future.set_result(function(argument))
        except BaseException as error:  # raised where the result is taken
            future.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return future


class _Source:
    """What an external source calls: encoded batches by number, read by several threads; at the end it repeats the last pair."""

    def __init__(self, pairs: list[tuple[str, Piece, Piece]], order: Any, options: Options) -> None:
        self._pairs, self._order, self._batch_size = pairs, order, options.batch_size
        self._pool = ThreadPoolExecutor(options.threads)

    def __call__(self, info: Any) -> tuple[list[Any], list[Any], list[Any]]:
        start = info.iteration * self._batch_size
        places = np.minimum(np.arange(start, start + self._batch_size), len(self._order) - 1)
        numbers = [int(self._order[place]) for place in places]
        pieces = [piece for number in numbers for piece in self._pairs[number][1:]]
        arrays = [np.frombuffer(data, np.uint8) for data in self._pool.map(Piece.read, pieces)]
        return arrays[0::2], arrays[1::2], [np.array([number], np.int64) for number in numbers]


def _damage(pair: tuple[str, Piece, Piece]) -> str:
    """What is wrong with a stored pair, or ""."""
    key, *pieces = pair
    shapes = []
    for member, piece in zip(("low", "normal"), pieces, strict=True):
        where = f"{piece.path}: {key}.{member}" if piece.path else f"pair {key}, {member}"
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
