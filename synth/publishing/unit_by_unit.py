"""Write a folder from a set unit by unit: finished units stay, and a mark ends it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ...engines.engine import Engine
from ...errors import SetError, first_line
from ...manifests.sets.info import PAIRS, SET_FILE, WORK_FOLDER, read_set
from ...manifests.sets.layouts import layout_named
from ...manifests.sets.pair_set import PairSet
from ...manifests.sets.problems import find_files
from ...manifests.sets.sample import Sample
from ...manifests.sets.tables import read_checked, read_plan
from ...manifests.sets.units import Unit, each_unit
from ...manifests.sets.workspace import refuse_broken_link
from ...progress import Progress
from ...storage import atomic
from ...storage.locks import exclusive
from ...storage.stores import place
from ...storage.untrusted import SPLITS, UNIT_FILE, inside, parse_json, read_regular, shown

MARK, SUMS = "gloam.json", "SHA256SUMS"
FOLDER = "gloam"
"""Folder of a published set that has its plan, recipe and tables."""
ENERGON = ".nv-meta"
"""Folder of what Megatron-Energon asks of a set."""
_MOST_SAID = 20  # odd names and numbers of one file
Note = dict[str, Any]
"""Facts of a unit's files, as JSON values; `sums` has the SHA-256 of each by its path."""
Writer = Callable[[Unit, Path], Note]
"""Writes a unit below a folder, from which its files are moved when all units are there."""


@dataclass
class Written:
    """A folder that is nearly done: its units are there."""

    root: Path
    units: list[Unit]
    sums: dict[str, str]  # SHA-256 of each file, by its path

    @property
    def splits(self) -> list[str]:
        """Splits that have units, in order."""
        return [split for split in SPLITS if any(unit.split == split for unit in self.units)]

    def notes(self, split: str | None = None) -> Iterator[Note]:
        """Yield the notes of the units, or of those of a split, in order."""
        for unit in self.units:
            if split in (None, unit.split):
                yield parse_json(read_regular(_note(self.root, unit)))

    def put(self, name: str, lines: Iterable[bytes]) -> None:
        """Write a file that goes over several units."""
        with atomic.atomic_write(self.root / name) as handle:
            handle.writelines(lines)
        self.sums[name] = atomic.sha256_file(self.root / name)


def write_units(
    origin: PairSet,
    root: Path,
    about: dict[str, Any],
    write: Writer,
    finish: Callable[[Written], None],
    engine: Engine,
    progress: Progress,
) -> None:
    """Write a folder, or go on with one that the same call began.

    root: new, empty, or begun by the same call.
    about: what it is, for the mark.
    write: a function that workers can be sent.
    finish: writes the rest, by `Written.put`.
    engine, progress: as of a build.

    Raises SetError when the folder holds something else, or a pair cannot be read.
    """
    origin.check_pass(engine, root)
    mark = atomic.canonical_json(about | {"set": origin.info.sha256, "name": origin.name})
    left = atomic.claim(root)
    if _done(root, mark):
        return
    work = root / WORK_FOLDER
    with exclusive(work / "lock"):
        atomic.remove_files(left)
        atomic.write_bytes(work / MARK, mark)
        units = [unit for unit in origin.units() if unit.count]
        missing = [unit for unit in units if not _note(root, unit).is_file()]
        done = len(origin) - sum(unit.count for unit in missing)
        progress.stage("writing", len(origin))
        each_unit(partial(_write_unit, write, root), missing, engine, progress.at, done)
        _move_sorted(_drafts(root), root)
        written = Written(root, units, {})
        for note in written.notes():
            written.sums |= note["sums"]
        finish(written)
        own = {name: one for name, one in written.sums.items() if not name.startswith(WORK_FOLDER)}
        written.put(SUMS, (f"{own[name]}  {name}\n".encode() for name in sorted(own)))
        atomic.write_bytes(root / MARK, mark)
    atomic.remove_tree(work)


def _write_unit(write: Writer, root: Path, unit: Unit) -> None:
    atomic.write_bytes(_note(root, unit), atomic.canonical_json(write(unit, _drafts(root))))


def _drafts(root: Path) -> Path:
    """Return where units are written: elsewhere first, where files lie in the order they came."""
    return root if place(root).remote else root / WORK_FOLDER / "files"


def _move_sorted(drafts: Path, root: Path) -> None:
    """Move files to their places in the order of their names, whoever made them when.

    Several file systems list a folder in the order in which its files came, and there are trainers
    that pair the lows and normals of two such lists.
    """
    if drafts == root or not drafts.is_dir():
        return
    atomic.remove_temporaries(drafts)
    names = sorted(path.relative_to(drafts) for path in drafts.rglob("*") if path.is_file())
    folders = dict.fromkeys(root / name.parent for name in names)
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        os.replace(drafts / name, root / name)
    for folder in folders:
        atomic.flush(folder)


def _note(root: Path, unit: Unit) -> Path:
    return root / WORK_FOLDER / "units" / f"{unit.name}.json"


def _done(root: Path, mark: bytes) -> bool:
    """Return whether the folder is finished; refuse one of something else."""
    for path in (root / MARK, root / WORK_FOLDER / MARK):
        if path.is_file():
            if read_regular(path) != mark:
                raise SetError.at(root, "holds another export; choose another folder or empty it")
            if path.parent != root:
                return False
            atomic.remove_tree(root / WORK_FOLDER)  # a kill may have left it
            return True
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise SetError.at(root, "exists and is no export; choose another folder")
    refuse_broken_link(root)
    (root / WORK_FOLDER).mkdir(parents=True, exist_ok=True)
    return False


def write_shard(root: Path, unit: str, samples: Iterable[Sample]) -> dict[str, str]:
    """Write samples as a shard with DALI's index; returns the SHA-256 of both by their paths."""
    with layout_named("shards").writer(root, unit) as out:
        for sample in samples:
            out.add(sample)
        return {file.path: file.sha256 for file in out.close()}


def is_prepared(name: str) -> bool:
    """Return whether Energon's own tools write a file of an export again: it has no checksum."""
    return name.endswith(".tar.idx") or name in (f"{ENERGON}/.info.json", f"{ENERGON}/split.yaml")


def verify_export(
    root: Path, at: Callable[[int], None], strict: bool = False
) -> tuple[list[str], list[str]]:
    """Check such a folder by its checksums, and the names and numbers in what was published.

    at: called with the number of files checked so far.
    strict: whether files that have no checksum count as damage.

    Returns what is wrong, and remarks: each a line.
    """
    try:
        lines = read_regular(root / SUMS).decode("utf-8").removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        return [f"{SUMS}: cannot be read: {getattr(error, 'strerror', None) or error}"], []
    found = list(_odd_notes(root))
    known = {MARK, SUMS}
    for number, line in enumerate(lines, 1):
        digest, _, name = line.partition("  ")
        if name in known:  # else one file, listed a million times, is read as often
            found.append(f"{SUMS}: line {number} names {shown(name)} again")
            continue
        known.add(name)
        try:
            found += _changed(root, name, digest)
        except OSError as error:
            found.append(f"{name}: {error.strerror or error}")
        except SetError as error:
            found.append(str(error).removeprefix(f"{root}: "))
        at(number)
    others = [
        f"{shown(name)[1:-1]}: has no checksum"
        for name in sorted({*find_files(root)} - known)
        if not is_prepared(name)
    ]
    return (found + others, []) if strict else (found, others)


def _changed(root: Path, name: str, digest: str) -> Iterator[str]:
    """Compare a file with its checksum; of a shard, names and numbers are looked at, too."""
    path, unit = inside(root, name, SUMS), UNIT_FILE.match(name)
    if unit and unit[1]:
        sha256, odd = layout_named("shards").examine(root, unit[1], name)
    else:
        sha256, odd = atomic.sha256_file(path), []
    if sha256 != digest:
        yield f"{name}: was changed"
    else:
        for where, what in odd[:_MOST_SAID]:
            yield f"{name}: {where}: {what}" if where else f"{name}: {what}"


def _odd_notes(root: Path) -> Iterator[str]:
    """Yield what is wrong with the mark, and with the set's own files in what was published."""
    try:
        if not isinstance(parse_json(read_regular(root / MARK)), dict):
            yield f"{MARK}: holds no keys and values"
    except (OSError, ValueError) as error:
        yield f"{MARK}: cannot be read: {first_line(error)}"
    folder = root / FOLDER
    if not os.path.lexists(folder):
        return  # for a trainer
    try:
        info = read_set(folder)
        read_plan(folder)
        read_checked(inside(folder, PAIRS), ["key"])
        for name, facts in info.files.items():
            path = inside(folder, name)
            if path.is_file() and atomic.sha256_file(path) != facts.sha256:
                yield f"{FOLDER}/{name}: is not that of {SET_FILE}"
    except SetError as error:
        yield str(error).removeprefix(f"{root}/")
    except OSError as error:
        yield f"{FOLDER}: {error}"
