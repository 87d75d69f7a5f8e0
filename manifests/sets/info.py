"""A set's own files: `set.json`, which is written last, and the note of a build under way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NotRequired

from pydantic import ValidationError, model_validator
from typing_extensions import TypedDict

from ...errors import DamagedError, SetError, visible
from ...storage import untrusted
from ...storage.atomic import canonical_json, sha256_and_size, sha256_bytes, write_bytes
from ...storage.stores import Place, as_path
from ..labels.label_table import CLASS_LIST, LABELS
from ..recorded_request import RecordedRequest
from ..sources.folders import folders_of_pairs
from .receipts import FileFacts, Grown, Sealed

SET_FILE = "set.json"
README = "README.md"
EDITABLE = (README,)
"""Files that anybody may edit: no checksum covers them."""
WORK_FOLDER = ".gloam"
"""Folder of a build's note, lock and measurements; deleted at the end."""
PLAN, CANDIDATES = "plan.parquet", "candidates.parquet"
PAIRS, REFUSED, RECIPE = "pairs.parquet", "refused.parquet", "recipe.yaml"


class OriginSet(TypedDict):
    """The set that another one was made from, and what was changed."""

    name: str
    sha256: untrusted.Digest
    changed: list[str]
    lows_only: NotRequired[bool]
    """True if the normals stayed there."""


class BuildNote(Grown):
    """All that a set is a function of, besides the photographs.

    versions: versions of gloam and of the libraries whose code decides bytes.
    plan_sha256: checksum of `plan.parquet`.
    labels_sha256: checksum of `labels.parquet`, "" in a set without labels.
    """

    later = ("labels_sha256",)

    format: int = untrusted.FORMAT
    request: RecordedRequest
    versions: dict[str, str]
    plan_sha256: untrusted.Digest
    origin: OriginSet | None = None
    labels_sha256: untrusted.Digest = ""

    @property
    def labelled(self) -> bool:
        """True if the set holds labels."""
        return bool(self.labels_sha256)

    @property
    def planned_by(self) -> tuple[str, ...]:
        """Files of the set that say what its pairs are made of: plan, recipe, labels if it has."""
        return (PLAN, CANDIDATES, RECIPE, *((LABELS, CLASS_LIST) if self.labelled else ()))

    @property
    def lows_only(self) -> bool:
        """True if the set holds lows only; the normals are in its origin."""
        return bool(self.origin and self.origin.get("lows_only"))

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all of it: two builds with equal fingerprints write equal bytes."""
        return sha256_bytes(canonical_json(self.model_dump()))


class SetInfo(Sealed):
    """The content of `set.json`.

    format: version of the set format.
    layout: "shards" or "files".
    counts: pairs of each split, and images refused.
    fingerprint: fingerprint of `build`.
    libraries: versions of everything else that took part, for the record.
    units: dict of a unit's name to pairs in it.
    files: every file of the set but the units' own, which their receipts hold, and this one.
    sha256: checksum of this file with this field empty.
    """

    format: int = untrusted.FORMAT
    name: str
    layout: untrusted.LayoutName
    seed: int
    recipe: str
    counts: dict[str, untrusted.Count]
    fingerprint: untrusted.Digest
    build: BuildNote
    libraries: dict[str, str]
    units: dict[untrusted.UnitName, untrusted.Count]
    files: dict[untrusted.SetPath, FileFacts]
    sha256: untrusted.Digest = ""

    @model_validator(mode="after")
    def _counts_its_units(self) -> SetInfo:
        """Refuse counts that are not the sums of what units hold."""
        sums = dict.fromkeys(untrusted.SPLITS, 0)
        for unit, pairs in self.units.items():
            sums[unit.rpartition("-")[0]] += pairs
        for split in {*self.counts, *(split for split, pairs in sums.items() if pairs)}:
            if split != "refused" and sums.get(split) != self.counts.get(split):
                raise ValueError(
                    f"counts {self.counts.get(split, 0)} pairs in {untrusted.shown(split)},"
                    f" its units {sums.get(split, 0)}"
                )
        return self

    def __repr__(self) -> str:
        counts = ", ".join(f"{name} {count:,}" for name, count in self.counts.items())
        return f"<SetInfo {self.name}: {counts}>"


def write_set(root: Path, info: SetInfo) -> None:
    """Publish `set.json`; everything else must be on disk before."""
    write_bytes(root / SET_FILE, canonical_json(info.sealed().model_dump()))


def read_set(root: str | Path) -> SetInfo:
    """Read a finished set's `set.json`; see `find_set`."""
    return find_set(root)[1]


def find_set(root: str | Path) -> tuple[Place, SetInfo]:
    """Return where a finished set lies, and its `set.json`.

    Raises SetError when the set is not there, not finished, of a newer format, or its `set.json` is
    not as it was written.
    """
    place = as_path(root)
    path = untrusted.inside(place, SET_FILE)
    try:
        data, value = untrusted.read_versioned(path)
        info = SetInfo.model_validate(value)
    except ValidationError as error:
        raise _unreadable_file(error, path) from error
    except SetError:
        if path.is_file():
            raise
        raise _no_finished_set(place) from None
    if info.sealed() != info or canonical_json(info.model_dump()) != data:
        raise DamagedError.at(path, "damaged: not as it was written")
    return place, info


def _no_finished_set(root: Path) -> SetError:
    """Say that a folder holds no finished set, and what it holds."""
    if (root / WORK_FOLDER).is_dir():
        return SetError.at(root, "the set is not finished; run its gloam build command again")
    named = folders_of_pairs(root)
    pairs = f"; pairs_in{tuple(map(str, named))} gives loaders its pairs" if named else ""
    return SetError.at(root, f"not a gloam set (it has no {SET_FILE}){pairs}")


def check_normals(root: Path, info: SetInfo, normals: Path | None = None) -> SetInfo:
    """Check that a set's normals are in it or, if it holds lows only, in the set given for them.

    Returns the one that has them. Raises SetError when they are in neither, or are not wanted.
    """
    if not info.build.lows_only or info.build.origin is None:
        if normals is not None:
            raise SetError.at(root, f"holds its own normals; leave out those of {normals}")
        return info
    origin = info.build.origin
    if normals is None:
        raise SetError.at(
            root,
            f"holds lows only; name the set that it was made from too, which holds its"
            " normals: --normals of report, normals= of loaders, the second argument of stats"
            f" (it is called {origin['name']!r} in its set.json)",
        )
    given = read_set(normals)
    if given.sha256 != origin["sha256"]:
        raise SetError.at(
            normals,
            f"is not the set that {root} was made from: its set.json has the checksum "
            f"{given.sha256[:16]}, wanted is {origin['sha256'][:16]}",
        )
    return given


def note_path(root: Path) -> Path:
    """Return where the note of a build under way lies."""
    return root / WORK_FOLDER / "build.json"


def write_note(root: Path, note: BuildNote) -> None:
    """Publish the note of a build under way."""
    write_bytes(note_path(root), canonical_json(note.model_dump()))


def read_note(root: Path) -> BuildNote | None:
    """Read the note of the build that a folder holds, finished or under way.

    None when it holds none. Raises SetError when there is one, but it cannot be read.
    """
    path = note_path(root)
    if path.is_file():
        try:
            return BuildNote.model_validate(untrusted.read_versioned(path)[1])
        except ValidationError as error:
            raise _unreadable_file(error, path) from error
    return read_set(root).build if (root / SET_FILE).is_file() else None


def _unreadable_file(error: ValidationError, path: Path) -> SetError:
    """Say that a file is damaged or, where its request has options of others, of another gloam."""
    first = error.errors()[0]
    if first["type"] == "extra_forbidden" and "request" in first["loc"]:
        option = untrusted.shown(".".join(map(str, first["loc"])))[1:-1]
        return SetError.at(path, f"is of another gloam: {option} is unknown to this one")
    return DamagedError.at(path, f"damaged: {untrusted.first_finding(error)}")


def facts_of(path: Path) -> FileFacts:
    """Measure the size and checksum of a file. Raises SetError when it cannot be read."""
    with untrusted.naming(path):
        sha256, size = sha256_and_size(path)
    return FileFacts(sha256=sha256, bytes=size)


def differences(before: Any, now: Any, where: str = "") -> list[str]:
    """List the leaves in which two JSON values differ, as `path: before, now after`."""
    if isinstance(before, dict | None) and isinstance(now, dict | None):
        first, second = before or {}, now or {}
        found = [
            line
            for key in sorted(set(first) | set(second))
            for line in differences(
                first.get(key), second.get(key), f"{where}.{visible(key)[:60]}".strip(".")
            )
        ]
        if found or None not in (before, now):
            return found
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        pairs = enumerate(zip(before, now, strict=True))
        return [line for i, (b, n) in pairs for line in differences(b, n, f"{where}[{i}]")]
    # As JSON has them: 1 is neither true nor 1.0.
    alike = all(isinstance(before, kind) == isinstance(now, kind) for kind in (bool, float))
    return [] if alike and before == now else [f"{where}: {_shown(before)}, now {_shown(now)}"]


def _shown(value: Any) -> str:
    try:
        text = json.dumps(value)
    except ValueError:  # a number of thousands of digits
        text = untrusted.shown(value)
    if len(text) <= 60:
        return text
    if isinstance(value, dict | list):  # not cut in the middle
        return f"{len(value):,} {'value' if len(value) == 1 else 'values'}"
    return text[:57] + "..."
