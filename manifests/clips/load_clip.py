"""A clip's frames, as normals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import ImageRefused, Reason
from ..images.load_normal import Normal, encode_normal, load_normal
from ..images.opening import Pixels
from ..sources.containers import Location, read
from .cuts import refuse_cut
from .video import check_clip, convert_frames, decode_frames
from .windows import frame_files, video_and_times


def load_clip(
    location: Location,
    max_side: int | None = None,
    max_pixels: int | None = None,
    cuts: bool = False,
) -> list[Normal]:
    """Load the frames of a clip as a set stores them.

    Frames that are files are kept as photographs are, byte for byte where that can be; those of
    videos become JPEGs of quality 95 without chroma subsampling.

    location: location from `listing.list_clips`.
    max_side, max_pixels: see `load_normal`.
    cuts: whether a clip may hold a scene change.

    Raises ImageRefused when a frame cannot be used, when they differ in size, are too many for
    theirs (`check_clip`), or when there is a scene change.
    """

    def normal_of(pixels: Pixels) -> Normal:
        return encode_normal(np.ascontiguousarray(pixels), max_side, "frame of a video")

    files = frame_files(location)
    if files is None:
        video, times = video_and_times(location)
        frames = convert_frames(video, times, max_pixels, normal_of)
    else:
        frames = load_files(files, max_side, max_pixels)
    check_frames(frames, cuts)
    return frames


def load_files(
    files: Sequence[Location], max_side: int | None, max_pixels: int | None
) -> list[Normal]:
    """Load the frames of a clip that are files; see `load_clip`."""
    frames: list[Normal] = []
    for file in files:
        frames.append(load_normal(read(file), max_side, max_pixels))
        check_clip(*frames[-1].size, len(frames), max_pixels)
    return frames


def video_pixels(location: Location, max_pixels: int | None = None) -> list[Pixels]:
    """Decode the frames of a clip of a video, uint8 RGB (H, W, 3) each.

    Raises ImageRefused when one is not there, or they have more pixels.
    """
    video, times = video_and_times(location)
    return decode_frames(video, times, max_pixels)


def check_frames(frames: list[Normal], cuts: bool = False) -> None:
    """Raise ImageRefused for a clip whose frames differ in size, or that holds a scene change."""
    sizes = sorted({frame.size for frame in frames})
    if len(sizes) > 1:
        raise ImageRefused(Reason.UNSUPPORTED, f"frames of different sizes: {sizes[0]}, {sizes[1]}")
    if not cuts:
        refuse_cut([frame.pixels for frame in frames])
