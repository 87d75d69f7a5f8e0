"""Copying a finished set elsewhere, into memory or onto a local disk, checked by its receipts."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from ...engines.engine import ignore_progress
from ...errors import SetError
from ...progress import Progress, Silent
from ...storage.atomic import (
    atomic_write,
    claim,
    is_temporary,
    remove_files,
    remove_tree,
    sha256_file,
)
from ...storage.locks import exclusive
from ...storage.stores import as_path, map_concurrent
from ...storage.untrusted import inside, open_regular
from ..labels.coco_json import FOLDERS as ANNOTATIONS
from ..selection.plan import SPLITS
from .info import README, SET_FILE, WORK_FOLDER, SetInfo, read_set
from .pair_set import PairSet, open_set
from .receipts import UnitFile
from .workspace import refuse_broken_link

_PIECE = 1 << 22

_FOLDERS = ("shards", "receipts", "lists", *ANNOTATIONS.values())


def files_of_set(pairs: PairSet, splits: tuple[str, ...] = SPLITS) -> list[UnitFile]:
    """List every file of a set in the order in which it is copied.

    Shards, their receipts, tables and lists, and set.json last, which checks itself: it has no
    checksum here. Raises SetError when a receipt is
    missing or damaged.
    """
    files: list[UnitFile] = []
    for unit in pairs.units():
        if unit.split in splits:
            files += unit.receipt.files
    others = set(SPLITS) - set(splits)
    files += [
        UnitFile(path=path, **facts.model_dump())
        for path, facts in pairs.info.files.items()
        if path.partition("/")[0] not in others
    ]
    last = [README, SET_FILE] if (pairs.root / README).is_file() else [SET_FILE]
    sizes = ((name, inside(pairs.root, name).stat().st_size) for name in last)
    return [*files, *(UnitFile(path=name, bytes=size, sha256="") for name, size in sizes)]


def stage(
    pairs: PairSet | str | Path,
    target: str | Path,
    split: str | None = None,
    progress: Progress | None = None,
) -> tuple[int, int]:
    """Copy a set.

    Files that are already there with their right bytes are kept, so that a stopped copy goes on.

    Parameters
    ----------
    pairs : PairSet or path
        A finished set.
    target : str or Path
        A folder to be made, such as /dev/shm/set, or one in which a copy of the same set was begun.
    split : str, optional
        Split to copy the shards of ("train", "val" or "test"), by default all; receipts and tables
        always come along.
    progress : Progress, optional
        Receives the number of bytes done so far.

    Returns
    -------
    (copied, kept) : numbers of files

    Raises
    ------
    SetError
        When the set is damaged, does not fit, or the target holds something else.

    Examples
    --------
    >>> import gloam
    >>> copied, kept = gloam.stage("SET", "memory/set")
    >>> kept, gloam.verify("memory/set")
    (0, [])
    """
    pairs, target = open_set(pairs), as_path(target)
    root, info = pairs.root, pairs.info
    if target.resolve() == root.resolve():
        raise SetError.at(target, "is the set itself")
    at = (progress or Silent()).at
    files = files_of_set(pairs, (split,) if split else SPLITS)
    whole = sum(file.bytes for file in files)
    (progress or Silent()).stage("copying", whole)
    _check_target(target, info)
    left = claim(target)
    with exclusive(target / WORK_FOLDER / "lock"):
        missing = list(_missing(target, files))
        needed = sum(file.bytes for file in missing)
        if not target.remote and needed > (free := shutil.disk_usage(target).free):
            what = f"the set needs {_size(needed)} more, {_size(free)} are free"
            raise SetError.at(target, what)
        remove_files(left)
        done = whole - needed
        at(done)
        # What says that the copy is whole comes last, by itself.
        *others, last = missing if missing else [None]
        remote = target if target.remote else root
        for size in map_concurrent(partial(_copy, root, target), others, remote):
            done += size
            at(done)
        if last is not None:
            at(done + _copy(root, target, last))
    remove_tree(target / WORK_FOLDER)
    return len(missing), len(files) - len(missing)


def _check_target(target: Path, info: SetInfo) -> None:
    """Refuse a folder unless it is new, empty, or a copy of this very set, whole or begun."""
    refuse_broken_link(target)
    if (target / SET_FILE).is_file():
        if read_set(target).sha256 != info.sha256:
            raise SetError.at(target, "holds another set; give another folder, or delete it")
    elif target.exists():
        known = {Path(path).name for path in info.files} | {f"{unit}.json" for unit in info.units}
        own = {*_FOLDERS, *SPLITS, README, WORK_FOLDER, *known}
        strange = [
            path.name
            for path in target.iterdir()
            if path.name not in own and not is_temporary(path.name) and path.suffix != ".lock"
        ]
        receipts = (target / "receipts").glob("*.json")
        if strange or any(path.name not in known for path in receipts):
            raise SetError.at(
                target, f"holds other files ({(strange or ['receipts'])[0]}); give a new folder"
            )


def _missing(target: Path, files: list[UnitFile]) -> Iterator[UnitFile]:
    for file in files:
        path = inside(target, file.path)
        there = bool(file.sha256) and path.is_file() and path.stat().st_size == file.bytes
        if not there or sha256_file(path) != file.sha256:
            yield file


def _size(count: int) -> str:
    """Write a number of bytes for people."""
    return f"{count / 1e6:,.1f} MB" if count < 1e9 else f"{count / 1e9:,.1f} GB"


def _copy(root: Path, target: Path, file: UnitFile) -> int:
    try:
        return copy_checked(root, target, file)
    except OSError as error:
        raise SetError.at(
            error.filename or target / file.path,
            f"{error.strerror or error}; run it again to continue",
        ) from error


def copy_checked(
    root: Path, target: Path, file: UnitFile, at: Callable[[int], object] = ignore_progress
) -> int:
    """Copy a file of a set to the same place below a folder: whole and right, or not at all.

    file: not compared where its checksum is "".
    at: function; called with the number of bytes so far; what it raises ends the copy.

    Returns the number of its bytes.

    Raises SetError when it is damaged; OSError when it cannot be read or written.
    """
    digest = hashlib.sha256()
    size = 0
    path = inside(root, file.path)
    with open_regular(path) as source, atomic_write(inside(target, file.path)) as copy:
        while piece := source.read(_PIECE):
            digest.update(piece)
            size += len(piece)
            copy.write(piece)
            at(size)
            if file.sha256 and size > file.bytes:  # it may go on for ever
                break
        if file.sha256 and (digest.hexdigest() != file.sha256 or size != file.bytes):
            raise SetError.at(path, "is damaged; gloam verify the set, gloam build mends it")
    return size
