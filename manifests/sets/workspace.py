"""The folder that a set is made in: held by one process, left tidy, and what is missing in it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import compress
from pathlib import Path

from ...errors import SetError
from ...storage.atomic import claim, remove_files, remove_temporaries, remove_tree
from ...storage.locks import exclusive
from ...storage.untrusted import naming
from .info import SET_FILE, WORK_FOLDER, BuildNote, note_path
from .problems import check_unit
from .receipts import FOLDER as RECEIPTS
from .receipts import is_done, read_receipt
from .units import Unit, each_unit


def refuse_broken_link(root: Path) -> None:
    """Raise SetError where what is to be written is a link to nothing."""
    if root.is_symlink() and not root.exists():
        raise SetError.at(
            root,
            f"is a link to {os.readlink(root)}, which is not there; choose another folder, or make"
            " that one",
        )


def prepare_output(root: Path) -> list[Path]:
    """Make the folder of a set, unless it is one or is empty.

    Returns what killed writers left there. Raises SetError when it holds something else, a link
    among it, or cannot be written.
    """
    with naming(root, what="cannot be written: "):
        # In this order another builder may begin or end meanwhile: its work's folder is there
        # before all else, and goes when set.json has come.
        refuse_broken_link(root)
        used = root.exists() and (not root.is_dir() or any(root.iterdir()))
        ours = (root / WORK_FOLDER).is_dir() or (root / SET_FILE).is_file()
        if used and not ours:
            raise SetError.at(root, "exists and is not a gloam set; choose another or empty it")
        left = claim(root)
        (root / WORK_FOLDER).mkdir(parents=True, exist_ok=True)
    return left


@contextmanager
def working_on(root: Path) -> Iterator[None]:
    """Hold a set's folder for the length of the block.

    Left-overs of killed writers, and of a finished set's work, are deleted. Raises SetError when
    the folder holds something else or cannot be written, or another process works on it.
    """
    left = prepare_output(root)
    with exclusive(root / WORK_FOLDER / "lock"):
        remove_files(left)
        try:
            yield
        finally:
            remove_temporaries(root)
            if (root / SET_FILE).is_file() and not note_path(root).is_file():
                remove_tree(root / WORK_FOLDER)


def refuse_changes(root: Path, changed: Sequence[str]) -> None:
    """Raise SetError if settings differ from those that the folder's set was begun with.

    changed: lines of `differences`.
    """
    if changed:
        more = f"; and {len(changed) - 5} more" if len(changed) > 5 else ""
        raise SetError.at(
            root,
            f"holds a set begun with other settings ({'; '.join(changed[:5])}{more}); repeat its"
            " command as it was, or choose another folder",
        )


def refuse_mixing(root: Path, note: BuildNote) -> None:
    """Refuse a plan that replaces a damaged one and is not the same.

    The units that are there say which it was. Raises SetError when a unit of another build is
    there.
    """
    for path in sorted((root / RECEIPTS).glob("*.json")):
        try:
            other = read_receipt(root, path.stem).fingerprint != note.fingerprint
        except SetError:
            continue
        if other:
            raise SetError.at(
                root,
                "its plan or set.json is damaged, and these settings or sources are not"
                " those it was built with; repeat its command as it was with the sources as they"
                " were, or build a new set",
            )


def missing_units(root: Path, layout: str, units: Iterable[str], note: BuildNote) -> list[str]:
    """List the units to make.

    Those without a receipt of this build or, in a set that was finished once, not as the receipt
    says.
    """
    finished = (root / SET_FILE).is_file()
    there = {path.stem for path in (root / RECEIPTS).glob("*.json")}

    def missing(unit: Unit) -> bool:
        return (
            unit.name not in there
            or not is_done(root, unit.name, note.fingerprint)
            or bool(check_unit(unit, checksums=finished)[1])
        )

    names = list(units)
    return list(compress(names, each_unit(missing, [Unit(root, layout, one) for one in names])))
