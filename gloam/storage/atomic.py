"""Artefacts that are either whole or not there, and are read back as exact bytes."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import IO, Any

from ..errors import SetError
from .stores import place
from .untrusted import open_regular

TEMPORARY_MARK = ".tmp-"
_TEMPORARY = re.compile(rf".+{re.escape(TEMPORARY_MARK)}[0-9a-f]{{24}}\Z", re.DOTALL)
_FULL = errno.ENOSPC, errno.EDQUOT, errno.EFBIG


def temporary_beside(path: Path) -> Path:
    """Return a new name under which what is to become `path` is written.

    It lies in the same folder, so that renaming is atomic. Nobody can guess it, and whoever opens
    it makes it: a link of that name is not followed.
    """
    return path.with_name(f"{path.name}{TEMPORARY_MARK}{token_hex(12)}")


def is_temporary(name: str) -> bool:
    """Return whether a file's name is one of `temporary_beside`."""
    return _TEMPORARY.match(name) is not None


class Pending:
    """A file or an object of a store that is being written: it is there when it is published.

    A file lies under a temporary name until then, which is renamed after it was flushed to disk; an
    object in an unnamed temporary file of this machine, which is put whole.
    """

    def __init__(self, path: Path, durable: bool = True) -> None:
        self.path, self._durable, self._temporary = place(path), durable, temporary_beside(path)
        self._published = False
        with self.named():
            self.handle = self.path.begin(self._temporary)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Let errors of the system name the path that is to be written.

        Those of a full disk name none, those of opening a temporary one. What else goes wrong in
        the block may be another file's; what goes to a store lies in a temporary file until then.
        """
        try:
            yield
        except OSError as error:
            full = error.filename is None and error.errno in _FULL
            if self.path.remote or not (full or error.filename == str(self._temporary)):
                raise
            raise OSError(error.errno, error.strerror, str(self.path)) from error

    def publish(self) -> None:
        """Let it appear."""
        with self.named():
            self.path.finish(self.handle, self._temporary, self._durable)
            if self._durable:
                flush(self.path.parent)
        self._published = True
        self.abandon()

    def abandon(self) -> None:
        """Leave nothing of it, if it was not published."""
        with suppress(OSError):  # of a full disk, once more: what was not written is not wanted
            self.handle.close()
        if not (self._published or self.path.remote):
            self._temporary.unlink(missing_ok=True)


def flush(path: Path) -> None:
    """Make what was written to a file, or the names in a folder, durable; in a store all is."""
    if place(path).remote:
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def atomic_write(path: Path, durable: bool = True) -> Iterator[IO[bytes]]:
    """Open a binary file that appears under `path` only when the block ends without an exception.

    It is flushed to disk, or put into the store, by then. durable: False where whoever writes many
    files flushes them later.
    """
    pending = Pending(path, durable)
    try:
        with pending.named():
            yield pending.handle
        pending.publish()
    finally:
        pending.abandon()


def write_bytes(path: Path, data: bytes, durable: bool = True) -> None:
    """Write a whole file atomically; see `atomic_write`."""
    with atomic_write(path, durable) as handle:
        handle.write(data)


def remove_tree(folder: Path) -> None:
    """Delete a folder and all that is in it, as far as that can be done."""
    place(folder).remove_tree()


def canonical_json(value: Any) -> bytes:
    """Return a value as JSON: equal values give equal bytes.

    Keys are sorted, there are no blanks, and a newline ends it. NaN and infinity are refused.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii") + b"\n"


def sha256_bytes(data: bytes) -> str:
    """Return the hexadecimal SHA-256 of some bytes."""
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file, read in pieces."""
    return sha256_and_size(path)[0]


def sha256_and_size(path: Path) -> tuple[str, int]:
    """Return the hexadecimal SHA-256 of a file, read in pieces, and its bytes."""
    with open_regular(path) as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest(), handle.tell()


def claim(root: Path, link: bool = True) -> list[Path]:
    """Look through a folder of a disk, if it is there, before anything is written to it.

    All that gloam writes below a folder goes to places that this has looked at.

    link: whether it may be a link itself.

    Returns what killed writers left in it. Raises SetError at a link, a pipe or a device anywhere
    below: what is written must not go where somebody else's folder leads. OSError where a folder
    cannot be listed.
    """
    left: list[Path] = []
    if place(root).remote:
        return left
    if not link and root.is_symlink():
        raise _odd_file(root)
    for path, regular in _files_below(root):
        if not regular:
            raise _odd_file(path)
        if is_temporary(path.name):
            left.append(path)
    return left


def _odd_file(path: Path) -> SetError:
    what = f"is a link to {os.readlink(path)}" if path.is_symlink() else "is no regular file"
    return SetError.at(
        path, f"{what}, and gloam writes through none; delete it, or choose another folder"
    )


def remove_temporaries(folder: Path) -> None:
    """Delete what killed writers left under temporary names, anywhere below a folder of a disk."""
    if not place(folder).remote:
        remove_files(one for one, plain in _files_below(folder) if plain and is_temporary(one.name))


def remove_files(paths: Iterable[Path]) -> None:
    """Delete files, those that are still there."""
    for path in paths:
        path.unlink(missing_ok=True)


def _files_below(root: Path) -> Iterator[tuple[Path, bool]]:
    """Yield all that is no folder below one, and whether it is a regular file; follow no links."""
    folders = [os.fspath(root)]
    while folders:
        try:
            with os.scandir(folders.pop()) as listed:
                found = list(listed)
        except (FileNotFoundError, NotADirectoryError):  # another process has just deleted it
            continue
        for one in found:
            if one.is_dir(follow_symlinks=False):
                folders.append(one.path)
            elif one.is_file(follow_symlinks=False) or os.path.lexists(one.path):
                yield Path(one.path), one.is_file(follow_symlinks=False)
