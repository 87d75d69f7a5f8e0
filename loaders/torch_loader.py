"""The same batches without DALI: a plain torch DataLoader, for machines that have none.

PairLoader is measured against it.
"""

from __future__ import annotations

import math
import multiprocessing.util
import os
import signal
import weakref
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np
import torch
from torch.utils.data import DataLoader

from ..engines.forkserver import prepare_workers
from ..engines.process import end_with_parent, main_left_alone, prepare_own_process
from ..errors import GloamError, LoaderError
from ..manifests.sets.pair_set import PairSet
from ..storage.store_requests import environment, take_environment
from ..synth.recipes.load import Recipe
from .columns import StoredPair
from .dataset import DECODERS, PairDataset
from .devices import converted, find_device
from .epochs import EpochLoader
from .index import cached_in, contents_of, open_data
from .labels import PairLabels, label_columns
from .live.lows import is_live, live_lows
from .memory.reused import ReusedMemory
from .memory.rooms import Room, Rooms
from .options import Nothing, Options, make_options, same_number
from .ranks_and_order import epoch_order, usable_cores
from .samples import Collate, Place, Samples, ToldBatches, ToldSamples, values_of


class TorchLoader(EpochLoader):
    """A loader like `PairLoader`, with its options, epochs, ranks and states, without DALI.

    OpenCV or Pillow decode in worker processes.

    For a seed it gives the pairs in the order of `PairLoader(reader="external")`; the webdataset
    and file readers, which PairLoader takes by itself for sets, shuffle within a buffer and have an
    order of their own.

    Parameters
    ----------
    data, split, normals, rank, world_size and all options
        As of `PairLoader`; `shuffle_buffer` and `hw_decoder_load` mean nothing here. Live lows are
        always exact.
    device : str, int or torch.device
        "cpu", or a device to which batches are copied ahead of their use, from pinned memory on a
        stream of its own; "auto" takes the GPU that torch sees (CUDA or Apple's).
    workers, threads : int, optional
        Processes; by default this rank's share of the cores; 0 decodes in this process.
    decoder : str
        "opencv" or "pillow".

    Raises
    ------
    LoaderError, SetError
        As `PairLoader`.

    Examples
    --------
    >>> import gloam
    >>> loader = gloam.TorchLoader("SET", "val", batch_size=2, size=64, workers=0, device="cpu")
    >>> [tuple(normal.shape) for low, normal in loader]
    [(2, 3, 64, 64)]
    """

    _rooms: Rooms | None = None  # of its processes
    _ending: Any = None  # what ends them

    def __init__(
        self,
        data: PairSet | str | Path | Sequence[Any],
        split: str = "train",
        *,
        batch_size: int | None = None,
        size: int | tuple[int, int] | None = None,
        crop: Literal["resize", "random", "random-resized"] | None = None,
        augment: bool = False,
        pad: bool = False,
        dtype: Literal["float32", "float16", "uint8"] = "float32",
        value_range: tuple[float, float] = (0, 1),
        layout: Literal["CHW", "HWC"] = "CHW",
        framework: Literal["torch", "numpy", "cupy"] = "torch",
        shuffle: bool | None = None,
        shuffle_buffer: int = 4096,
        seed: int = 0,
        last_batch: Literal["drop", "partial", "even", "padded"] | None = None,
        keys: bool = False,
        labels: bool = False,
        normals: str | Path | None = None,
        live: bool | None = None,
        recipe: Recipe | str | None = None,
        draws: Literal["fresh", "set"] | None = None,
        exact: bool | None = None,
        cache: str | Path | None = None,
        cache_gb: float | None = None,
        device: str | int | torch.device = "auto",
        device_id: int | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        workers: int | None = None,
        threads: int | None = None,
        hw_decoder_load: float | None = None,
        prefetch: int = 4,
        decoder: Literal["opencv", "pillow"] = "opencv",
        **unknown: Unpack[Nothing],
    ) -> None:
        training = split == "train"
        processes = same_number(workers, threads)
        self._wanted = find_device(device, device_id)
        options = make_options(
            unknown,
            training,
            batch_size=batch_size,
            size=size,
            crop=crop,
            augment=augment,
            pad=pad,
            dtype=dtype,
            value_range=value_range,
            layout=layout,
            framework=framework,
            shuffle=shuffle,
            shuffle_buffer=shuffle_buffer,
            seed=seed,
            last_batch=last_batch,
            keys=keys,
            labels=labels,
            device="gpu" if self._wanted.kind == "gpu" else "cpu",
            threads=usable_cores() if processes is None else processes,
            hw_decoder_load=1.0 if hw_decoder_load is None else hw_decoder_load,
            prefetch=prefetch,
        )
        if decoder not in DECODERS:
            raise LoaderError(f"decoder {decoder!r}: must be opencv or pillow")
        held = open_data(data, normals)
        live = is_live(held, live, recipe=recipe, draws=draws, exact=exact)
        contents = cached_in(contents_of(held, split, live=live), cache, cache_gb)
        lows = live_lows(held, recipe, draws, seed, training) if live else None
        super().__init__(contents, options, "torch", rank, world_size, lows)
        self._columns = label_columns(held, contents) if labels else None
        self._dataset = Samples(self.contents, options, decoder, lows)
        self._loader: DataLoader[Any] | None = None
        # Begins at once to import what the processes need, side by side with this one.
        prepare_workers([__name__], self.num_workers + 1)

    @property
    def num_workers(self) -> int:
        """Processes that decode."""
        return self.options.threads

    @property
    def prefetch_factor(self) -> int | None:  # type: ignore[override]
        """Batches that each process makes ahead."""
        return self.options.prefetch if self.num_workers else None

    @property
    def dataset(self) -> PairDataset:
        """The pairs of all ranks."""
        return self._dataset

    @property
    def batch_sampler(self) -> Any:
        """What begins an epoch when it is iterated.

        It gives for each batch what `dataset` takes in place of numbers.
        """
        return _FreshEpochs(self)

    @property
    def collate_fn(self) -> Any:
        """What makes a batch of the samples of `dataset`."""
        return self._collate(self.options)

    def _collate(self, options: Options) -> Any:
        return Collate(options)

    @property
    def worker_init_fn(self) -> Any:
        """What is called in each process before its first sample."""
        return partial(_prepare_worker, environment())

    @property
    def device(self) -> torch.device:
        """Where batches come."""
        return (
            torch.device("cuda", self._wanted.current())
            if self._wanted.kind == "gpu"
            else torch.device(self._wanted.kind)
        )

    def _begin(self) -> Iterator[tuple[Any, ...]]:
        self._copy_ahead()
        device = self.device
        stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        ahead: tuple[Any, ...] | None = None
        memory = ReusedMemory()
        for batch in self._batches(device):
            room = batch[0] if isinstance(batch[0], Room) else None
            if self._rooms is not None and room is not None:
                batch = (*self._rooms.open(room), *batch[1:])
            with torch.cuda.stream(stream):
                images = (one.to(device, non_blocking=True) for one in batch[:2])
                copied = (*(values_of(one, self.options, memory) for one in images), *batch[2:])
            if self._rooms is not None and room is not None:
                self._rooms.give_back(room)
            if ahead is not None:
                yield _handed_out(ahead, stream)
            ahead = copied
        if ahead is not None:
            yield _handed_out(ahead, stream)

    def _batches(self, device: torch.device) -> Iterator[Any]:
        """Yield what processes make of the rest of the epoch.

        They are let go when one has ended, or when anything but a refusal came between: the next
        pass begins with new ones.
        """
        try:
            with main_left_alone():
                loader = self._processes(device)
                if self._rooms is not None:
                    self._rooms.begin()
                batches = iter(loader)
            for batch in batches:
                if isinstance(batch, GloamError):
                    raise batch
                if isinstance(batch[0], np.ndarray):
                    batch = converted(batch, torch.from_numpy)
                yield batch
        except (GloamError, GeneratorExit):
            raise
        except BaseException as error:
            lost = self._lost()
            self._let_go()
            if lost and isinstance(error, RuntimeError):
                raise LoaderError(
                    f"{self.contents.name}: a process that makes batches ended, perhaps because"
                    " memory ran out: take fewer workers or smaller batches; the next pass over the"
                    " loader starts new ones",
                    path=self.contents.name,
                ) from error
            raise

    def _lost(self) -> bool:
        """Return whether one of the processes has ended."""
        iterator: Any = None if self._loader is None else self._loader._iterator
        workers = getattr(iterator, "_workers", ())
        return not all(process.is_alive() for process in workers)

    def _processes(self, device: torch.device) -> DataLoader[Any]:
        """Return the DataLoader, whose processes live from epoch to epoch."""
        if self._lost():
            self._let_go()
        if self._loader is None:
            workers, collate = self.num_workers, self.collate_fn
            dataset: Any = self._dataset
            self._process = os.getpid() if workers else None
            if workers:  # bytes on their way: a quarter of the shared memory, and of what is copied
                levels = self.options.model_copy(update={"dtype": "uint8"})
                self._rooms = self._rooms_for(device)
                collate = self._collate(levels)
                if self._rooms is not None:
                    collate = Collate(levels, self._rooms)
                dataset, collate = ToldSamples(dataset), ToldBatches(collate)
            self._loader = DataLoader(
                dataset,
                batch_sampler=_RestOfEpoch(self),
                num_workers=workers,
                pin_memory=device.type == "cuda",
                persistent_workers=workers > 0,
                prefetch_factor=self.prefetch_factor,
                collate_fn=collate,
                worker_init_fn=self.worker_init_fn,
                multiprocessing_context=(
                    prepare_workers([__name__], workers + 1) if workers else None
                ),
            )
            self._ending = weakref.finalize(self, _end_processes, self._loader, os.getpid())
            self._ending.atexit = False  # multiprocessing ends them then
        return self._loader

    def _rooms_for(self, device: torch.device) -> Rooms | None:
        """Return rooms for batches of one size that values are made of, as those are copies."""
        options = self.options
        if options.size is None or options.dtype == "uint8" or device.type != "cpu":
            return None
        size = 2 * options.batch_size * 3 * math.prod(options.size)
        try:
            return Rooms(size, self.num_workers, options.prefetch)
        except RuntimeError:  # of torch: /dev/shm is small, as in containers; see `ToldBatches`
            return None

    def _moved(self) -> None:
        pass  # batches are made by their numbers

    def _free(self) -> None:
        self._let_go()

    def _let_go(self) -> None:
        """End the processes, and give back what they share."""
        if self._ending is not None:
            self._ending()
        self._loader, self._rooms, self._ending = None, None, None

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_loader": None, "_rooms": None, "_ending": None}

    def _places(self) -> Iterator[list[Place]]:
        """Yield what is left of the running epoch: batches of pairs."""
        epoch, count = self.epoch, self.contents.count
        order = epoch_order(count, self.options.seed, epoch, self.options.shuffle)
        for batch in range(self._batch, len(self)):
            numbers = order[self._places_of(batch) % count].tolist()
            yield [Place(self._pair(n), epoch, self._labels(n)) for n in numbers]

    def _labels(self, number: int) -> PairLabels | None:
        if self._columns is None:
            return None
        roles, mask = self._columns.roles, self._columns.mask(number)
        if mask is not None:
            mask = self.contents.nearest(mask)
        return PairLabels(self._columns.take([number]), roles, mask)

    def _pair(self, number: int) -> StoredPair:
        pair = self.contents.pairs[number]
        return pair if self.contents.cache is None else pair.moved(self.contents.nearest)


def _handed_out(batch: tuple[Any, ...], stream: Any) -> tuple[Any, ...]:
    if stream is not None:
        current = torch.cuda.current_stream(batch[0].device)
        current.wait_stream(stream)
        for images in batch[:2]:
            images.record_stream(current)
    return batch


def _prepare_worker(variables: dict[str, str], number: int) -> None:
    """Give a worker process one thread, and an end without C++ destructors.

    The processes are the parallelism. Destructors can abort in a worker that is stopped in
    mid-batch. It ends when the loader's process does, which Ctrl-C is for alone.
    """
    prepare_own_process()
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    take_environment(variables)
    multiprocessing.util.Finalize(None, os._exit, (0,), exitpriority=-100)


def _end_processes(loader: DataLoader[Any], parent: int) -> None:
    iterator: Any = loader._iterator  # None where there are no processes
    if iterator is not None and os.getpid() == parent:  # and not forked from it
        iterator._shutdown_workers()


class _RestOfEpoch:
    """Batches from the loader's place on.

    It does not keep the loader, whose DataLoader has it: freed as one cycle, queues would close
    before processes are told to end, and each be waited for 5 seconds.
    """

    def __init__(self, loader: TorchLoader) -> None:
        self._loader: TorchLoader = weakref.proxy(loader)
        self._kind = type(loader)

    def __iter__(self) -> Iterator[list[Place]]:
        return self._kind._places(self._loader)  # not a method of what is kept then

    def __len__(self) -> int:
        return len(self._loader)


class _FreshEpochs:
    """Each iteration is a pass of the loader, whose batches somebody else makes."""

    sampler = None  # mmengine looks for one to set the epoch of, which the loader counts by itself

    def __init__(self, loader: TorchLoader) -> None:
        self._loader = loader

    def __len__(self) -> int:
        return len(self._loader)

    def set_epoch(self, epoch: int) -> None:
        """Set the loader's epoch.

        Hugging Face's Trainer asks for it here when it goes on in mid-epoch.
        """
        self._loader.set_epoch(epoch)

    def __iter__(self) -> Iterator[list[Place]]:
        self._loader._pass = None
        self._loader._begin_pass()  # which makes nothing before its first batch is taken
        for places in self._loader._places():
            self._loader._count()
            yield places
        self._loader._end_epoch()
