"""The clips to load: those of one split of a set, or of folders and video files."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...errors import GloamWarning, ImageRefused, LoaderError, Reason, SourceError
from ...manifests.clips.listing import (
    Windows,
    clip_path,
    frame_files,
    list_clips,
    video_and_times,
    warn_of_videos,
)
from ...manifests.clips.load_clip import check_frames, load_clip, load_files, video_pixels
from ...manifests.clips.video import probe_video
from ...manifests.images.decode import decode_as_rgb
from ...manifests.images.header import read_header
from ...manifests.selection.candidates import make_keys
from ...manifests.sets.layouts.extents import Extent
from ...manifests.sets.pair_set import PairSet
from ...manifests.sources import Location
from ...manifests.sources.containers import read
from ...synth.clips import frame_name
from ...synth.input_images import decode_image
from ...synth.kernels.arrays import Pixels
from ...synth.kernels.png.file import SIGNATURE, decode_pngs, png_size
from ..index import Contents, contents_of, contents_of_set
from ..stored_pairs import StoredPair, read_extent, read_together, undecodable


class StoredClip(NamedTuple):
    """One clip: where its frames are.

    lows, normals: those of a set or a list of pairs; there are no lows where they are made live.
    place: of files or a video: where its frames are instead.
    """

    key: str
    lows: tuple[Extent, ...]
    normals: tuple[Extent, ...]
    place: Location | None = None

    @property
    def video(self) -> tuple[Location, list[int]]:
        """The file of a clip of a video, and the presentation times of its frames."""
        assert self.place is not None
        return video_and_times(self.place)

    @property
    def remote(self) -> bool:
        """False: processes read a clip's frames as they decode them."""
        return False


@dataclass(frozen=True)
class ClipContents(Contents):
    """The clips of one split; see `Contents`."""

    @cached_property
    def clips(self) -> Sequence[StoredClip]:
        """Every clip in order.

        Raises SetError when an index cannot be read.
        """
        if self.layout is None:
            return self.given
        roles = ("normal",) if self.live else ("low", "normal")
        names = [frame_name(role, i) for role in roles for i in range(self.frames)]
        keys, members = self._extents(self.root, self.layout, tuple(names))
        made = []
        for number in range(self.count):
            places = tuple(member[number] for member in members)
            lows = () if self.live else places[: self.frames]
            made.append(StoredClip(keys[number], lows, places[-self.frames :]))
        return made

    of_clips = True

    def pair(self, number: int) -> Any:
        """Return a clip, by its number."""
        return self.clips[number]

    def images(self, number: int, *, normal_alone: bool) -> tuple[Extent, ...]:
        """Return where the lows and normals of a clip's frames are; other files are read."""
        clip = self.clips[number]
        if clip.place is None:
            return clip.normals if normal_alone else (*clip.lows, *clip.normals)
        files = frame_files(clip.place) or ()
        return tuple(Extent(f"{one.container}/{one.member}", data=read(one)) for one in files)

    def lows_of(self, sample: StoredClip, by_kernels: bool) -> list[Pixels]:
        """Decode the lows of a clip that gloam wrote as PNGs, all at once."""
        data = [np.frombuffer(one, np.uint8) for one in read_together(sample.lows)]
        try:
            return clip_lows(data)
        except ImageRefused:
            return self._decoded(sample, "low", sample.lows)  # names the frame

    def normals_of(self, sample: StoredClip) -> list[Pixels]:
        """Decode the normals of a clip's frames.

        Raises LoaderError naming the clip or frame that cannot be read or decoded.
        """
        if sample.place is None:
            return self._decoded(sample, "normal", sample.normals)
        try:
            if frame_files(sample.place) is None:
                return video_pixels(sample.place)
            return [frame.pixels for frame in load_clip(sample.place, cuts=True)]
        except ImageRefused as refusal:
            raise LoaderError(
                f"{self.name}: {sample.key}: {refusal}; gloam build passes such clips over, and"
                " ClipLoader reads the set",
                key=sample.key,
            ) from None

    def images_of(self, sample: StoredClip, decoder: str) -> tuple[list[Pixels], list[Pixels]]:
        """Decode the lows and the normals of a clip's frames, which are stored."""
        normals = self.normals_of(sample)
        lows = self._decoded(sample, "low", sample.lows)
        if lows[0].shape != normals[0].shape:
            raise LoaderError(f"{sample.key}: low and normal differ in size", key=sample.key)
        return lows, normals

    def _decoded(self, clip: StoredClip, role: str, extents: Sequence[Extent]) -> list[Pixels]:
        frames, of_set = [], self.layout is not None
        for number, extent in enumerate(extents):
            data = read_extent(extent)
            try:
                frames.append(low_pixels(data) if of_set else decode_as_rgb(data, False))
            except ImageRefused as refusal:
                pair = StoredPair(clip.key, extent, extent)
                raise undecodable(pair, frame_name(role, number), refusal.detail, of_set) from None
        if len({frame.shape for frame in frames}) > 1:
            raise LoaderError(f"{clip.key}: its frames differ in size", key=clip.key)
        return frames

    def first_size(self) -> tuple[int, int]:
        """Return height and width of the first frame."""
        return super().first_size() if self.layout is not None else self.size_of(self.clips[0])

    def size_of(self, clip: StoredClip) -> tuple[int, int]:
        """Return height and width of a clip's frames, by its first normal.

        Raises ImageRefused, LoaderError when it cannot be read.
        """
        if clip.place is None:
            data = read_extent(clip.normals[0])
        elif (files := frame_files(clip.place)) is not None:
            data = read(files[0])
        else:
            return probe_video(clip.video[0]).size
        header = read_header(data)
        return header.height, header.width

    def keys_of(self, numbers: Iterable[int]) -> list[str]:
        """Return the keys of clips, by their numbers."""
        return [self.clips[int(number)].key for number in numbers]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "clips"}


def clips_of_set(pairs: PairSet, split: str, live: bool) -> ClipContents:
    """Return the clips of a set's split.

    Raises LoaderError when the set holds no clips, or none in the split, or is one that clips are
    not read of.
    """
    root, frames = pairs.root, pairs.frames
    if not frames:
        raise LoaderError.at(root, "holds pairs of images: PairLoader reads them")
    if pairs.layout != "shards" or pairs.lows_only:
        raise LoaderError(
            f"{root}: clips are read of sets that hold lows and normals, as shards: "
            + (
                "regenerate it without --low-only"
                if pairs.lows_only
                else f"gloam export {root} DIR --layout shards"
            ),
            path=root,
        )
    return ClipContents(**vars(contents_of_set(pairs, split, live)) | {"frames": frames})


def clips_of_pairs(pairs: Sequence[Any], split: str, windows: Windows) -> ClipContents:
    """Return the clips of a list of (low, normal) frames.

    Frames whose lows lie in one folder are a sequence, in the list's order.

    Raises LoaderError when there are none.
    """
    _check(windows)
    sequences: dict[str, list[tuple[Extent, ...]]] = {}
    for low, normal in contents_of(pairs, split).given:
        frames = tuple(Extent(os.fspath(path)) for path in (low, normal))
        sequences.setdefault(os.path.dirname(frames[0].path), []).append(frames)
    common = os.path.commonpath(list(sequences))
    given = []
    for folder, frames_of in sequences.items():
        for first in windows.starts(len(frames_of)):
            chosen = [frames_of[number] for number in windows.numbers(first)]
            lows, normals = zip(*chosen, strict=True)
            key = clip_path(os.path.relpath(folder, common), first)
            given.append(StoredClip(key, lows, normals))
    if not given:
        raise LoaderError(
            f"list of pairs: none of its {len(sequences)} folders holds {windows.frames} frames",
            key="frames",
        )
    return _listed("list of pairs", split, given, windows, live=False)


def clips_in(path: str | Path, windows: Windows) -> ClipContents:
    """Return the clips of a folder of folders of frames, or of video files.

    Raises LoaderError when there are none.
    """
    _check(windows)
    passed: Counter[str] = Counter()
    try:
        found = list(list_clips(str(path), windows, passed))
    except SourceError as error:
        raise LoaderError(str(error), path=path) from None
    warn_of_videos(path, passed)
    names, paths = [one.name for one in found], [one.path for one in found]
    keys = make_keys(["clips"] * len(found), names, paths)
    given = [StoredClip(key, (), (), one.location) for key, one in zip(keys, found, strict=True)]
    _warn_of_stills(path, given[0])
    return _listed(str(path), "train", given, windows, live=True)


def _warn_of_stills(path: str | Path, clip: StoredClip) -> None:
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


def _listed(
    name: str, split: str, given: Sequence[StoredClip], windows: Windows, *, live: bool
) -> ClipContents:
    digest = hashlib.sha256(
        repr([(c.key, *windows.numbers(0)) for c in given]).encode("utf-8", "surrogatepass")
    )
    return ClipContents(
        name, split, None, len(given), digest.hexdigest()[:16], given=given, live=live,
        frames=windows.frames,
    )  # fmt: skip


def _check(windows: Windows) -> None:
    if not 1 <= windows.frames <= 1000 or windows.stride < 1 or windows.step < 0:
        raise LoaderError(
            f"frames = {windows.frames}, stride = {windows.stride}, step = {windows.step}: frames"
            " and stride are 1 and more, frames at most 1000",
            key="frames",
        )


def by_video(clips: Sequence[StoredClip]) -> dict[Location, list[tuple[int, list[int]]]]:
    """Return for each video the numbers of its clips, and the times of their frames."""
    found: dict[Location, list[tuple[int, list[int]]]] = {}
    for number, clip in enumerate(clips):
        video, times = clip.video
        found.setdefault(video, []).append((number, times))
    return found


def low_pixels(data: bytes | Pixels) -> Pixels:
    """Decode a set's frame, to RGB (H, W, 3): PNGs by gloam's own kernels.

    Raises ImageRefused when it is damaged.
    """
    encoded = bytes(data)
    return decode_image(encoded, "png" if encoded.startswith(SIGNATURE) else "jpg")


def clip_lows(lows: Sequence[Pixels]) -> list[Pixels]:
    """Decode the lows of a clip, each to RGB (H, W, 3); those that gloam wrote all at once.

    lows: uint8 arrays (N).

    Raises ImageRefused when one is damaged.
    """
    size = png_size(lows[0])
    if size is not None:
        made = np.empty((len(lows), *size, 3), np.uint8)
        if decode_pngs(list(lows), made):
            return list(made)
    return [low_pixels(low) for low in lows]
