"""Encoded clips: the frames of pictures, or parts of videos."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from ...errors import ImageRefused
from ...manifests.clips.segments import Segments
from ...manifests.clips.video import probe_video
from ...manifests.clips.windows import frame_files
from ...manifests.sources import Location
from ...manifests.sources.containers import read
from ...storage.stores import AT_ONCE
from ..order import Step
from ..read import BegunAhead, Bytes, EncodedStep
from ..stored_pairs import read_extent, read_together
from .stored_clips import ClipContents, StoredClip, by_video, clip_lows

_PICTURES = (".jpg", ".jpeg", ".png")
_LOOKING = 8  # threads that look into videos
_AHEAD = 2  # steps that are read, and whose lows are decoded, before DALI takes them


class ClipSource:
    """The encoded frames of one step after the other: the function of DALI's external source.

    One call a clip keeps threads from waiting for the interpreter's lock.

    steps: endless.
    decode_lows: decode lows here, not by DALI.
    """

    def __init__(
        self, contents: ClipContents, steps: Iterator[Step], threads: int, *, decode_lows: bool
    ) -> None:
        self.begun: deque[EncodedStep] = deque()  # those that were given, and not taken back yet
        self._contents, self._steps, self._decode_lows = contents, steps, decode_lows
        self._pool = ThreadPoolExecutor(max(threads, AT_ONCE if contents.remote else 1))
        self._ahead, self._done = BegunAhead(self._begin, _AHEAD), 0

    def __call__(self) -> list[Bytes]:
        """Return the frames of the next step: uint8 arrays of encoded bytes."""
        step, tasks = self._ahead.of(self._done)
        self._done += 1
        nothing = np.zeros(0, np.int64)
        self.begun.append(EncodedStep(step, [], nothing, nothing, list))  # if one is damaged
        clips = [task.result() for task in tasks]
        encoded: list[Bytes] = []
        pixels: list[Any] = []
        low: list[int] = []
        normal: list[int] = []
        for lows, normals in clips:
            if self._decode_lows:
                pixels += lows
            else:
                low += range(len(encoded), len(encoded) + len(lows))
                encoded += lows
            normal += range(len(encoded), len(encoded) + len(normals))
            encoded += normals
        if self._decode_lows:
            low = [len(encoded) + i for i in range(len(pixels))]
        places = np.array(low or normal), np.array(normal)
        self.begun[-1] = EncodedStep(step, encoded, *places, lambda: pixels)
        return encoded

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _begin(self, number: int) -> tuple[Step, list[Future[Any]]]:
        step, clips = next(self._steps), self._contents.clips
        return step, [self._pool.submit(self._one, clips[one.number]) for one in step.positions]

    def _one(self, clip: StoredClip) -> tuple[Sequence[Any], list[Bytes]]:
        """Read the lows of a clip, decoded or not, and its normals."""
        read, count = read_frames(clip), len(clip.lows)
        lows: Sequence[Any] = read[:count]
        return clip_lows(read[:count]) if self._decode_lows else lows, read[count:]


def read_frames(clip: StoredClip) -> list[Bytes]:
    """Read the lows of a clip, then its normals."""
    if clip.place is not None:
        frames: Sequence[bytes] = [read(file) for file in frame_files(clip.place) or ()]
    else:
        frames = read_together((*clip.lows, *clip.normals))
    return [np.frombuffer(data, np.uint8) for data in frames]


def read_first_normal(clip: StoredClip) -> Bytes:
    """Read the first normal of a clip of pictures."""
    if clip.place is None:
        return np.frombuffer(read_extent(clip.normals[0]), np.uint8)
    return np.frombuffer(read((frame_files(clip.place) or [])[0]), np.uint8)


def of_pictures(clip: StoredClip) -> bool:
    """Return whether the frames of a clip are JPEGs or PNGs."""
    if clip.place is None:
        return True
    files = frame_files(clip.place)
    return files is not None and all(file.member.lower().endswith(_PICTURES) for file in files)


def is_of_video(clip: StoredClip) -> bool:
    """Return whether a clip is one of a video."""
    return clip.place is not None and frame_files(clip.place) is None


def has_videos(contents: ClipContents) -> bool:
    """Return whether all clips are those of videos."""
    return contents.layout is None and all(map(is_of_video, contents.clips))


def beyond_dali(clips: Sequence[StoredClip], on_gpu: bool) -> str:
    """Return why DALI cannot decode all of some clips; "" where it can.

    The first frame of each video is decoded, and another one in its middle, to see what it is.
    """
    if clips and clips[0].lows:
        return "reads no lists of pairs"
    if all(map(of_pictures, clips)):
        return ""
    if not all(map(is_of_video, clips)):
        return "reads JPEGs and PNGs, or videos, but not both, nor other files"
    from nvidia.dali import fn

    from ..dali import pipelines

    if not hasattr(fn.decoders, "video"):
        return "of this version does not decode videos out of memory"
    codecs = pipelines.GPU_CODECS if on_gpu else pipelines.CPU_CODECS
    videos, segments = by_video(clips), Segments(margins=on_gpu)

    def look(video: Location) -> str:
        try:
            return look_into(video)
        except ImageRefused as refusal:
            return f"{video.member}: {refusal}"

    def look_into(video: Location) -> str:
        facts = probe_video(video)
        if facts.codec not in codecs:
            return f"{video.member} is {facts.codec}; on this device it decodes {', '.join(codecs)}"
        if facts.form not in pipelines.PIXEL_FORMS:
            return f"{video.member} has pixels of {facts.form}, not of 8 bits and 4:2:0"
        if not facts.bt601 or not facts.srgb:
            return f"{video.member} has colours that are not those of BT.601"
        if not facts.upright or any(side % 2 for side in facts.size):
            return f"{video.member} is turned, interlaced or of odd size"
        _, times = videos[video][len(videos[video]) // 2]
        astray = segments.cut(video, times).astray(video)
        return f"{video.member} {astray}" if astray else ""

    with ThreadPoolExecutor(_LOOKING) as pool:
        found = next(filter(None, pool.map(look, videos)), "")
    return f"does not decode all of these videos: {found}" if found else ""
