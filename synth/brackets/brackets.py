"""`gloam.brackets`: real pairs from one's own exposure brackets."""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import cv2
import numpy as np
from PIL import Image

from ...engines.local import count, local_engine
from ...errors import SetError, SourceError, visible
from ...manifests.images.decode import read_rgb
from ...manifests.images.normals import encode
from ...manifests.selection.candidates import make_keys
from ...manifests.sources.folders import list_images
from ...progress import Progress, Silent
from ...storage.atomic import write_bytes
from ..kernels.arrays import FloatArray, Pixels
from ..measures.contact_sheet import Tile, mean_light, scaled, sheet
from .alignment import align, move_to
from .frames import FEWEST, Frame, group_frames, read_frames
from .motion import find_moved

Normal = Literal["fused", "best"]

_DARK, _LIT = 0.1, 0.45
"""Mean encoded levels that a low and a best frame are chosen by, as in SICE."""
_DARKER = 1.5  # times a low's mean light that its normal's is, at least
_ROWS, _WIDTH = 40, 160  # brackets of a sheet, and pixels of its pictures


class Use(NamedTuple):
    """The use that was made of a frame.

    bracket: the name of its bracket, "" for none. role: "low", "fused", "normal", two of them with
    a comma, "aligned" (of a bracket, and in no picture) or "left out". down, across: pixels that it
    is moved by against the bracket's first low. note: why it was left out.
    """

    file: str
    bracket: str
    role: str
    down: float | None
    across: float | None
    note: str


@dataclass(frozen=True)
class Brackets:
    """The pairs that `brackets` wrote of one bracket or all, the use of each frame, and a sheet.

    rows: tiles of the sheet, a row a bracket.
    """

    pairs: list[str]
    uses: list[Use]
    rows: list[list[Tile]]

    def left_out(self) -> Counter[str]:
        """Return how many frames were left out, by the reason."""
        return Counter(one.note for one in self.uses if one.role == "left out")

    def csv(self) -> bytes:
        """Return what became of each frame as a table."""
        held = io.StringIO()
        writer = csv.writer(held, lineterminator="\n")
        writer.writerow(Use._fields)
        for one in self.uses:
            places = ["" if value is None else f"{value:.2f}" for value in (one.down, one.across)]
            writer.writerow([visible(one.file), one.bracket, one.role, *places, visible(one.note)])
        return held.getvalue().encode()

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON's types."""
        return {"pairs": self.pairs, "frames": [one._asdict() for one in self.uses]}

    def sheet(self) -> Image.Image:
        """Return the first 40 brackets: their lows, their normals, and their frames."""
        return sheet(self.rows)


@dataclass(frozen=True)
class _Job:
    """A bracket to make pairs of: its name, its frames, dark ones first, and where pairs go."""

    name: str
    paths: tuple[str, ...]
    out: Path
    normal: Normal
    lows: int


def brackets(
    folder: str | Path,
    out: str | Path,
    *,
    normal: Normal = "fused",
    lows: int = 1,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Brackets:
    """Make real pairs of exposure brackets: a dark frame, and an evenly exposed normal.

    Frames are grouped by likeness, and by time and exposure where EXIF says them. Those in which
    something moved are left out. The others are moved onto the low's pixels, whose noise stays as
    the camera left it; all are cut to what every frame shows.

    Parameters
    ----------
    folder : str or Path
        Folder of photographs, taken from a tripod: three frames a bracket, and more.
    out : str or Path
        A new folder. It gets `low/NAME.png` and `normal/NAME.png`, `brackets.csv` (what became of
        each frame) and `brackets.png` (a sheet).
    normal : str
        "fused" fuses the frames (Mertens, Kautz and Van Reeth, Pacific Graphics 2007, by OpenCV);
        "best" takes the frame whose mean level is nearest .45.
    lows : int
        Dark frames of each bracket that become lows: those whose mean levels are nearest .1, and
        whose mean light is two thirds of the normal's at most. Each has a normal on its own pixels.
    workers, progress
        See `gloam.build`.

    Raises
    ------
    SourceError
        When the folder holds no images, or no brackets.
    SetError
        When `out` is there and not empty.

    Examples
    --------
    >>> import gloam
    >>> gloam.brackets("photos", "pairs")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    gloam.errors.SourceError: photos: holds no brackets among its 6 photographs: ...
    """
    given, target, shown = Path(folder), Path(out), progress or Silent()
    if target.is_file() or (target.is_dir() and any(target.iterdir())):
        raise SetError.at(target, "is there already; give a new folder")
    paths = [str(path) for path in list_images(given)]
    frames, unread = [], []
    for one in read_frames(paths, workers, shown):
        if isinstance(one, Frame):
            frames.append(one)
        else:
            unread.append(one)
    found = group_frames(frames)
    if not found.brackets:
        raise SourceError.at(
            given,
            f"holds no brackets among its {len(paths):,} photographs: no {FEWEST} of them show one"
            " scene at other exposures",
        )
    names = _names(found.brackets, given)
    jobs = [
        _Job(name, tuple(frame.path for frame in bracket), target, normal, lows)
        for name, bracket in zip(names, found.brackets, strict=True)
    ]
    shown.stage("fusing", len(jobs))
    made = list(local_engine(workers).map(_make_pairs, jobs, shown.at))
    uses = [use for one in made for use in one.uses]
    uses += [Use(path, "", "left out", None, None, why) for path, why in unread + found.left_out]
    relative = [one._replace(file=Path(one.file).relative_to(given).as_posix()) for one in uses]
    every = Brackets(
        [pair for one in made for pair in one.pairs],
        sorted(relative, key=lambda use: use.file),
        [row for one in made for row in one.rows][:_ROWS],
    )
    if not every.pairs:
        why, number = every.left_out().most_common(1)[0]
        raise SourceError.at(given, f"makes no pairs: {number:,} frames: {why}")
    write_bytes(target / "brackets.csv", every.csv())
    return every


def _names(found: list[list[Frame]], folder: Path) -> list[str]:
    """Return names of brackets, of their first frames' files."""
    first = [min(frame.path for frame in bracket) for bracket in found]
    relative = [Path(path).relative_to(folder).with_suffix("").as_posix() for path in first]
    return make_keys(["bracket"] * len(found), relative, first)


def _make_pairs(job: _Job) -> Brackets:
    """Align, choose and fuse the frames of a bracket, and write its pairs."""
    pixels: dict[str, Pixels] = {}
    notes: dict[str, str] = {}
    for path in job.paths:
        try:
            pixels[path] = read_rgb(Path(path), colours=True)
        except SourceError as error:
            notes[path] = error.what
    kept = list(pixels)
    greys: dict[str, Pixels] = {
        path: np.asarray(cv2.cvtColor(own, cv2.COLOR_RGB2GRAY), np.uint8)
        for path, own in pixels.items()
    }
    places = dict(zip(kept, align([greys[path] for path in kept]), strict=True))
    notes |= {path: "cannot be aligned" for path in kept if np.isnan(places[path]).any()}
    kept = [path for path in kept if path not in notes]
    if len(kept) >= FEWEST:
        first = places[kept[len(kept) // 2]]
        window = _window([places[path] - first for path in kept], greys[kept[0]].shape)
        aligned = [move_to(pixels[path], places[path] - first)[window] for path in kept]
        notes |= {kept[number]: "something moved in it" for number in find_moved(aligned)}
        kept = [path for path in kept if path not in notes]
    if len(kept) < FEWEST:
        notes |= dict.fromkeys(kept, f"fewer than {FEWEST} frames are left of its bracket")
        kept = []
    made = _publish(job, {path: pixels[path] for path in kept}, places, notes)
    count()
    return made


def _publish(
    job: _Job, frames: dict[str, Pixels], places: dict[str, FloatArray], notes: dict[str, str]
) -> Brackets:
    """Write the pairs of aligned frames, and tell what became of all."""
    means = {path: float(own.mean()) / 255 for path, own in frames.items()}
    best = min(frames, key=lambda path: (abs(means[path] - _LIT), path), default="")
    pairs: list[str] = []
    rows: list[list[Tile]] = []
    chosen: list[str] = []
    for low in sorted(frames, key=lambda path: (abs(means[path] - _DARK), path)):
        if len(chosen) == job.lows:
            break
        window = _window([places[one] - places[low] for one in frames], frames[low].shape)
        used = list(frames) if job.normal == "fused" else [best]
        moved = [move_to(frames[one], places[one] - places[low])[window] for one in used]
        lit = _fuse(moved) if job.normal == "fused" else moved[0]
        dark = np.ascontiguousarray(frames[low][window])
        if mean_light(lit) < _DARKER * mean_light(dark):
            continue
        chosen.append(low)
        name = job.name if len(chosen) == 1 else f"{job.name}-{len(chosen)}"
        for folder, picture in (("low", dark), ("normal", np.ascontiguousarray(lit))):
            write_bytes(job.out / folder / f"{name}.png", encode(picture, "png"))
        pairs.append(name)
        if len(chosen) == 1:
            row = [_tile(dark, f"{name}: low"), _tile(lit, f"normal, {job.normal}")]
            rows = [[*row, *(_tile(own, Path(path).name) for path, own in frames.items())]]
    if frames and not chosen:
        notes |= dict.fromkeys(frames, "no frame is darker than the normal by half a stop")
        frames = {}
    origin = places[chosen[0]] if chosen else np.zeros(2)
    uses = []
    for path in job.paths:
        if path in notes:
            uses.append(Use(path, job.name, "left out", None, None, notes[path]))
            continue
        lit_role = ["fused"] if job.normal == "fused" else ["normal"] * (path == best)
        roles = (["low"] if path in chosen else []) + lit_role
        place = places[path] - origin
        role = ", ".join(roles) or "aligned"
        uses.append(Use(path, job.name, role, float(place[0]), float(place[1]), ""))
    return Brackets(pairs, uses, rows)


def _window(places: list[FloatArray], shape: tuple[int, ...]) -> tuple[slice, slice]:
    """Return the part of a frame that all others, at their places against it, show."""
    before = np.ceil(np.maximum(-np.min(places, axis=0), 0)).astype(int)
    end = shape[:2] - np.ceil(np.maximum(np.max(places, axis=0), 0)).astype(int)
    return slice(before[0], end[0]), slice(before[1], end[1])


def _fuse(frames: list[Pixels]) -> Pixels:
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)  # several add up frames in the order in which they end
    try:
        fused = cv2.createMergeMertens().process(frames)
    finally:
        cv2.setNumThreads(threads)
    return np.asarray(np.rint(np.clip(fused, 0, 1) * 255), np.uint8)


def _tile(pixels: Pixels, caption: str) -> Tile:
    return Tile(scaled(pixels, _WIDTH), (visible(caption),))
