"""Copying a finished set, checked by its receipts: elsewhere, or shards while they are loaded."""

from __future__ import annotations

import hashlib
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ...engines.engine import ignore_progress
from ...errors import SetError
from ...progress import Progress, Silent
from ...storage import atomic
from ...storage.locks import exclusive
from ...storage.stores import as_path, map_concurrent
from ...storage.untrusted import inside, open_regular
from ..labels.coco import FOLDERS as ANNOTATIONS
from ..selection.plan import SPLITS
from .info import README, SET_FILE, WORK_FOLDER, SetInfo, read_set
from .layouts.shard_tar import index_path, shard_path
from .pair_set import PairSet, open_set
from .receipts import UnitFile, read_receipt
from .units import each_unit
from .workspace import refuse_broken_link

_PIECE = 1 << 22

_FOLDERS = ("shards", "receipts", "lists", *ANNOTATIONS.values())


def _files_of_set(pairs: PairSet, split: str | None) -> list[UnitFile]:
    """List every file of a set, or those for a split, in the order in which it is copied.

    Shards, their receipts, tables and lists, and set.json last, which checks itself: it has no
    checksum here. Raises SetError when a receipt is missing or damaged.
    """
    own = each_unit(lambda unit: unit.receipt.files, pairs.units(split))
    files = [file for unit in own for file in unit]
    others = set(SPLITS) - {split} if split else ()
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
    pairs.check_folder(target)
    at = (progress or Silent()).at
    files = _files_of_set(pairs, split)
    whole = sum(file.bytes for file in files)
    (progress or Silent()).stage("copying", whole)
    _check_target(target, info)
    left = atomic.claim(target)
    with exclusive(target / WORK_FOLDER / "lock"):
        missing = list(_files_to_copy(target, files))
        needed = sum(file.bytes for file in missing)
        if not target.remote and needed > (free := shutil.disk_usage(target).free):
            what = f"the set needs {_bytes_in_words(needed)} more, {_bytes_in_words(free)} are free"
            raise SetError.at(target, what)
        atomic.remove_files(left)
        done = whole - needed
        at(done)
        # What says that the copy is whole comes last, by itself.
        *others, last = missing if missing else [None]
        remote = target if target.remote else root
        for size in map_concurrent(partial(_copy_file, root, target), others, remote):
            done += size
            at(done)
        if last is not None:
            at(done + _copy_file(root, target, last))
    atomic.remove_tree(target / WORK_FOLDER)
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
        names = [path.name for path in target.iterdir() if path.suffix != ".lock"]
        strange = [one for one in names if one not in own and not atomic.is_temporary(one)]
        receipts = (target / "receipts").glob("*.json")
        if strange or any(path.name not in known for path in receipts):
            raise SetError.at(
                target, f"holds other files ({(strange or ['receipts'])[0]}); give a new folder"
            )


def _files_to_copy(target: Path, files: list[UnitFile]) -> Iterator[UnitFile]:
    for file in files:
        path = inside(target, file.path)
        there = bool(file.sha256) and path.is_file() and path.stat().st_size == file.bytes
        if not there or atomic.sha256_file(path) != file.sha256:
            yield file


def _bytes_in_words(count: int) -> str:
    return f"{count / 1e6:,.1f} MB" if count < 1e9 else f"{count / 1e9:,.1f} GB"


def _copy_file(root: Path, target: Path, file: UnitFile) -> int:
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
    with open_regular(path) as source, atomic.atomic_write(inside(target, file.path)) as copy:
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


class ShardCache:
    """Copies of a set's shards, as many as fit, made by a thread.

    A shard is copied whole, checked by its receipt, or not there; several processes of a machine
    share a folder. Nothing is thrown out of it: an epoch needs every shard once, so that it would
    be thrown out before it is needed again.

    folder: folder of this machine; the copies of each set lie in a folder of their own in it.
    limit: bytes that this set's copies may take; what the disk has free, less a twentieth, is a
      limit too.

    Raises SetError when the folder of its copies is a link, or holds one.
    """

    def __init__(
        self, folder: Path, limit: int | None, identity: str, root: Path, units: Sequence[str]
    ) -> None:
        self._folder, self._limit, self._root, self._units = folder / identity, limit, root, units
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()
        atomic.claim(self._folder, link=False)
        self._done: set[str] = {unit for unit in units if self._has_shard(unit)}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_thread": None, "_stopped": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _stopped=threading.Event())

    def begin(self) -> None:
        """Begin to copy, unless that was begun before."""
        if self._thread is None and not self.whole:
            self._thread = threading.Thread(target=self._copy_units, daemon=True)
            self._thread.start()

    @property
    def whole(self) -> bool:
        """True if all shards are copied."""
        return len(self._done) == len(self._units)

    def root_of(self, unit: str) -> Path:
        """Return the folder below which a unit's shard lies: here, or in the store."""
        return self._folder if unit in self._done else self._root

    def close(self) -> None:
        """End copying; what is whole stays."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def _has_shard(self, unit: str) -> bool:
        return all(find(self._folder, unit).is_file() for find in (shard_path, index_path))

    def _copy_units(self) -> None:
        # A store or a disk that fails is no reason to end training: shards are read from the store
        # then, which says what is wrong with it.
        for unit in self._units:
            if self._stopped.is_set():
                return
            try:
                if unit not in self._done and not self._copy_unit(unit):
                    return
            except (OSError, SetError):
                return
            self._done.add(unit)

    def _copy_unit(self, unit: str) -> bool:
        """Copy a unit's shard and index; returns False where they do not fit."""
        files = read_receipt(self._root, unit).files
        with exclusive(self._folder / "locks" / unit, wait=True):
            if self._has_shard(unit):
                return True
            if not self._has_room(sum(file.bytes for file in files)):
                return False
            for file in files:
                copy_checked(self._root, self._folder, file, self._check_stopped)
        return True

    def _check_stopped(self, size: int) -> None:
        if self._stopped.is_set():
            raise InterruptedError

    def _has_room(self, size: int) -> bool:
        usage = shutil.disk_usage(self._folder)
        if size > usage.free - usage.total / 20:
            return False
        if self._limit is None:
            return True
        used = sum(path.stat().st_size for path in self._folder.rglob("*") if path.is_file())
        return used + size <= self._limit
