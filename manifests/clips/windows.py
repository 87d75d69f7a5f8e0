"""Windows: the frames of a sequence that are clips, and locations of clips."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from ..sources.containers import Location

CLIP = -2
"""The offset of a location that is a clip's: its member says where its frames are."""
_MARK = "@"


@dataclass(frozen=True)
class Windows:
    """Windows of a sequence, as DALI's video readers have them.

    frames: frames of a clip.
    stride: from a frame of a clip to its next one.
    step: from the first frame of a clip to that of the next clip.
    """

    frames: int
    stride: int = 1
    step: int = 0

    def starts(self, count: int) -> range:
        """Return the first frames of the clips of a sequence; ends that are too short are left."""
        return range(0, count - (self.frames - 1) * self.stride, self.step or self.frames)

    def numbers(self, first: int) -> range:
        """Return the numbers of a clip's frames."""
        return range(first, first + self.frames * self.stride, self.stride)


def clip_path(sequence: str, first: int) -> str:
    """Return what a clip is called in its source: its sequence, and its first frame.

    Examples
    --------
    >>> clip_path("480p/bear", 16)
    '480p/bear@16'
    """
    return f"{sequence}{_MARK}{first}"


def sequence_of(path: str) -> str:
    """Return the sequence of a clip's path: the other way round."""
    return path.rpartition(_MARK)[0]


def locates_clip(location: Location) -> bool:
    """Return whether a location is a clip's."""
    return location.offset == CLIP


def of_files(locations: Sequence[Location]) -> Location:
    """Return the location of a clip whose frames are files of one container."""
    frames = [[location.member, location.offset, location.size] for location in locations]
    return _location(locations[0], {"frames": frames}, sum(p.size for p in locations), locations)


def video_location(location: Location, times: Sequence[int]) -> Location:
    """Return the location of a clip of a video: its frames by their presentation times."""
    video = [location.member, location.offset, location.size]
    return _location(location, {"video": video, "times": list(times)}, location.size, [location])


def _location(
    location: Location, parts: dict[str, object], size: int, locations: Sequence[Location]
) -> Location:
    member = json.dumps(parts, separators=(",", ":"))
    return Location(location.container, member, CLIP, size, max(one.stamp for one in locations))


def frame_files(location: Location) -> list[Location] | None:
    """Return the files of a clip's frames; None of a clip of a video."""
    parts = json.loads(location.member)
    if "frames" not in parts:
        return None
    return [
        Location(location.container, member, offset, size, location.stamp)
        for member, offset, size in parts["frames"]
    ]


def video_and_times(location: Location) -> tuple[Location, list[int]]:
    """Return the file of a clip of a video, and the presentation times of its frames."""
    parts = json.loads(location.member)
    member, offset, size = parts["video"]
    return Location(location.container, member, offset, size, location.stamp), parts["times"]
