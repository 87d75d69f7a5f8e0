"""`gloam.leaks`: find pictures of one set that another also has, and keep them out of a build."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from PIL import Image

from ...engines.local import local_engine
from ...errors import ConfigError, ImageRefused, SourceError
from ...manifests.clips.listing import locates_clip
from ...manifests.images.decode import decode_as_rgb
from ...manifests.images.npy import npy_as_png
from ...manifests.images.opening import byte_limit
from ...manifests.real.real import real_named
from ...manifests.selection.bounds import KEPT
from ...manifests.selection.candidates import locations
from ...manifests.selection.duplicates import Look, find_twins, hashes_of, look_at_file
from ...manifests.sets.info import SET_FILE
from ...manifests.sets.pair_set import open_set
from ...manifests.sets.sample import is_normal
from ...manifests.sources import read
from ...manifests.sources.folders import list_images
from ...progress import Progress, Silent
from ...storage.stores import as_path
from ...storage.untrusted import read_regular
from ..kernels.arrays import Pixels
from .contact_sheet import Tile, sheet
from .pair_files import each_pair

_ROWS = 60  # pairs of a sheet
_WIDTH = 320


class Seen(NamedTuple):
    """A picture, and what of it is compared.

    path: that of the file; of a gloam set its folder and the key.
    """

    path: str
    look: Look


class Leak(NamedTuple):
    """A picture that is in two sets, and by how many bits its hashes differ."""

    a: str
    b: str
    distance: int


@dataclass(frozen=True)
class Leaks:
    """Pictures that several sets share.

    counts: dict of a set to its number of pictures.
    unreadable: files that were left out, each with the reason.
    """

    pairs: list[Leak]
    counts: dict[str, int]
    unreadable: list[str]

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON's types."""
        pairs = [one._asdict() for one in self.pairs]
        return {"pairs": pairs, "counts": self.counts, "unreadable": self.unreadable}

    def sheet(self) -> Image.Image:
        """Return the first 60 pairs beside each other, to be looked at."""
        chosen = self.pairs[:_ROWS]
        shown = _pixels({path for one in chosen for path in (one.a, one.b)}, list(self.counts))
        return sheet(
            [
                [Tile(shown[one.a], (one.a,)), Tile(shown[one.b], (f"{one.distance} bits", one.b))]
                for one in chosen
            ]
        )


def leaks(*sets: str | Path, workers: int | None = None, progress: Progress | None = None) -> Leaks:
    """Find pictures of one set that another also has, even at another exposure or slightly shifted.

    Mirrored pictures are found, too, those in flat frames or letterboxes, and those that were cut
    by a tenth of their sides. Pictures that were turned, or cut further, are not looked for; nor
    are dark ones with little but a lamp, unless their details agree.

    Parameters
    ----------
    *sets : str or Path
        Two or more: folders of images, gloam's sets (their normals), or real ones as
        "lol-v1=FOLDER" (the normals of their test split).
    workers, progress
        See `gloam.build`; all cores and no bars by default.

    Raises
    ------
    SourceError
        When there are fewer than two sets, or one holds no images.

    Examples
    --------
    >>> import gloam
    >>> found = gloam.leaks("photos", "files/train/normal")
    >>> len(found.pairs), found.pairs[0].distance
    (4, 0)
    """
    if len(sets) < 2:
        raise SourceError("leaks: give two sets or more")
    unreadable: list[str] = []
    held: dict[str, list[Seen]] = {}
    for one in sets:
        held[str(one)], damaged = measure_pictures(one, workers, progress)
        unreadable += damaged
    if len(held) < len(sets):
        raise SourceError(f"{sets[0]}: the same set is given twice")
    looks = {name: [one.look for one in seen] for name, seen in held.items()}
    hashes = {name: hashes_of(seen) for name, seen in looks.items()}
    found = []
    for first, second in combinations(held, 2):
        twins = find_twins(hashes[first], looks[first].__getitem__, looks[second])
        found += [Leak(held[first][a].path, held[second][b].path, bits) for a, b, bits in twins]
    return Leaks(found, {name: len(seen) for name, seen in held.items()}, unreadable)


def measure_pictures(
    given: str | Path, workers: int | None = None, progress: Progress | None = None
) -> tuple[list[Seen], list[str]]:
    """Look at all pictures of a folder, or the normals of a set; see `leaks`.

    Returns what could not be read, too, with the reason. Raises SourceError when it holds no
    images.
    """
    shown, (count, held) = progress or Silent(), _pictures_of(given)
    shown.stage("comparing", count)
    found = each_pair(_seen, held, local_engine(workers), shown.at, count)
    damaged = [one for one in found if isinstance(one, str)]
    return [one for one in found if not isinstance(one, str)], damaged


class _Picture(NamedTuple):
    """A picture of a folder, or of a set, whose bytes are at hand."""

    path: str
    data: bytes | None = None

    def read(self) -> tuple[bytes]:
        """Return its file's bytes; those of an array of NumPy's as PNG."""
        try:
            return (npy_as_png(self.data or read_regular(as_path(self.path), byte_limit())),)
        except OSError as error:
            raise SourceError.at(self.path, error.strerror or str(error)) from error
        except ImageRefused as refusal:
            raise SourceError.at(self.path, refusal.detail) from None


def _pictures_of(given: str | Path) -> tuple[int, Iterable[_Picture]]:
    """Count and list the pictures of a folder or a set; those of gloam's are read when taken."""
    root = as_path(given)
    if root.is_dir() or "=" not in str(given):
        if (root / SET_FILE).is_file():
            pairs = open_set(given)
            return len(pairs), (
                _Picture(f"{given}/{pair.key}", own.data)
                for pair in pairs.pairs()
                for own in [one for name, one in pair.members.items() if is_normal(name)][:1]
            )
        files: Iterable[str] = map(str, list_images(root, npy=True))
    else:
        samples = real_named(str(given), preferred="test")
        files = (one if isinstance(one, str) else one[1] for one in samples)
    found = [_Picture(path) for path in dict.fromkeys(files)]
    return len(found), found


def _seen(picture: _Picture, data: bytes) -> Seen | str:
    try:
        return Seen(picture.path, look_at_file(data))
    except ImageRefused as refusal:
        return f"{picture.path}: {refusal.detail}"


def _pixels(wanted: set[str], sets: list[str]) -> dict[str, Pixels]:
    """Read the pictures of a sheet, made smaller."""
    found = {}
    for picture in (one for given in sets for one in _pictures_of(given)[1] if one.path in wanted):
        image = Image.fromarray(decode_as_rgb(*picture.read()))
        image.thumbnail((_WIDTH, _WIDTH))
        found[picture.path] = np.asarray(image)
    return found


EXCLUDED = "of a scene to keep out"
"""The reason of a candidate that shows what a picture of those sets shows."""


@lru_cache(maxsize=8)
def pictures(sets: tuple[str, ...]) -> tuple[Seen, ...]:
    """Look at the pictures of some sets. Raises ConfigError when one cannot be read."""
    found = [measure_pictures(one) for one in sets]
    if unreadable := [what for _, damaged in found for what in damaged]:
        raise ConfigError(f"--exclude: {unreadable[0]}", key="exclude")
    return tuple(seen for own, _ in found for seen in own)


def sum_of(sets: tuple[str, ...]) -> str:
    """Return a checksum of the scenes of some sets, whatever their paths; a checksum as it is."""
    if len(sets) == 1 and re.fullmatch("[0-9a-f]{64}", sets[0]):
        return sets[0]
    looks = [one.look for one in pictures(sets)]
    shown = sorted((one.hash, one.thumbnail.astype(np.int64).tobytes()) for one in looks)
    return sha256(repr(shown).encode()).hexdigest()


def refuse_known_scenes(candidates: pa.Table, sets: Sequence[str]) -> pa.Table:
    """Refuse the candidates that show a scene of one of the sets.

    candidates: of `measure_candidates`.
    sets: see `gloam.leaks`.

    Raises ConfigError when candidates are clips.
    """
    known = list(pictures(tuple(sets)))
    places = list(locations(candidates))
    if any(map(locates_clip, places)):
        raise ConfigError("--exclude: is for photographs, not for clips", key="exclude")
    reasons, details = (candidates.column(name).to_pylist() for name in ("reason", "detail"))
    usable = np.array([i for i, reason in enumerate(reasons) if reason == KEPT], np.int64)
    hashes = candidates.column("perceptual_hash").to_numpy()[usable]

    def look(number: int) -> Look | None:
        try:
            return look_at_file(read(places[usable[number]]))
        except ImageRefused:  # since it was measured; its pair will be refused
            return None

    for number, other, bits in find_twins([hashes], look, [one.look for one in known]):
        reasons[usable[number]] = EXCLUDED
        details[usable[number]] = f"{known[other].path.rpartition('/')[2]}, {bits} bits apart"
    for name, values in (("reason", reasons), ("detail", details)):
        column = pa.array(values, candidates.schema.field(name).type)
        candidates = candidates.set_column(candidates.column_names.index(name), name, column)
    return candidates
