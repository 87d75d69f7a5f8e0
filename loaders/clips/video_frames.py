"""The frames of clips of videos: parts decoded by DALI, or with PyAV by processes, and kept."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from torch.utils.dlpack import from_dlpack

from ...errors import ImageRefused, LoaderError
from ...manifests.clips.segments import Cut, Segments
from ...manifests.clips.video import decode_frames, decode_sequence
from ...storage.stores import AT_ONCE
from ...synth.kernels.arrays import Pixels
from ..dali.failures import DecodingFailed, last_words
from ..epoch_loader import EpochLoader
from ..order import Step
from ..prefetch import BegunAhead
from ..steps import DecodedStep
from .stored_clips import ClipContents
from .video_order import Groups, Runs, Schedule, VideoPart
from .video_processes import Memory, VideoProcesses

Check = Callable[[VideoPart, Sequence[Pixels]], None]
RECENT = 4  # runs of a pipeline that may be under way
PIPELINES = 4
"""DALI pipelines that decode videos on a GPU in parallel: one alone waits after each frame until
all of its decoders have finished, and gives 3,700 frames of 480 x 270 a second on an H200, with 8
decoders as with 24."""
_NEAR = 0.5  # levels by which decoders may differ
_COMPARED = 16  # frames
_RUNS_AHEAD = 2  # of each pipeline
_AHEAD = 2  # runs that are decoded while others are used: a window of shuffled clips is two
_MOST_AHEAD = 3 << 30  # bytes of more runs, where a run has fewer parts than there are processes


@dataclass
class VideoDecoder:
    """Decodes steps of clips of videos: each part once, whose frames stay while steps want them.

    decoders: functions of a stream, each of which returns the sequences of frames (F, H, W, 3) of
      its next run, part after part: arrays, or tensors on a GPU. Several ones take turns at runs.
    check: function of a part and its frames; called with the first part: raises an error if they
      are not its frames.
    name, by: name of what they are read from, and who decodes, for messages.
    end: function that ends the processes that decode or cut.
    """

    decoders: Sequence[Callable[[Any], Sequence[Any]]]
    on_gpu: bool
    runs: Runs
    steps: Iterator[Step]
    check: Check | None = None
    name: str = ""
    by: str = ""
    end: Callable[[], None] | None = None
    ahead = 0

    def __post_init__(self) -> None:
        self._held: dict[int, Any] = {}  # by run: sequences of frames
        self._made = self._done = 0

    def next(self, stream: Any = None) -> DecodedStep:
        """Return the next step.

        Raises LoaderError naming the video that is damaged, or DecodingFailed.
        """
        step = next(self.steps)
        try:
            return self._frames_of_step(step, stream)
        except Exception as error:  # RuntimeError of DALI, or whatever a source raised
            words = f"{self.name}: {self.by}: {last_words(error)}"
            raise self._find_damaged_video() or DecodingFailed(words, path=self.name) from error

    def _frames_of_step(self, step: Step, stream: Any) -> DecodedStep:
        schedule, batch, before = self.runs.of_batch(self._done)
        while self._made < before + schedule.needed(batch):
            self._decode_run(stream)
        places = [schedule.place(clip) for clip in schedule.batches[batch]]
        held = [self._held[before + run] for run, *_ in places]
        parts = [own[number] for own, (_, number, _) in zip(held, places, strict=True)]
        self._done += 1
        for run in list(self._held):
            if run < before or schedule.last(run - before) <= batch:
                del self._held[run]
        numbers, at = [own for *_, own in places], None
        images: list[Any] = []
        if self.on_gpu:
            shapes = [part.shape for part in parts]  # a method, of DALI's tensors
            shapes = [shape() if callable(shape) else shape for shape in shapes]
            begins = [int(part.data_ptr()) for part in parts]
            sizes, at = frame_places(shapes, begins, numbers)
        else:
            images = [part[i] for part, own in zip(parts, numbers, strict=True) for i in own]
            sizes = np.array([image.shape[:2] for image in images], np.int64)
        normal = np.arange(len(sizes))
        return DecodedStep(step, images, sizes, normal, normal, held, at)

    def close(self) -> None:
        """End the processes."""
        if self.end is not None:
            self.end()

    def _find_damaged_video(self) -> LoaderError | None:
        """Return what is wrong with a part of a video of the runs that may have been begun."""
        for part in self.runs.recent(RECENT * PIPELINES):
            try:
                decode_frames(part.video, part.times)
            except ImageRefused as refusal:
                name = part.video.member
                words = f"{self.name}: {name}: {refusal}; gloam build passes such clips"
                return LoaderError(f"{words} over, and ClipLoader reads the set", key=name)
        return None

    def _decode_run(self, stream: Any) -> None:
        made = self.decoders[self._made % len(self.decoders)](stream)
        if self.check is not None:
            first = np.asarray(from_dlpack(made[0]).cpu()) if self.on_gpu else made[0]
            schedule, run = self.runs.of_run(self._made)
            self.check(schedule.parts(run)[0], list(first))
            self.check = None
        self._held[self._made] = made
        self._made += 1


def frame_places(
    shapes: Sequence[Sequence[int]], begins: Sequence[int], numbers: Sequence[Sequence[int]]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
    """Return height and width (N, 2) and the address (N) of frames of sequences.

    shapes: sequence of (F, H, W, 3).
    begins: the address of each sequence.
    numbers: sequence of sequences of int; of the frames that are wanted of each.
    """
    counts = [len(own) for own in numbers]
    sizes = np.repeat(np.array([shape[1:3] for shape in shapes], np.int64), counts, axis=0)
    within = np.concatenate([np.asarray(own, np.int64) for own in numbers])
    at = np.repeat(np.array(begins, np.uint64), counts)
    return sizes, at + (within * 3 * sizes.prod(axis=1)).astype(np.uint64)


def check_against_pyav(part: VideoPart, frames: Sequence[Pixels]) -> None:
    """Check that frames of a video are those that PyAV decodes, by where they are bright.

    Raises LoaderError when one is nearer to another one.
    """
    name = part.video.member
    frames = frames[:_COMPARED]
    exact = decode_frames(part.video, part.times[:_COMPARED])
    if {frame.shape for frame in frames} != {frame.shape for frame in exact}:
        raise LoaderError.at(name, "its frames have another size than PyAV's")
    made, wanted = (np.stack(each).mean(axis=3, dtype=np.float32) for each in (frames, exact))
    wanted += made.mean() - wanted.mean()  # decoders may differ in levels
    apart = np.array([[np.abs(one - other).mean() for other in wanted] for one in made])
    if (np.diag(apart) > apart.min(axis=1) + _NEAR).any():
        raise LoaderError.at(name, "its frames are not those that PyAV decodes")


def _schedule_runs(loader: EpochLoader, groups: Groups, at_once: int) -> Runs:
    """Return what a loader wants from its place on, as runs of so many parts each."""
    order, share, contents = loader.order.ahead(), loader.share, loader.contents
    assert isinstance(contents, ClipContents)

    def schedule_of(epoch: int, batch: int) -> Schedule:
        steps = (order.step(epoch, n, share) for n in range(batch, order.batches(epoch, share)))
        numbers = [step.positions.number.tolist() for step in steps]
        return Schedule(numbers, groups.of_clip, contents.clips, at_once)

    return Runs(*loader.place, schedule_of)


def decode_by_pyav(loader: EpochLoader, groups: Groups, device_id: int | None) -> VideoDecoder:
    """Let worker processes decode; copy to a GPU if its number is given.

    groups: those of the loader's clips.

    Raises LoaderError when they cannot be started.
    """
    runs = _schedule_runs(loader, groups, groups.at_once)
    parts = PyavParts(runs, groups, loader.options.workers, device_id)
    how: dict[str, Any] = {"name": loader.name, "by": "PyAV", "end": parts.close}
    return VideoDecoder([parts], device_id is not None, runs, loader.steps_ahead(), **how)


def decode_by_dali(loader: EpochLoader, groups: Groups, device_id: int | None) -> VideoDecoder:
    """Let DALI decode the segments that worker processes cut; with 0 workers this one cuts.

    Raises LoaderError with what DALI says; also when processes cannot be started.
    """
    from ..dali.decoder import built
    from ..dali.pipelines import SIDE_BY_SIDE, external_clips

    on_gpu, options, name = device_id is not None, loader.options, loader.name
    workers, segments = options.workers, Segments(margins=on_gpu)
    pool = ThreadPoolExecutor(max(workers, AT_ONCE if loader.contents.remote else 1))
    count = PIPELINES if on_gpu else 1
    at_once = -(-groups.at_once // count)
    runs = _schedule_runs(loader, groups, at_once)
    processes = VideoProcesses(workers, 0) if workers else None
    cut = None if processes is None else partial(processes.cut, margins=on_gpu)
    given = partial(bytes_of, segments=segments, cut=cut)

    def source_of(turn: int) -> Callable[[Any], tuple[Any, ...]]:
        """Return what cuts the parts of every so many-th run, of pipelines that take turns."""

        def source(info: Any) -> tuple[Any, ...]:
            schedule, run = runs.of_run(count * info.iteration + turn)
            found = pool.map(given, schedule.parts(run))
            return tuple(map(list, zip(*found, strict=True)))

        return source

    common: dict[str, Any] = {
        "options": options,
        "batch_size": at_once,
        "num_threads": at_once if on_gpu else max(workers, 1),  # which wait for the GPU
        "device_id": device_id,
        "prefetch_queue_depth": _RUNS_AHEAD,
        **(SIDE_BY_SIDE if on_gpu else {}),
    }
    made = [external_clips(source_of(turn), **common) for turn in range(count)]
    decoders = [partial(_run_pipeline, built(one, name)) for one in made]

    def end() -> None:
        pool.shutdown(wait=False, cancel_futures=True)
        if processes is not None:
            processes.close()

    how: dict[str, Any] = {"name": name, "by": "DALI", "end": end}
    steps = loader.steps_ahead()
    return VideoDecoder(decoders, on_gpu, runs, steps, check_against_pyav, **how)


def bytes_of(
    part: VideoPart, segments: Segments, cut: Cut | None = None
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return a file that holds frames of a video, their numbers in it, their height and width.

    segments: those that were cut.
    cut: function of a video and times; cuts others, in place of `Segments.cut`.

    Raises ImageRefused when a frame is not there, or the video is damaged.
    """
    segment, numbers = segments.frames(part.video, part.times, cut)
    data = np.frombuffer(segment.data, np.uint8)
    return data, np.array(numbers, np.int32), np.array(segment.size, np.int32)


def _run_pipeline(pipeline: Any, stream: Any) -> Sequence[Any]:
    """Return the sequences of a pipeline's next run: arrays, or DALI's list on a GPU."""
    if stream is not None:
        sequences: Sequence[Any] = pipeline.run(stream)[0]
        return sequences
    (decoded,) = pipeline.run()
    return [np.asarray(decoded[i]) for i in range(len(decoded))]


class PyavParts:
    """Sequences of frames of parts of videos, run by run, decoded by PyAV.

    groups: groups of the clips.
    workers: number of decoding processes; with 0 a thread of this process decodes.
    device_id: number of the GPU that frames are copied to.
    """

    def __init__(
        self, runs: Runs, groups: Groups, workers: int, device_id: int | None = None
    ) -> None:
        self._runs, self._device = runs, device_id
        self._done = 0
        self._ahead = BegunAhead(self._begin, runs_ahead(groups, workers))
        self._threads = ThreadPoolExecutor(max(2 * workers, 1))  # some of which copy
        self._processes = VideoProcesses(workers, int(groups.sizes.max())) if workers else None
        self._locked = None if device_id is None else _Locked(device_id)

    def __call__(self, stream: Any = None) -> list[Any]:
        """Return the next run's sequences (F, H, W, 3).

        Raises ImageRefused when a frame cannot be decoded; LoaderError when a decoding process
        ended.
        """
        made = [one.result() for one in self._ahead.of(self._done)]
        self._done += 1
        return made

    def _begin(self, run: int) -> list[Future[Any]]:
        schedule, own = self._runs.of_run(run)
        return [self._threads.submit(self._frames_of_part, part) for part in schedule.parts(own)]

    def close(self) -> None:
        """End the threads and processes."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._processes is not None:
            self._processes.close()

    def _frames_of_part(self, part: VideoPart) -> Any:
        if self._processes is None:
            frames = decode_sequence(part.video, part.times, lambda size: np.empty(size, np.uint8))
        elif self._locked is None:
            frames = self._processes.decode(part)
        else:
            frames = self._processes.decode(part, self._locked.lock)
        return frames if self._device is None else _copy_to_gpu(frames, self._device)


def runs_ahead(groups: Groups, workers: int) -> int:
    """Return how many runs to decode ahead: a part for each process, if memory allows."""
    each = groups.at_once
    wanted, most = -(-workers // each), _MOST_AHEAD // (each * max(int(groups.sizes.max()), 1))
    return max(_AHEAD, min(wanted, most))


class _Locked:
    """Shared memory with locked pages, for asynchronous copies to a GPU.

    Pages stay locked for the lifetime of this object, as buffers are reused.
    """

    def __init__(self, device_id: int) -> None:
        self._device = device_id
        self._held: dict[int, Memory] = {}
        self._lock = threading.Lock()
        # A process that ends gives them back anyway, and has no CUDA then to ask.
        weakref.finalize(self, _unlock_pages, self._held).atexit = False

    def lock(self, number: int, memory: Memory) -> None:
        """Lock a buffer's pages at its first use; if CUDA refuses, copies are slower."""
        import torch

        with self._lock:
            if number in self._held:
                return
            self._held[number] = memory
        with torch.cuda.device(self._device):
            refused = torch.cuda.cudart().cudaHostRegister(memory.ctypes.data, memory.nbytes, 0)
        if int(refused):
            self._held[number] = memory[:0]


def _unlock_pages(held: dict[int, Memory]) -> None:
    import torch

    for memory in held.values():
        if memory.nbytes:
            torch.cuda.cudart().cudaHostUnregister(memory.ctypes.data)


def _copy_to_gpu(frames: npt.NDArray[np.uint8], device_id: int) -> Any:
    import torch

    own = torch.cuda.Stream(device_id)
    with torch.cuda.stream(own):
        made = torch.from_numpy(frames).to(f"cuda:{device_id}", non_blocking=True)
    own.synchronize()  # the memory is filled anew
    return made
