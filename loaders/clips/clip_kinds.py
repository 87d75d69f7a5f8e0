"""What clips are of: pictures or videos, and whether DALI decodes them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ...errors import ImageRefused
from ...manifests.clips.segments import Segments
from ...manifests.clips.video import probe_video
from ...manifests.clips.windows import frame_files
from ...manifests.sources import Location
from ...manifests.sources.containers import read
from ..read import Bytes
from ..stored_pairs import read_extent
from .stored_clips import ClipContents, StoredClip, by_video

_PICTURES = (".jpg", ".jpeg", ".png")
_LOOKING = 8  # threads that look into videos


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
