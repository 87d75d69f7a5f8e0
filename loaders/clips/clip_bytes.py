"""Bytes of clips for DALI: the encoded frames of pictures, or parts of videos."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...errors import ImageRefused
from ...manifests.clips.segments import Cut, Segments
from ...manifests.clips.video import probe_video
from ...manifests.clips.windows import frame_files
from ...manifests.sources import Location
from ...manifests.sources.containers import read
from ..columns import read_extent, read_together
from ..read_pool import Bytes
from .stored_clips import ClipContents, StoredClip, by_video
from .videos.order import VideoPart

_PICTURES = (".jpg", ".jpeg", ".png")
_LOOKING = 8  # threads that look into videos


class Clip(NamedTuple):
    """A stored clip, read by a thread.

    lows: uint8 array (T, H, W, 3), or list; the array may be a part of its batch's; a list is of
      encoded lows, or of decoded ones.
    normals: list of uint8 arrays (N); encoded.
    """

    lows: Any
    normals: list[Bytes]


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


def bytes_of(
    part: VideoPart, segments: Segments, cut: Cut | None = None
) -> tuple[Bytes, npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return a file that holds frames of a video, their numbers in it, their height and width.

    segments: those that were cut.
    cut: function of a video and times; cuts others, in place of `Segments.cut`.

    Raises ImageRefused when a frame is not there, or the video is damaged.
    """
    segment, numbers = segments.frames(part.video, part.times, cut)
    data = np.frombuffer(segment.data, np.uint8)
    return data, np.array(numbers, np.int32), np.array(segment.size, np.int32)


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

    from .videos import pipelines

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
