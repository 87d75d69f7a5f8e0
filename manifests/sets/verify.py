"""Checking a set against its own records.

Whether everything is there, readable, complete and unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path

from ...engines.engine import Engine, check_paths, ignored
from ...errors import SetError
from ...storage.atomic import sha256_file
from ...storage.stores import each
from ...storage.tables import read_table
from .info import PAIRS, PLAN, SetInfo
from .layouts import layout_named
from .pair_set import PairSet, open_set
from .receipts import FOLDER as RECEIPTS
from .receipts import Receipt, read_receipt


class Kind(StrEnum):
    """What sort of thing is wrong."""

    MISSING = "missing"
    UNREADABLE = "unreadable"
    SIZE = "size"
    CHANGED = "changed"
    """Other bytes than were written."""
    RECEIPT = "receipt"
    """A receipt that is damaged, or of another build."""
    COUNT = "count"
    """Pairs that are planned and not there, or counted differently."""
    LOW = "low"
    """A low that its normal and its draw do not make."""
    STRANGER = "stranger"
    """A file that no receipt knows."""


@dataclass(frozen=True)
class Problem:
    """Something wrong with a set.

    Attributes
    ----------
    where : str
        Path in the set, and the member or key if it is known.
    what : str
        What is wrong.
    mend : str
        What to do about it.
    kind : Kind
    remark : bool
        Whether it is no damage, but a file that is not of the set.
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
    at: Callable[[int], None] = ignored,
    strict: bool = False,
    *,
    engine: Engine | None = None,
) -> list[Problem]:
    """Check a finished set and report everything that is wrong.

    Parameters
    ----------
    pairs : PairSet or path
    quick : bool
        Compare sizes only, and read no checksums.
    at : function
        Called with the number of units checked so far.
    strict : bool
        Take files that are not of the set for damage. Other tools leave theirs beside one:
        Energon's and webdataset's indexes, a README.md or metadata of the Hub.
    engine : Engine, optional
        A cluster that reads the set's files; else this process does.

    Returns
    -------
    list of Problem
        Empty, or remarks alone, when all is well.

    Raises
    ------
    SetError
        When there is no set, or its `set.json` cannot be trusted.

    Examples
    --------
    >>> import gloam
    >>> gloam.verify("SET")
    []
    """
    pairs = open_set(pairs)
    root, info = pairs.root, pairs.info
    problems = list(_own_files(root, info, quick))
    check = partial(unit_problems, root, info.layout, checksums=not quick)
    units = list(info.units)
    if engine is not None and engine.far:
        check_paths(engine, root)
        results = engine.map(check, units)
    else:
        results = each(check, units, root)
    for done, found in enumerate(results):
        problems += found
        at(done + 1)
    damaged = {problem.where for problem in problems}
    if not damaged & {PLAN, PAIRS}:
        problems += _counts(root, info)
    again = "the gloam regenerate or export" if info.build.origin else "the gloam build"
    made_again = f"{again} command of the set, run again, makes it anew"
    return [replace(problem, mend=made_again) for problem in problems] + list(
        _strangers(root, info, strict)
    )


def _own_files(root: Path, info: SetInfo, quick: bool) -> Iterator[Problem]:
    for name, facts in info.files.items():
        yield from _check_file(root, name, facts.bytes, None if quick else facts.sha256)


def _check_file(root: Path, name: str, size: int, sha256: str | None) -> Iterator[Problem]:
    path = root / name
    try:
        found = path.stat().st_size
        if found != size:
            yield Problem(
                name,
                f"has {found:,} bytes, {size:,} were written"
                + (" (cut short)" if found < size else ""),
                kind=Kind.SIZE,
            )
        elif sha256 is not None and sha256_file(path) != sha256:
            yield Problem(name, "is not as it was written (its SHA-256 differs)", kind=Kind.CHANGED)
    except FileNotFoundError:
        yield Problem(name, "is missing", kind=Kind.MISSING)
    except OSError as error:
        yield Problem(name, f"cannot be read: {error.strerror or error}", kind=Kind.UNREADABLE)


def unit_problems(root: Path, layout: str, unit: str, checksums: bool) -> list[Problem]:
    """Report what is wrong with the files of one unit, by its receipt.

    Where bytes differ, the members concerned are named.
    """
    try:
        receipt = read_receipt(root, unit)
    except SetError as error:
        return [Problem(f"receipts/{unit}.json", error.what, kind=Kind.RECEIPT)]
    problems = []
    for file in receipt.files:
        name = file.path
        found = list(_check_file(root, name, file.bytes, file.sha256 if checksums else None))
        if found and found[0].kind is Kind.CHANGED:
            damage = layout_named(layout).damage(root, unit, name)
            named = [
                Problem(f"{name}: {member}", what, kind=Kind.CHANGED) for member, what in damage
            ]
            found = named or found
        problems += found
    return problems


def _receipt(root: Path, unit: str) -> Receipt | None:
    try:
        return read_receipt(root, unit)
    except SetError:
        return None


def _counts(root: Path, info: SetInfo) -> Iterator[Problem]:
    """Check that every planned pair is there or refused, and that tables agree with receipts."""
    try:
        planned = set(read_table(root / PLAN, columns=["key"])["key"].to_pylist())
        made = read_table(root / PAIRS, columns=["key"])["key"].to_pylist()
    except (OSError, ValueError) as error:
        yield Problem(PAIRS, f"cannot be read: {error}", kind=Kind.UNREADABLE)
        return
    refused: set[str] = set()
    units = list(info.units)
    for unit, receipt in zip(units, each(partial(_receipt, root), units, root), strict=True):
        pairs = info.units[unit]
        if receipt is None:
            return  # reported already
        refused |= {pair.key for pair in receipt.refused}
        if receipt.pairs != pairs:
            yield Problem(
                f"receipts/{unit}.json",
                f"counts {receipt.pairs} pairs, set.json {pairs}",
                kind=Kind.COUNT,
            )
        if receipt.fingerprint != info.fingerprint:
            yield Problem(f"receipts/{unit}.json", "belongs to another build", kind=Kind.RECEIPT)
    lost = planned - set(made) - refused
    if lost:
        yield Problem(
            PAIRS,
            f"{len(lost)} planned pairs are neither there nor refused, such as {min(lost)}",
            kind=Kind.COUNT,
        )
    if len(made) != sum(info.units.values()) or len(set(made)) != len(made):
        yield Problem(
            PAIRS,
            f"has {len(made)} rows, {len(set(made))} keys; the receipts count"
            f" {sum(info.units.values())}",
            kind=Kind.COUNT,
        )


def _strangers(root: Path, info: SetInfo, strict: bool) -> Iterator[Problem]:
    """Report files that no receipt knows: left by another build or another tool, or copied in."""
    known: set[str] = set(info.files)
    for receipt in each(partial(_receipt, root), list(info.units), root):
        if receipt is None:
            return
        known |= {file.path for file in receipt.files}
    for folder in (*layout_named(info.layout).folders, RECEIPTS):
        for path in sorted((root / folder).rglob("*")):
            name = path.relative_to(root).as_posix()
            if name not in known and path.is_file():
                mend = "move it elsewhere or delete it" if strict else ""
                what = "does not belong to the set"
                yield Problem(name, what, mend, kind=Kind.STRANGER, remark=not strict)
