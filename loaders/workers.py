"""The samples of a loader, decoded by number, and batches of them that worker processes make.

The processes are a torch DataLoader's, for machines without DALI.
"""

from __future__ import annotations

import math
import multiprocessing.util
import os
import warnings
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import itemgetter, methodcaller
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from ..engines.process import begin_worker, main_left_alone, may_have_children, prepare_workers
from ..errors import GloamError, GloamWarning, LoaderError
from ..manifests.sets.split_files import StepLabels
from ..storage.store_requests import environment
from ..storage.stores import AT_ONCE
from ..synth.kernels.arrays import Pixels
from .augment import CropFlip, crop_numbers, draw_crop
from .backend import Choice, Device, converted
from .buffers import BufferHandle, ReusedMemory, SharedBufferPool
from .components import OpenComponent
from .dali_backend import DaliBackend
from .epoch_loader import Backend, EpochLoader, ReadyBatches
from .labels import begin_labels
from .mixture import at
from .options import Options
from .order import Step
from .render.cpu_renderer import BatchTensors, StepMaker, sized, turned_shape, values_of
from .steps import RenderedStep, groups_of, joint_numbers, rendered_step
from .stored_pairs import StoredSample


class StoredStep(NamedTuple):
    """All that a process needs to make a step, so that none holds a list of the set.

    bright: the same of the other list of unpaired pictures; None without.
    """

    step: Step
    samples: list[StoredSample]
    bright: list[StoredSample | None]
    labels: StepLabels | None = None


@dataclass(frozen=True, eq=False)
class Samples(Dataset[Any]):
    """The samples of a loader, of all ranks: decoded, by number, or as batches, by `StoredStep`.

    sizes: dict of step to Options.
    count: samples of an epoch.
    """

    components: Sequence[OpenComponent]
    sizes: Mapping[int, Options]
    decoder: str
    count: int

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, place: Any) -> Any:
        """Return a sample, decoded: its images are uint8 RGB (H, W, 3), or lists of frames.

        Raises LoaderError naming an image that cannot be read or decoded; IndexError beyond the
        last sample.
        """
        if isinstance(place, StoredStep):
            return self.rendered(place).as_batch()
        if isinstance(place, tuple):  # a batch that is made; see `ReadyBatches`
            return place
        whole = sum(one.count for one in self.components)
        count = whole if len(self.components) > 1 else self.count
        if not -count <= place < count:
            raise IndexError(f"index {place} is out of range for {count:,} samples")
        left = place % count
        for component in self.components:
            if left < component.contents.count:
                return self._decode_sample(component, left)
            left -= component.contents.count
        raise IndexError(place)

    def rendered(
        self,
        stored: StoredStep,
        levels: Options | None = None,
        buffers: SharedBufferPool | None = None,
    ) -> RenderedStep:
        """Make a step; out of a store its images are read side by side.

        levels: options of uint8, where values are made of levels later.
        buffers: of those: one is in place of low and normal, while there is one.
        """
        step, samples = stored.step, stored.samples
        options = at(self.sizes, step.number)
        if any(one.remote for one in samples):
            with ThreadPoolExecutor(AT_ONCE) as pool:
                samples = list(pool.map(methodcaller("fetched"), samples))
        groups = [
            group._replace(keys=[samples[row].key for row in group.rows.tolist()])
            for group in groups_of(step)
        ]
        random = joint_numbers(groups, lambda own: crop_numbers(options, own.epoch, own.keys))
        maker = StepMaker(self.components, options, step, groups, sized)
        made, maps, crops = list[tuple[tuple[Pixels, ...], CropFlip]](), [], []
        for row, one in enumerate(step.positions):  # so that few whole images are held at once
            component, bright = self.components[one.component], stored.bright[row]
            lows, normals = self._decode_images(component, samples[row], bright)
            crop = low_crop = draw_crop(options, random[row], *lows[0].shape[:2])
            if one.bright is not None and bright is not None:
                numbers = crop_numbers(options, one.bright[1], [bright.key])[0]
                numbers[4:] = random[row, 4:]
                crop = draw_crop(options, numbers, *normals[0].shape[:2])
            crops.append(crop)
            for i, pair in enumerate(zip(lows, normals, strict=True), row * len(normals)):
                made.append((maker.images(i, pair, normals[0], (low_crop, crop)), crop))
            maps.append(maker.maps(row, normals[0], crop))
        shapes = [turned_shape(frame[0].shape, crop) for frame, crop in made]
        batch = BatchTensors(levels or options, shapes, len(made[0][0]), buffers)
        for number, (frame, crop) in enumerate(made):
            batch.place(number, frame, crop)
        named = groups if options.keys else None
        labels, extras = stored.labels, maker.extras(maps)
        moved = begin_labels(labels, np.array(crops, np.int64), options)()
        if extras and "draw" in extras:
            extras["draw"]["records"] = list(extras["draw"]["records"])
        return rendered_step(self.components, step, batch.tensors(), named, moved, extras)

    def _decode_images(
        self, component: OpenComponent, sample: StoredSample, bright: StoredSample | None
    ) -> tuple[list[Pixels], list[Pixels]]:
        """Decode the lows and normals of a sample, or its dark and its bright picture."""
        lows, normals = component.contents.images_of(sample, self.decoder)
        if component.bright is not None and bright is not None:
            normals = component.bright.normals_of(bright)
        return lows, normals

    def _decode_sample(self, component: OpenComponent, number: int) -> Any:
        contents, live, bright = component.contents, component.lows(0), component.bright
        sample = contents.pair(number)
        other = None if bright is None else bright.pair(number % bright.count)
        lows, normals = self._decode_images(component, sample, other)
        if component.classes is not None:
            return normals[0], int(component.classes[number])
        if live is not None:
            maker, lit_as = live.maker([sample.key], 0, len(normals)), normals[0]
            lows = [
                maker.low(i, one, None, lit_as if len(normals) > 1 else None)
                for i, one in enumerate(normals)
            ]
        return (lows, normals) if contents.of_clips else (lows[0], normals[0])


@dataclass(frozen=True, eq=False)
class OwnSteps(Dataset[Any]):
    """Steps that a loader's own processes make: a refusal is handed over in place of one.

    Raised there, it would come with all of the process's trace in its message. A batch that shared
    memory has no room for goes through a pipe, as NumPy's arrays do.

    levels, buffers: see `Samples.rendered`.
    """

    samples: Samples
    levels: Options | None
    buffers: SharedBufferPool | None

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, stored: StoredStep) -> Any:
        """Return a step, made, or the error that it is refused with."""
        try:
            made = self.samples.rendered(stored, self.levels, self.buffers)
        except GloamError as refusal:
            return refusal
        first = made.images[0]
        kept = isinstance(first, BufferHandle) or torch.utils.data.get_worker_info() is None
        return made if kept or first.is_shared() else converted(made, np.asarray)


def stored_steps(loader: Any) -> Iterator[list[StoredStep]]:
    """Yield what is left of a loader's running epoch, each batch as the one item of a list."""
    epoch, share, components = loader.epoch, loader.share, loader.components
    for batch in range(loader.place[1], len(loader)):
        step = loader.order.step(epoch, batch, share)
        samples, brights = [], []
        for one in step.positions:
            component, other = components[one.component], one.bright
            samples.append(component.contents.pair(one.number))
            apart = component.bright is not None and other is not None
            brights.append(component.bright.pair(other[0]) if apart else None)
        yield [StoredStep(step, samples, brights, components[0].labels_of(step))]


class WorkerBackend(Backend):
    """Worker processes: a torch DataLoader that persists over epochs."""

    def __init__(self, choice: Choice, wanted: Device, options: Options) -> None:
        super().__init__(choice, wanted)
        self._workers, self._prefetch = options.workers, options.prefetch
        self._loader: DataLoader[Any] | None = None
        self._buffers: SharedBufferPool | None = None  # of its processes
        self._ending: Any = None  # what ends them
        # Imports the modules of worker processes beside what follows here.
        prepare_workers([__name__], self.num_workers + 1)

    @property
    def num_workers(self) -> int:  # type: ignore[override]
        """Processes that decode; none where this one is a daemon, which may have none."""
        return self._workers if may_have_children() else 0

    @property
    def worker_init_fn(self) -> Any:
        """The function that each process calls before its first sample."""
        return partial(_prepare_worker, environment())

    @property
    def prefetch_factor(self) -> int | None:  # type: ignore[override]
        """Batches that each process makes ahead."""
        return self._prefetch if self.num_workers else None

    def batch_sampler(self, loader: EpochLoader) -> Any:
        """Return an iterable of what the loader's dataset takes in place of numbers."""
        return _FreshEpochs(loader)

    def batches(self, loader: EpochLoader) -> Iterator[tuple[Any, ...]]:
        """Yield the batches that are left of the running epoch, on their device."""
        loader.copy_ahead()
        options, device = loader.options, self.device
        stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        memory = ReusedMemory()

        def copied(made: RenderedStep) -> tuple[Any, ...]:
            images: Any = made.images
            buffer = images[0] if isinstance(images[0], BufferHandle) else None
            if self._buffers is not None and buffer is not None:
                images = self._buffers.open(buffer)
            with torch.cuda.stream(stream):
                there = [one.to(device, non_blocking=True) for one in images]
                values = tuple(values_of(one, options, memory) for one in there)
                extras = converted(made.extras, lambda one: one.to(device))
                batch = made._replace(images=values, extras=extras).as_batch()
            if self._buffers is not None and buffer is not None:
                self._buffers.give_back(buffer)
            return batch

        yield from copied_ahead(map(copied, self._rendered_steps(loader, device)), stream)

    def close(self) -> None:
        """End the processes and free the shared memory."""
        if self._ending is not None:
            self._ending()
        self._loader, self._buffers, self._ending = None, None, None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_loader": None, "_buffers": None, "_ending": None}

    def _rendered_steps(self, loader: EpochLoader, device: torch.device) -> Iterator[RenderedStep]:
        """Yield what processes make of the rest of the epoch.

        They are let go when one has ended, or when anything but a refusal came between: the next
        pass begins with new ones.
        """
        try:
            with main_left_alone():
                processes = self._data_loader(loader, device)
                if self._buffers is not None:
                    self._buffers.begin()
                batches = iter(processes)
            for batch in batches:
                if isinstance(batch, GloamError):
                    raise batch
                arrays = isinstance(batch.images[0], np.ndarray)
                yield converted(batch, torch.from_numpy) if arrays else batch
        except (GloamError, GeneratorExit):
            raise
        except BaseException as error:
            lost = isinstance(error, ConnectionError | EOFError) or (
                self._has_lost_one() and isinstance(error, RuntimeError | OSError)
            )
            self.close()
            if lost:
                raise LoaderError.at(
                    loader.name,
                    "a process that makes batches ended, perhaps because"
                    " memory ran out: take fewer workers or smaller batches; the next pass over the"
                    " loader starts new ones",
                ) from error
            raise

    def _has_lost_one(self) -> bool:
        """Return whether one of the processes has ended."""
        iterator: Any = None if self._loader is None else self._loader._iterator
        workers = getattr(iterator, "_workers", ())
        return not all(process.is_alive() for process in workers)

    def _data_loader(self, loader: EpochLoader, device: torch.device) -> DataLoader[Any]:
        """Return the DataLoader, whose processes live from epoch to epoch."""
        if self._has_lost_one():
            self.close()
        if self._loader is None:
            workers = self.num_workers
            if workers < self._workers:
                warnings.warn(
                    "this process is a daemon, such as a worker of another DataLoader, and may"
                    " start no workers: it decodes by itself, as with workers=0",
                    GloamWarning,
                    stacklevel=2,
                )
            # A quarter of the bytes on their way, in shared memory, copied, and in fresh pages; in
            # this process there is no way. What is padded is 0 of levels, but may be -0 of values.
            here = not workers and device.type == "cpu" and not loader.options.pad
            levels = None if here else loader.options.model_copy(update={"dtype": "uint8"})
            if workers:
                loader.used()
                self._buffers = self._shared_buffers(loader, device)
            self._loader = DataLoader(
                OwnSteps(loader.dataset, levels, self._buffers),
                batch_sampler=_RestOfEpoch(loader),
                num_workers=workers,
                pin_memory=device.type == "cuda",
                persistent_workers=workers > 0,
                prefetch_factor=self.prefetch_factor,
                collate_fn=itemgetter(0),  # it is a batch already
                worker_init_fn=self.worker_init_fn,
                multiprocessing_context=(
                    prepare_workers([__name__], workers + 1) if workers else None
                ),
            )
            self._ending = weakref.finalize(self, _end_processes, self._loader, os.getpid())
            self._ending.atexit = False  # multiprocessing ends them then
        return self._loader

    def _shared_buffers(self, loader: EpochLoader, device: torch.device) -> SharedBufferPool | None:
        """Return buffers for pairs of one size that values are made of, as those are copies."""
        options, sides = loader.options, [one.size for one in loader.sizes.values()]
        pairs = not (loader.components[0].single or loader.contents.of_clips)
        if not pairs or options.dtype == "uint8" or device.type != "cpu" or not all(sides):
            return None
        size = 2 * options.batch_size * 3 * max(math.prod(side) for side in sides if side)
        try:
            return SharedBufferPool(size, self.num_workers, options.prefetch)
        except RuntimeError:  # of torch: /dev/shm is small, as in containers; `batch_or_error`
            return None


def copied_ahead(batches: Iterable[tuple[Any, ...]], stream: Any) -> Iterator[tuple[Any, ...]]:
    """Yield batches that are copied on a stream of torch's, each once the next one is begun."""
    ahead: tuple[Any, ...] | None = None
    for batch in chain(batches, [None]):
        if ahead is not None:
            yield _handed_out(ahead, stream)
        ahead = batch


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
    begin_worker(variables)
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

    def __init__(self, loader: EpochLoader) -> None:
        self._loader: EpochLoader = weakref.proxy(loader)

    def __iter__(self) -> Iterator[list[Any]]:
        return stored_steps(self._loader)  # not a method of what is kept then

    def __len__(self) -> int:
        return len(self._loader)


class _FreshEpochs(ReadyBatches):
    """The same of steps, which that DataLoader makes; each iteration is a pass."""

    def __iter__(self) -> Iterator[list[Any]]:
        self._loader._pass = None
        self._loader._begin_pass()  # which makes nothing before its first batch is taken
        for steps in stored_steps(self._loader):
            self._loader._count()
            yield steps
        self._loader._end_epoch()


def set_up(
    loader: EpochLoader,
    choice: Choice,
    wanted: Device,
    decoder: str = "opencv",
    here: type[DaliBackend] = DaliBackend,
    **more: Any,
) -> None:
    """Give a loader its dataset, and what makes batches of that.

    decoder: of `dataset[i]` and of worker processes.
    here: the backend that decodes in this process.
    **more: options of that.
    """
    loader.dataset = Samples(loader.components, loader.sizes, decoder, loader.order.count)
    if choice.backend == "torch":
        loader.backend = WorkerBackend(choice, wanted, loader.options)
    else:
        loader.backend = here(choice, wanted, **more)
