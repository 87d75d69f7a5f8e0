"""Loaders whose batches worker processes make: a torch DataLoader, for machines without DALI."""

from __future__ import annotations

import multiprocessing.util
import os
import warnings
import weakref
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from ..engines.forkserver import prepare_workers
from ..engines.process import (
    begin_child,
    main_left_alone,
    may_have_children,
    prepare_own_process,
)
from ..errors import GloamError, GloamWarning, LoaderError
from ..storage.store_requests import environment, take_environment
from .devices import Device, converted, find_device
from .epoch_loader import EpochLoader, ReadyBatches
from .memory.reused import ReusedMemory
from .memory.shared_buffers import BufferHandle, SharedBufferPool
from .options import Options, make_options
from .ranks import decoder_load, usable_cores
from .samples import ToldSamples, told_batch, values_of


class WorkerLoader(EpochLoader):
    """A loader with worker processes: a torch DataLoader that persists over epochs.

    Subclasses set `_dataset`, whose samples `collate_fn` collates, and call `_prepare`.
    """

    _dataset: Any
    _wanted: Device
    _loader: DataLoader[Any] | None = None
    _rooms: SharedBufferPool | None = None  # of its processes
    _ending: Any = None  # what ends them

    def _options(self, given: Mapping[str, Any], training: bool, live: bool) -> Options:
        """Find the device, and validate the options.

        Raises LoaderError when there is no such device, or an option is wrong.
        """
        self._wanted = find_device(given.get("device", "auto"))
        workers = given.get("workers")
        return make_options(
            {"hw_decoder_load": decoder_load(live), **given},
            training,
            device="gpu" if self._wanted.kind == "gpu" else "cpu",
            workers=usable_cores() if workers is None else workers,
        )

    def _prepare(self) -> None:
        """Start importing the modules of worker processes, in parallel."""
        prepare_workers([__name__], self.num_workers + 1)

    @property
    def num_workers(self) -> int:
        """Processes that decode; none where this one is a daemon, which may have none."""
        return self.options.workers if may_have_children() else 0

    @property
    def prefetch_factor(self) -> int | None:  # type: ignore[override]
        """Batches that each process makes ahead."""
        return self.options.prefetch if self.num_workers else None

    @property
    def dataset(self) -> Any:
        """The samples of all ranks."""
        return self._dataset

    @property
    def batch_sampler(self) -> Any:
        """Iterable over an epoch's batches: of each what `dataset` takes in place of numbers."""
        return _FreshEpochs(self)

    @property
    def collate_fn(self) -> Any:
        """The function that makes a batch of the samples of `dataset`."""
        return self._collate(self.options, None)

    @abstractmethod
    def _collate(self, options: Options, rooms: SharedBufferPool | None) -> Any:
        """Return what makes a batch of samples, in shared memory where there is some."""

    @property
    def worker_init_fn(self) -> Any:
        """The function that each process calls before its first sample."""
        return partial(_prepare_worker, environment())

    @property
    def device(self) -> torch.device:
        """The device of batches."""
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
            room = batch[0] if isinstance(batch[0], BufferHandle) else None
            if self._rooms is not None and room is not None:
                batch = (*self._rooms.open(room), *batch[1:])
            with torch.cuda.stream(stream):
                images = (one.to(device, non_blocking=True) for one in batch[:2])
                copied = (*(values_of(one, self.options, memory) for one in images), *batch[2:])
                if self.options.give:
                    copied = (*copied[:-1], converted(copied[-1], lambda one: one.to(device)))
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
            lost = isinstance(error, ConnectionError | EOFError) or (
                self._lost() and isinstance(error, RuntimeError | OSError)
            )
            self._free()
            if lost:
                raise LoaderError.at(
                    self.contents.name,
                    "a process that makes batches ended, perhaps because"
                    " memory ran out: take fewer workers or smaller batches; the next pass over the"
                    " loader starts new ones",
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
            self._free()
        if self._loader is None:
            workers, collate = self.num_workers, self.collate_fn
            if workers < self.options.workers:
                warnings.warn(
                    "this process is a daemon, such as a worker of another DataLoader, and may"
                    " start no workers: it decodes by itself, as with workers=0",
                    GloamWarning,
                    stacklevel=2,
                )
            dataset: Any = self._dataset
            self._process = os.getpid() if workers else None
            if workers:  # bytes on their way: a quarter of the shared memory, and of what is copied
                levels = self.options.model_copy(update={"dtype": "uint8"})
                self._rooms = self._buffers_for(device)
                collate = self._collate(levels, self._rooms)
                dataset, collate = ToldSamples(dataset), partial(told_batch, collate)
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

    def _buffers_for(self, device: torch.device) -> SharedBufferPool | None:
        """Return shared memory for batches of one size; None if batches are sent otherwise."""
        return None

    def _free(self) -> None:
        """End the processes and free the shared memory."""
        if self._ending is not None:
            self._ending()
        self._loader, self._rooms, self._ending = None, None, None

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_loader": None, "_rooms": None, "_ending": None}

    @abstractmethod
    def _places(self) -> Iterator[list[Any]]:
        """Yield the remaining batches of the running epoch, as lists of indices into `dataset`."""


def _handed_out(batch: tuple[Any, ...], stream: Any) -> tuple[Any, ...]:
    if stream is not None:
        current = torch.cuda.current_stream(batch[0].device)
        current.wait_stream(stream)
        converted(batch, lambda one: one.record_stream(current) if one.is_cuda else None)
    return batch


def _prepare_worker(variables: dict[str, str], number: int) -> None:
    """Prepare a worker process: one thread, and an exit without C++ destructors.

    Processes give the parallelism. Destructors can abort in a worker that is stopped in mid-batch.
    The worker ignores Ctrl-C and ends with the loader's process.
    """
    prepare_own_process()
    begin_child()
    take_environment(variables)
    multiprocessing.util.Finalize(None, os._exit, (0,), exitpriority=-100)


def _end_processes(loader: DataLoader[Any], parent: int) -> None:
    iterator: Any = loader._iterator  # None where there are no processes
    if iterator is not None and os.getpid() == parent:  # and not forked from it
        iterator._shutdown_workers()


class _RestOfEpoch:
    """Batch sampler of the rest of the loader's epoch.

    It holds a weak reference to the loader, whose DataLoader holds it: freed as one cycle, queues
    would close before processes are told to end, and each would be waited for 5 seconds.
    """

    def __init__(self, loader: WorkerLoader) -> None:
        self._loader: WorkerLoader = weakref.proxy(loader)
        self._kind = type(loader)

    def __iter__(self) -> Iterator[list[Any]]:
        return self._kind._places(self._loader)  # not a method of what is kept then

    def __len__(self) -> int:
        return len(self._loader)


class _FreshEpochs(ReadyBatches):
    """The same of places, whose samples that DataLoader makes; each iteration is a pass."""

    _loader: WorkerLoader

    def __iter__(self) -> Iterator[list[Any]]:
        self._loader._pass = None
        self._loader._begin_pass()  # which makes nothing before its first batch is taken
        for places in self._loader._places():
            self._loader._count()
            yield places
        self._loader._end_epoch()
