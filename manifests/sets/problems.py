"""Verify a set: everything is there, readable, complete and unchanged."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path

import pyarrow as pa

from ...engines.engine import Counted, Engine, check_paths, ignore_progress
from ...engines.local import count
from ...engines.process import available_cores
from ...errors import SetError, first_line
from ...storage.atomic import sha256_file
from ...storage.parquet import read_named, read_schema
from ...storage.stores import in_store, place
from ...storage.untrusted import inside, naming
from ..labels.label_table import LABELS, read_about, read_left_out
from .info import EDITABLE, PAIRS, PLAN, SET_FILE, WORK_FOLDER, SetInfo
from .layouts import layout_named
from .layouts.layout import LISTS, read_list
from .layouts.shard_tar import Examined
from .pair_set import PairSet, open_set
from .receipts import FileFacts, Receipt
from .stored_labels import LABEL_COLUMNS, label_rows
from .tables import check_columns, read_checked, read_plan
from .units import Unit, each_unit

_MOST_SAID = 20  # odd names and numbers of one file


class Kind(StrEnum):
    """Kinds of problems."""

    MISSING = "missing"
    UNREADABLE = "unreadable"
    SIZE = "size"
    CHANGED = "changed"
    """Other bytes than were written."""
    RECEIPT = "receipt"
    """A receipt that is damaged, or of another build."""
    COUNT = "count"
    """Pairs that are planned and not there, or counted differently."""
    FORGED = "forged"
    """Names or numbers that gloam does not write, under the right checksum."""
    LOW = "low"
    """A low that its normal and its draw do not make."""
    STRANGER = "stranger"
    """A file that no receipt knows."""


@dataclass(frozen=True)
class Problem:
    """Something wrong with a set.

    where: path in the set, and the member or key if it is known.
    remark: whether it is no damage, but a file that is not of the set.
    """

    where: str
    what: str
    mend: str = ""
    kind: Kind = Kind.CHANGED
    remark: bool = False

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" + (f"; {self.mend}" if self.mend else "")


def verify_set(
    pairs: PairSet | str | Path,
    quick: bool = False,
    at: Counted = ignore_progress,
    strict: bool = False,
    *,
    engine: Engine | None = None,
) -> list[Problem]:
    """Check a finished set and report everything that is wrong.

    quick, strict: as of `gloam.verify`.
    at: called with the number of units checked so far.
    engine: a cluster that reads the set's files; else this process does.

    Returns nothing, or remarks alone, when all is well. Raises SetError when there is no set, or
    its `set.json` cannot be trusted.
    """
    pairs = open_set(pairs)
    root, info = pairs.root, pairs.info
    problems, receipts = _examine_set(pairs, not quick, at, engine)
    damaged = {problem.where for problem in problems}
    if not damaged & {PLAN, PAIRS}:
        problems += _counts(root, info, receipts)
    again = "the gloam regenerate or export" if info.build.origin else "the gloam build"
    made_again = f"{again} command of the set, run again, makes it anew"
    return [replace(problem, mend=made_again) for problem in problems] + list(
        _find_strangers(root, info, receipts, strict)
    )


def look_over(pairs: PairSet) -> list[Problem]:
    """Report what a look at each file of a set tells, without reading it through.

    Sizes, receipts, and of shards on this machine their indexes, and whether some members are where
    these say.
    """
    problems, receipts = _examine_set(pairs, checksums=False)
    damaged = {unit_of(problem.where) for problem in problems}
    for unit, receipt in receipts.items():
        if receipt is None or unit in damaged or not receipt.pairs or in_store(pairs.root):
            continue
        try:
            found = layout_named(pairs.layout).glance(pairs.root, receipt)
            problems += [Problem(where, what) for where, what in found]
        except (OSError, SetError, ValueError) as error:
            problems.append(Problem(unit, f"cannot be read: {first_line(error)}"))
    return problems


def _examine_set(
    pairs: PairSet, checksums: bool, at: Counted = ignore_progress, engine: Engine | None = None
) -> tuple[list[Problem], dict[str, Receipt | None]]:
    """Report what is wrong with each file of a set, and return the receipts that are sound."""
    root, units = pairs.root, pairs.units()
    problems: list[Problem] = []
    for name, facts in pairs.info.files.items():
        examine = partial(_examine_file, root, name) if checksums else None
        problems += _check_file(root, name, facts, examine)
    remote = engine if engine is not None and engine.remote else None
    if remote is not None:
        check_paths(remote, root)
    # Hashing lets go of the interpreter's lock.
    threads = available_cores() if checksums else 1
    check = partial(check_unit, checksums=checksums)
    results = each_unit(check, units, remote, at, threads=threads)
    problems += [problem for _, found in results for problem in found]
    return problems, {unit.name: one for unit, (one, _) in zip(units, results, strict=True)}


def unit_of(where: str) -> str:
    """Return the unit that a problem is of; "" where it is of none."""
    name = where.partition(":")[0]
    folder, _, name = name.rpartition("/")
    return name.partition(".")[0] if folder in ("", "shards", "receipts") else ""


def _examine_file(root: Path, name: str) -> Examined:
    """Read a file of a set through that belongs to no unit."""
    path, odd = inside(root, name, SET_FILE), []
    try:
        if name == f"{LISTS}/{path.stem}.txt":
            read_list(root, path.stem)
        elif path.suffix == ".parquet":
            check_columns(path, read_schema(path))
            if name == LABELS:
                read_about(root)
                read_left_out(root)
    except SetError as error:
        odd.append(("", error.what))
    except (ValueError, pa.ArrowException) as error:
        odd.append(("", f"cannot be read: {first_line(error)}"))
    return Examined(sha256_file(path), odd)


def _check_file(
    root: Path, name: str, facts: FileFacts, examine: Callable[[], Examined] | None
) -> Iterator[Problem]:
    """Compare a file with what is known of it; `examine` reads it through, if that is wanted."""
    try:
        status = inside(root, name).stat()
        found = status.st_size
        if found != facts.bytes:
            yield Problem(
                name,
                f"has {found:,} bytes, {facts.bytes:,} were written"
                + (" (cut short)" if found < facts.bytes else ""),
                kind=Kind.SIZE,
            )
        elif examine is not None:
            sha256, odd = examine()
            if sha256 != facts.sha256:
                yield Problem(name, "is not as it was written (its SHA-256 differs)")
            else:
                for where, what in odd[:_MOST_SAID]:
                    yield Problem(f"{name}: {where}" if where else name, what, kind=Kind.FORGED)
                if len(odd) > _MOST_SAID:
                    more = f"{len(odd) - _MOST_SAID:,} more are as odd"
                    yield Problem(name, more, kind=Kind.FORGED)
    except FileNotFoundError:
        yield Problem(name, "is missing", kind=Kind.MISSING)
    except OSError as error:
        yield Problem(name, f"cannot be read: {error.strerror or error}", kind=Kind.UNREADABLE)
    except SetError as error:
        yield Problem(name, str(error).removeprefix(f"{root}: "), kind=Kind.FORGED)


def check_unit(unit: Unit, checksums: bool) -> tuple[Receipt | None, list[Problem]]:
    """Read a unit's receipt, if it is sound, and report what is wrong with it or with the files.

    Members whose bytes differ are named.
    """
    own, root = layout_named(unit.layout), unit.root
    count()
    try:
        receipt = unit.receipt
    except SetError as error:
        return None, [Problem(f"receipts/{unit.name}.json", error.what, kind=Kind.RECEIPT)]
    problems = []
    for file in receipt.files:
        name = file.path
        examine = partial(own.examine, root, unit.name, name) if checksums else None
        found = list(_check_file(root, name, file, examine))
        if found and found[0].kind is Kind.CHANGED:
            damage = own.damage(root, unit.name, name)
            found = [Problem(f"{name}: {member}", what) for member, what in damage] or found
        problems += found
    return receipt, problems


def _counts(root: Path, info: SetInfo, receipts: dict[str, Receipt | None]) -> Iterator[Problem]:
    """Check that every planned pair is there or refused, and that tables agree with receipts."""
    try:
        keys = read_plan(root, ["key", "split", "shard"])["key"].to_pylist()
        planned = set(keys)
        path = inside(root, PAIRS)
        made = read_checked(path, ["key"])["key"].to_pylist()
        if info.build.labelled:
            label_rows(path, read_named(path, LABEL_COLUMNS), len(read_about(root)[0]))
    except SetError as error:
        yield Problem(PAIRS, error.what, kind=Kind.UNREADABLE)
        return
    refused: set[str] = set()
    for unit, receipt in receipts.items():
        name, pairs = f"receipts/{unit}.json", info.units[unit]
        if receipt is None:
            return  # reported already
        refused |= {pair.key for pair in receipt.refused}
        if receipt.pairs != pairs:
            what = f"counts {receipt.pairs} pairs, set.json {pairs}"
            yield Problem(name, what, kind=Kind.COUNT)
        if receipt.fingerprint != info.fingerprint:
            yield Problem(name, "belongs to another build", kind=Kind.RECEIPT)
    if len(keys) > len(planned):
        yield Problem(PLAN, f"has {len(keys)} rows, {len(planned)} keys", kind=Kind.COUNT)
    lost = planned - set(made) - refused
    if lost:
        what = f"{len(lost)} planned pairs are neither there nor refused, such as {min(lost)}"
        yield Problem(PAIRS, what, kind=Kind.COUNT)
    total, unique = sum(info.units.values()), len(set(made))
    if len(made) != total or unique != len(made):
        what = f"has {len(made)} rows, {unique} keys; the receipts count {total}"
        yield Problem(PAIRS, what, kind=Kind.COUNT)


def _find_strangers(
    root: Path, info: SetInfo, receipts: dict[str, Receipt | None], strict: bool
) -> Iterator[Problem]:
    """Report files that no receipt knows: left by another build or another tool, or copied in."""
    known = {*info.files, SET_FILE, *EDITABLE}
    for receipt in receipts.values():
        if receipt is None:
            return
        known |= {file.path for file in receipt.files}
    for name in sorted(find_files(root)):
        if name not in known:
            mend = "move it elsewhere or delete it" if strict else ""
            what = "does not belong to the set"
            yield Problem(name, what, mend, kind=Kind.STRANGER, remark=not strict)


def find_files(root: Path) -> Iterator[str]:
    """Yield what lies in a set's folder, but for its work folder: files, links, pipes."""
    with naming(root):  # of an object whose name has `..`
        names = place(root).facts()
    if names is not None:
        yield from (name for name in names if name.partition("/")[0] != WORK_FOLDER)
        return
    top = os.fspath(root)
    for folder, folders, files in os.walk(top):
        below = "" if folder == top else f"{os.path.relpath(folder, top)}/"
        if not below and WORK_FOLDER in folders:
            folders.remove(WORK_FOLDER)
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        yield from (f"{below}{name}" for name in (*links, *files))
