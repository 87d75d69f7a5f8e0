"""Places: where a file lies, on this machine's disks or in a store, with the same methods.

A `Place` is a path of this machine; `stores.StorePath`, an address, does the same by requests. What
only one of them can do is asked by `remote`.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Mapping
from io import BufferedReader
from pathlib import Path, PosixPath
from typing import IO, Any, cast

from ..errors import visible


def open_descriptor(path: Path | str) -> int:
    """Open a local file to read it; whoever asks closes its descriptor.

    Raises OSError when it is missing, or is no regular file.
    """
    # Opening a pipe waits for its other end unless it is told not to.
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError as error:  # NUL, or half a surrogate
        raise OSError(errno.EINVAL, "no file can have such a name", visible(path)) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "is not a regular file", str(path))
    return descriptor


def read_local(path: Path | str, most: int) -> tuple[bytes, int]:
    """Return a whole local file and its size; nothing of it where that is more than `most` bytes.

    Files of which the system does not know the size (those of /proc) are taken for empty. Raises
    OSError as `open_descriptor`.
    """
    descriptor = open_descriptor(path)
    try:
        size = os.fstat(descriptor).st_size
        return (_read(descriptor, size, 0) if size <= most else b""), size
    finally:
        os.close(descriptor)


def read_local_range(path: Path | str, offset: int, size: int) -> bytes:
    """Read bytes of a local file, fewer where it ends; raises OSError as `open_descriptor`."""
    descriptor = open_descriptor(path)
    try:
        return _read(descriptor, size, offset)
    finally:
        os.close(descriptor)


def _read(descriptor: int, size: int, offset: int) -> bytes:
    """Read from a descriptor, without the time that it takes to make a file object."""
    data = os.pread(descriptor, size, offset)
    while len(data) < size and (more := os.pread(descriptor, size - len(data), offset + len(data))):
        data += more
    return data


class Place(PosixPath):
    """A path of this machine."""

    remote = False
    """True where each file is a request away, and no other library opens it by its name."""

    def open_regular(self, buffering: int = -1) -> BufferedReader:
        """Open a file to read it. Raises OSError when it is missing, or is no regular file."""
        return cast(BufferedReader, os.fdopen(open_descriptor(self), "rb", buffering))

    read_most, read_range = read_local, read_local_range

    def facts(self) -> Mapping[str, Any] | None:
        """Return the status of all files below, by their paths from here; None: walk it."""
        return None

    def begin(self, temporary: Path) -> IO[bytes]:
        """Open what is to become the file; see `atomic.Pending`."""
        self.parent.mkdir(parents=True, exist_ok=True)
        return open(temporary, "xb")

    def finish(self, handle: IO[bytes], temporary: Path, durable: bool) -> None:
        """Let what was written appear under its name, its bytes on the disk before if `durable`."""
        if durable:
            handle.flush()
            os.fsync(handle.fileno())
        handle.close()
        os.replace(temporary, self)

    def create(self, data: bytes) -> bool:
        """Write a file if there is none; returns whether it did, or it holds these bytes."""
        try:
            with open(self, "xb") as handle:
                handle.write(data)
        except FileExistsError:
            return False
        return True

    def remove_tree(self) -> None:
        """Delete a folder and all that is in it, as far as that can be done."""
        shutil.rmtree(self, ignore_errors=True)


def place(path: Path | str) -> Place:
    """Return a path with the methods of places; text is a path of this machine."""
    return path if isinstance(path, Place) else Place(path)
