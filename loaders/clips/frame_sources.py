"""The decoded frames of a batch of clips: images that DALI gives, or frames of parts of videos."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from torch.utils.dlpack import from_dlpack

from ...errors import ImageRefused, LoaderError
from ...manifests.clips.video import decode_frames
from ...synth.kernels.arrays import Pixels
from ..dali.failures import last_words
from ..order import Step
from ..steps import DecodedStep
from .videos.order import Runs, VideoPart

Check = Callable[[VideoPart, Sequence[Pixels]], None]
RECENT = 4  # runs of a pipeline that may be under way
PIPELINES = 4
"""DALI pipelines that decode videos on a GPU in parallel: one alone waits after each frame until
all of its decoders have finished, and gives 3,700 frames of 480 x 270 a second on an H200, with 8
decoders as with 24."""
_NEAR = 0.5  # levels by which decoders may differ
_COMPARED = 16  # frames


class Frames(NamedTuple):
    """The frames of a batch, clip after clip.

    images: list of uint8 arrays (H, W, 3); on the CPU.
    sizes: int64 array (N, 2); height, width of each.
    at: uint64 array (N); the address of each, on a GPU.
    held: what keeps that memory.
    """

    images: list[Pixels]
    sizes: npt.NDArray[np.int64]
    at: npt.NDArray[np.uint64]
    held: Any = None


class DecodingFailed(LoaderError):
    """A decoder fails at clips that another one may decode."""


class _At(NamedTuple):
    """A frame on a GPU, by its address alone."""

    address: int

    def data_ptr(self) -> int:
        return self.address


class VideoDecoder:
    """Decodes steps of clips of videos.

    by: who decodes, for messages.
    """

    ahead = 0

    def __init__(self, videos: Videos, steps: Iterator[Step], by: str) -> None:
        self._videos, self._steps, self._by = videos, steps, by

    def next(self, stream: Any = None) -> DecodedStep:
        """Return the next step.

        Raises LoaderError naming the video that is damaged, or DecodingFailed.
        """
        step = next(self._steps)
        try:
            frames = self._videos.next(stream)
        except Exception as error:  # RuntimeError of DALI, or whatever a source raised
            name = self._videos.name
            words = f"{name}: {self._by}: {last_words(error)}"
            raise self._videos.damage() or DecodingFailed(words, path=name) from error
        images: Any = frames.images or [_At(int(one)) for one in frames.at]
        normal = np.arange(len(frames.sizes))
        return DecodedStep(step, images, frames.sizes, normal, normal, frames.held)

    def close(self) -> None:
        """End what decodes."""
        self._videos.close()


class Videos:
    """Frames of parts of videos, which are decoded once and stay while batches want them.

    decoders: functions of a stream, each of which returns the sequences of frames (F, H, W, 3) of
      its next run, part after part: arrays, or tensors on a GPU. Several ones take turns at runs.
    check: function of a part and its frames; called with the first part: raises an error if they
      are not its frames.
    name: name of what they are read from.
    end: function that ends the processes that decode or cut.
    """

    def __init__(
        self,
        decoders: Sequence[Callable[[Any], Sequence[Any]]],
        on_gpu: bool,
        runs: Runs,
        check: Check | None = None,
        *,
        name: str = "",
        end: Callable[[], None] | None = None,
    ) -> None:
        self._decoders, self._on_gpu, self._runs = decoders, on_gpu, runs
        self._check, self.name, self._end = check, name, end
        self._held: dict[int, Any] = {}  # by run: sequences of frames
        self._made = self._done = 0

    def next(self, stream: Any = None) -> Frames:
        """Return the frames of the next batch."""
        schedule, batch, before = self._runs.of_batch(self._done)
        while self._made < before + schedule.needed(batch):
            self._decode(stream)
        places = [schedule.place(clip) for clip in schedule.batches[batch]]
        parts = [(self._held[before + run], number) for run, number, _ in places]
        self._done += 1
        for run in list(self._held):
            if run < before or schedule.last(run - before) <= batch:
                del self._held[run]
        if not self._on_gpu:
            chosen = zip(parts, places, strict=True)
            return _on_host([run[n][i] for (run, n), (*_, own) in chosen for i in own])
        shapes = [_shape_of(run[number]) for run, number in parts]
        begins = [int(run[number].data_ptr()) for run, number in parts]
        sizes, at = frame_places(shapes, begins, [own for *_, own in places])
        return Frames([], sizes, at, [run for run, _ in parts])

    def close(self) -> None:
        """End the processes."""
        if self._end is not None:
            self._end()

    def damage(self) -> LoaderError | None:
        """Return what is wrong with a part of a video of the runs that may have been begun."""
        for part in self._runs.recent(RECENT * PIPELINES):
            try:
                decode_frames(part.video, part.times)
            except ImageRefused as refusal:
                name = part.video.member
                words = f"{self.name}: {name}: {refusal}; gloam build passes such clips"
                return LoaderError(f"{words} over, and ClipLoader reads the set", key=name)
        return None

    def _decode(self, stream: Any) -> None:
        made = self._decoders[self._made % len(self._decoders)](stream)
        if self._check is not None:
            first = np.asarray(from_dlpack(made[0]).cpu()) if self._on_gpu else made[0]
            schedule, run = self._runs.of_run(self._made)
            self._check(schedule.parts(run)[0], list(first))
            self._check = None
        self._held[self._made] = made
        self._made += 1


def _shape_of(sequence: Any) -> tuple[int, ...]:
    shape = sequence.shape  # a method, of DALI's tensors
    return tuple(shape() if callable(shape) else shape)


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


def _on_host(images: list[Pixels]) -> Frames:
    sizes = np.array([image.shape[:2] for image in images], np.int64)
    return Frames(images, sizes, np.zeros(len(images), np.uint64))


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
