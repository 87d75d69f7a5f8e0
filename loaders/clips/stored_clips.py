"""The clips to load: those of one split of a set, or of folders and video files."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import GloamWarning, ImageRefused, LoaderError, Reason, SourceError
from ...manifests.clips.listing import (
    Windows,
    clip_path,
    frame_files,
    list_clips,
    video_and_times,
    warn_of_videos,
)
from ...manifests.clips.load_clip import check_frames, load_clip, load_files
from ...manifests.clips.video import decode_frames, probe_video
from ...manifests.images.header import read_header
from ...manifests.open_data import as_list
from ...manifests.selection.candidates import make_keys
from ...manifests.sets.layouts.extents import Extent
from ...manifests.sets.split_files import open_files
from ...manifests.sources import Location
from ...manifests.sources.containers import read
from ...synth.kernels.arrays import Pixels
from ...synth.measures.wrong_pairs import warn_of_few_bits
from ..contents import Contents
from ..stored_pairs import StoredSample


@dataclass(frozen=True)
class ClipContents(Contents):
    """The clips of one split; see `Contents`."""

    of_clips = True

    @property
    def clips(self) -> Sequence[StoredSample]:
        """The clips of a folder or a list, in order."""
        return self.given

    @property
    def has_videos(self) -> bool:
        """True if all clips are those of videos."""
        return self.layout is None and all(clip.of_video for clip in self.clips)

    def normals_of(self, sample: StoredSample) -> list[Pixels]:
        """Decode the normals of a clip's frames.

        Raises LoaderError naming the clip or frame that cannot be read or decoded.
        """
        if sample.place is None:
            return super().normals_of(sample)
        try:
            if sample.of_video:
                return decode_frames(*video_and_times(sample.place))
            return [frame.pixels for frame in load_clip(sample.place, cuts=True)]
        except ImageRefused as refusal:
            raise LoaderError(
                f"{self.name}: {sample.key}: {refusal}; gloam build passes such clips over, and"
                " ClipLoader reads the set",
                key=sample.key,
            ) from None

    def size_of(self, sample: StoredSample) -> tuple[int, int]:
        """Return height and width of a clip's frames, by its first normal."""
        if sample.place is None:
            return super().size_of(sample)
        if (files := frame_files(sample.place)) is None:
            return probe_video(sample.video[0]).size
        header = read_header(read(files[0]))
        return header.height, header.width


def clips_of_pairs(pairs: Sequence[Any], split: str, windows: Windows) -> ClipContents:
    """Return the clips of a list of (low, normal) frames.

    Frames whose lows lie in one folder are a sequence, in the list's order.

    Raises LoaderError when there are none.
    """
    _check_windows(windows)
    sequences: dict[str, list[tuple[Extent, ...]]] = {}
    files = open_files(as_list(pairs), split)
    warn_of_few_bits(files.name, *zip(*files.given, strict=True))
    for low, normal in files.given:
        frames = tuple(Extent(os.fspath(path)) for path in (low, normal))
        sequences.setdefault(os.path.dirname(frames[0].path), []).append(frames)
    common = os.path.commonpath(list(sequences))
    given = []
    for folder, frames_of in sequences.items():
        for first in windows.starts(len(frames_of)):
            chosen = [frames_of[number] for number in windows.numbers(first)]
            lows, normals = zip(*chosen, strict=True)
            key = clip_path(os.path.relpath(folder, common), first)
            given.append(StoredSample(key, lows, normals))
    if not given:
        raise LoaderError(
            f"list of pairs: none of its {len(sequences)} folders holds {windows.frames} frames",
            key="frames",
        )
    return _list_contents("list of pairs", split, given, windows, live=False)


def clips_in(path: str | Path, windows: Windows) -> ClipContents:
    """Return the clips of a folder of folders of frames, or of video files.

    Raises LoaderError when there are none.
    """
    _check_windows(windows)
    passed: Counter[str] = Counter()
    try:
        found = list(list_clips(str(path), windows, passed))
    except SourceError as error:
        raise LoaderError(str(error), path=path) from None
    warn_of_videos(path, passed)
    names, paths = [one.name for one in found], [one.path for one in found]
    keys = make_keys(["clips"] * len(found), names, paths)
    given = [StoredSample(key, (), (), one.location) for key, one in zip(keys, found, strict=True)]
    _warn_of_stills(path, given[0])
    return _list_contents(str(path), "train", given, windows, live=True)


def _warn_of_stills(path: str | Path, clip: StoredSample) -> None:
    """Warn where the first two frames of a folder show two scenes, as photographs do."""
    files = None if clip.place is None else frame_files(clip.place)
    try:
        check_frames(load_files((files or ())[:2], None, None))
    except ImageRefused as refusal:
        if refusal.reason is Reason.SCENE_CHANGE:
            warnings.warn(
                f"{path}: {clip.key}: its first frames show two scenes: a clip is a folder of the"
                " frames of one scene, or a video; photographs are PairLoader's",
                GloamWarning,
                stacklevel=4,
            )


def _list_contents(
    name: str, split: str, given: Sequence[StoredSample], windows: Windows, *, live: bool
) -> ClipContents:
    digest = hashlib.sha256(
        repr([(c.key, *windows.numbers(0)) for c in given]).encode("utf-8", "surrogatepass")
    )
    return ClipContents(
        name, split, None, len(given), digest.hexdigest()[:16], given=given, live=live,
        frames=windows.frames,
    )  # fmt: skip


def _check_windows(windows: Windows) -> None:
    if not 1 <= windows.frames <= 1000 or windows.stride < 1 or windows.step < 0:
        raise LoaderError(
            f"frames = {windows.frames}, stride = {windows.stride}, step = {windows.step}: frames"
            " and stride are 1 and more, frames at most 1000",
            key="frames",
        )


def by_video(clips: Sequence[StoredSample]) -> dict[Location, list[tuple[int, list[int]]]]:
    """Return for each video the numbers of its clips, and the times of their frames."""
    found: dict[Location, list[tuple[int, list[int]]]] = {}
    for number, clip in enumerate(clips):
        video, times = clip.video
        found.setdefault(video, []).append((number, times))
    return found
