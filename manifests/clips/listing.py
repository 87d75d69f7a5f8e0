"""The clips of a source: folders of frames as DAVIS, SDSD and REDS have them, and video files.

A clip is a window of a sequence; its location says which frames are its own.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePosixPath

from ...errors import GloamWarning, ImageRefused, Reason, SourceError
from ...storage.stores import as_path
from ..images.header import SUFFIXES as IMAGES
from ..images.header import UNREAD as UNREAD_IMAGES
from ..sources.collections import Listed, format_counts, unread_kind
from ..sources.containers import Entry, Location, file_entry, list_container
from .video import SUFFIXES, UNREAD, frame_times

_MASKS = "Annotations"
"""Folder of DAVIS' masks, which are no frames."""
_REFUSED = "videos of "
_LOW = ".low"
"""Before the suffix of what gloam export --video writes."""
_NUMBERS = re.compile(r"(\d+)")
CLIP = -2
"""The offset of a location that is a clip's: its member says where its frames are."""
_MARK = "@"


def list_clips(
    path: str, windows: Windows, passed: Counter[str], max_pixels: int | None = None
) -> Iterator[Listed]:
    """List the clips of a folder or an archive, sequence by sequence in the order of their names.

    A sequence is a folder that holds images, in the order of the numbers in their names, or a video
    file.

    passed: counts what is passed over: sequences that are too short, masks, videos and images that
      cannot be read or used, and what `list_container` leaves out.
    max_pixels: of a frame of a video; see `video.open_video`.

    Raises SourceError when there is nothing to take.
    """
    folders: dict[str, list[Entry]] = {}
    videos: list[Entry] = []
    at = as_path(path)
    alone = at.is_file() and (at.suffix.lower() in (*SUFFIXES, *UNREAD, *IMAGES, *UNREAD_IMAGES))
    for entry in [file_entry(at)] if alone else list_container(at, passed):
        name = PurePosixPath(entry.name)
        suffix = os.path.splitext(name.name)[1].lower()
        if suffix in SUFFIXES and name.stem.endswith(_LOW):
            passed["lows of gloam's clips"] += 1
        elif suffix in SUFFIXES:
            videos.append(entry)
        elif suffix in IMAGES and _MASKS in name.parts:
            passed["masks"] += 1
        elif suffix in IMAGES:
            folders.setdefault(str(name.parent), []).append(entry)
        elif suffix in UNREAD:
            passed[suffix] += 1
        elif kind := unread_kind(entry.name):
            passed[kind] += 1
    of_videos = _clips_in_videos(videos, windows, passed, max_pixels)
    listed = chain(_clips_in_folders(folders, windows, passed), of_videos)
    first = next(listed, None)
    if first is None:
        raise SourceError(
            f"clips={path}: holds no clip of {windows.frames} frames (expected folders of frames,"
            f" or files that end in {', '.join(SUFFIXES)}; photographs are a folder= source)"
            + (f"; passed over: {format_counts(passed)}" if passed else ""),
            path=path,
        )
    yield from chain([first], listed)


def _clips_in_folders(
    folders: dict[str, list[Entry]], windows: Windows, passed: Counter[str]
) -> Iterator[Listed]:
    for folder in sorted(folders, key=_by_numbers):
        entries = sorted(folders[folder], key=lambda entry: _by_numbers(entry.name))
        starts = windows.starts(len(entries))
        if not starts:
            passed["sequences that are too short"] += 1
        for first in starts:
            locations = [entries[number].location for number in windows.numbers(first)]
            yield Listed(clip_path(folder, first), f"{folder}-{first}", _clip_location(locations))


def _clips_in_videos(
    videos: list[Entry], windows: Windows, passed: Counter[str], max_pixels: int | None
) -> Iterator[Listed]:
    for entry in sorted(videos, key=lambda entry: _by_numbers(entry.name)):
        try:
            times = frame_times(entry.location, max_pixels)
        except ImageRefused as refusal:
            passed[_passed_as(refusal)] += 1
            continue
        starts = windows.starts(len(times))
        if not starts:
            passed["sequences that are too short"] += 1
        for first in starts:
            clip = [times[number] for number in windows.numbers(first)]
            name = f"{os.path.splitext(entry.name)[0]}-{first}"
            yield Listed(clip_path(entry.name, first), name, _clip_location([entry.location], clip))


def warn_of_videos(path: str | Path, passed: Counter[str]) -> None:
    """Warn of videos that `list_clips` refused, where nothing else shows its counts."""
    refused = Counter({kind: n for kind, n in passed.items() if kind.startswith("videos")})
    if refused:
        warnings.warn(f"{path}: passed over: {format_counts(refused)}", GloamWarning, stacklevel=4)


def _passed_as(refusal: ImageRefused) -> str:
    known = {
        Reason.NOT_AN_IMAGE: "files that are no videos, for all their names",
        Reason.UNSUPPORTED: f"{_REFUSED}{refusal.detail}",
        Reason.TOO_LARGE: f"{_REFUSED}too large frames",
    }
    return known.get(refusal.reason, "videos that are damaged")


def _by_numbers(name: str) -> list[tuple[int, str]]:
    """Return what orders names by the numbers in them."""
    return [
        (int(part), "") if part.isdigit() and part.isascii() else (-1, part)
        for part in _NUMBERS.split(name)
    ]


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
    """Return what a clip is called in its source, `bear@16`: its sequence, and its first frame."""
    return f"{sequence}{_MARK}{first}"


def sequence_of(path: str) -> str:
    """Return the sequence of a clip's path: the other way round."""
    return path.rpartition(_MARK)[0]


def locates_clip(location: Location) -> bool:
    """Return whether a location is a clip's."""
    return location.offset == CLIP


def _clip_location(files: Sequence[Location], times: Sequence[int] = ()) -> Location:
    """Return the location of a clip: files of a container, or frames of a video by their times."""
    places = [[one.member, one.offset, one.size] for one in files]
    parts = {"video": places[0], "times": list(times)} if times else {"frames": places}
    member, size = json.dumps(parts, separators=(",", ":")), sum(one.size for one in files)
    return Location(files[0].container, member, CLIP, size, max(one.stamp for one in files))


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
