"""Folders, tars and zips as one thing.

An ordered listing of files, each of which can be read on its own.

Archives are never unpacked. An uncompressed tar is walked once, header by header, and its members
are read at their offsets; a tar inside a tar (ImageNet's train archive) is walked in place.
Compressed tars cannot be read at an offset, so they are refused with the command that makes a plain
one.
"""

from __future__ import annotations

import atexit
import lzma
import os
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from ...errors import ImageRefused, Reason, SourceError
from ...storage.stores import StorePath, place
from ..images.header import MAX_BYTES

_OPEN_FILES = 32
_DAMAGE = (
    zipfile.BadZipFile,
    EOFError,
    OSError,
    ValueError,
    IndexError,
    OverflowError,
    RuntimeError,
    struct.error,
)
"""What the standard library raises on damaged archives; RuntimeError also on encrypted members, and
on tars nested too deep."""
_ARCHIVE_ERRORS = (tarfile.TarError, *_DAMAGE)
_MEMBER_ERRORS = (zlib.error, lzma.LZMAError, KeyError, *_DAMAGE)
_COMPRESSIONS = {
    re.compile(rb"\x1f\x8b"): "gunzip",
    re.compile(rb"BZh[1-9]1AY&SY"): "bunzip2",
    re.compile(rb"\xfd7zXZ\x00"): "unxz",
    re.compile(rb"\x28\xb5\x2f\xfd"): "unzstd",
}


@dataclass(frozen=True)
class Location:
    """Where the bytes of one file lie.

    Attributes
    ----------
    container : str
        A folder, a tar or a zip.
    member : str
        Name inside the folder or the zip; "" in a tar, where `offset` counts.
    offset : int
        First byte inside a tar, -1 elsewhere.
    size : int
        Bytes.
    stamp : int
        Modification time in nanoseconds of the file or of the archive; tells whether a cached
        measurement still holds.
    """

    container: str
    member: str
    offset: int
    size: int
    stamp: int


@dataclass(frozen=True)
class Entry:
    """A file of a container: its name there, with "/" between folders, and where its bytes are."""

    name: str
    location: Location


def list_container(path: Path) -> Iterator[Entry]:
    """List the regular files of a folder, tar or zip.

    They come in the order of their names (of their places, in a tar).

    Links to files are read like files; links to folders are not followed, nor any link inside a
    tar. Names that are not valid text are given with their odd bytes escaped and a location that
    cannot be read, so that they end as a refusal.

    Raises
    ------
    SourceError
        When the path is missing, is neither, or the archive is broken.
    """
    if path.is_dir():
        return _list_folder(path)
    if not path.is_file():
        raise SourceError(f"{path}: no such file or folder", path=path)
    return _list_archive(path)


def _list_archive(path: Path) -> Iterator[Entry]:
    try:
        if _is_zip(path):
            yield from _list_zip(path)
        else:
            yield from _list_tar(path)
    except _ARCHIVE_ERRORS as error:
        raise SourceError(f"{path}: not a readable tar or zip: {error}", path=path) from error


def _is_zip(path: Path) -> bool:
    """Return whether a file is a zip from its first byte on; a tar may end with one."""
    with path.open("rb") as handle:
        return handle.read(2) == b"PK" and zipfile.is_zipfile(handle)


def _list_prefix(root: StorePath) -> Iterator[Entry]:
    """List the objects of a store below a prefix, in the order in which a folder is listed."""
    facts = root.facts()
    for name in sorted(facts, key=lambda name: _as_walked(name)):
        size, stamp = facts[name]
        yield _entry(name, Location(str(root), name, -1, size, stamp))


def _as_walked(name: str) -> tuple[tuple[bool, str], ...]:
    """Return what orders names as `os.walk` does: the files of a folder, then those below it."""
    *folders, file = name.split("/")
    return (*((True, folder) for folder in folders), (False, file))


def _list_folder(root: Path) -> Iterator[Entry]:
    if isinstance(root, StorePath):
        yield from _list_prefix(root)
        return

    def unreadable(error: OSError) -> None:
        raise SourceError(
            f"{error.filename}: {error.strerror or error}", path=error.filename
        ) from error

    for folder, folders, files in os.walk(root, onerror=unreadable):
        folders.sort()
        below = os.path.relpath(folder, root).replace(os.sep, "/")
        prefix = "" if below == "." else f"{below}/"
        for file in sorted(files):
            with suppress(
                OSError
            ):  # vanished between listing and looking: not part of the source any more
                status = os.stat(os.path.join(folder, file))
                if not stat.S_ISREG(status.st_mode):
                    continue
                name = prefix + file
                yield _entry(
                    name, Location(str(root), name, -1, status.st_size, status.st_mtime_ns)
                )


def _list_zip(path: Path) -> Iterator[Entry]:
    stamp = path.stat().st_mtime_ns
    with path.open("rb") as handle, zipfile.ZipFile(handle) as archive:
        for info in sorted(archive.infolist(), key=lambda info: info.filename):
            if info.filename and not info.is_dir():
                yield _entry(
                    info.filename, Location(str(path), info.filename, -1, info.file_size, stamp)
                )


def _list_tar(path: Path) -> Iterator[Entry]:
    with path.open("rb") as handle:
        begin = handle.read(10)
        for mark, command in _COMPRESSIONS.items():
            if mark.match(begin):
                raise SourceError(
                    f"{path}: a compressed tar cannot be read in random order; make it a plain one"
                    f" first, for example: {command} -k {path.name}",
                    path=path,
                )
        yield from _walk_tar(handle, str(path), 0, path.stat().st_size, path.stat().st_mtime_ns, "")


def _walk_tar(
    handle: IO[bytes], container: str, start: int, end: int, stamp: int, prefix: str
) -> Iterator[Entry]:
    view = _Window(handle, start, end)
    with tarfile.open(fileobj=view, mode="r:", errors="surrogateescape") as archive:  # type: ignore[call-overload]
        for member in archive:
            archive.members = []  # tarfile keeps every header otherwise: gigabytes for ImageNet
            if not member.isreg():
                continue
            offset = start + member.offset_data
            if offset + member.size > end:
                raise SourceError(
                    f"{container}: ends inside {member.name}; the archive was cut short",
                    path=container,
                )
            if member.name.endswith(".tar"):
                inner = f"{prefix}{member.name[:-4]}/"
                yield from _walk_tar(handle, container, offset, offset + member.size, stamp, inner)
            else:
                yield _entry(
                    prefix + member.name, Location(container, "", offset, member.size, stamp)
                )
        _check_end(view, archive.offset, container)


def _check_end(view: _Window, place: int, container: str) -> None:
    """Tell the end of a tar from a header that cannot be read.

    Tarfile takes both for the end and says nothing.
    """
    view.seek(place)
    block = view.read(tarfile.BLOCKSIZE)
    if len(block) < tarfile.BLOCKSIZE:
        raise SourceError(
            f"{container}: has no end mark at byte {place}; the archive was cut short",
            path=container,
        )
    if block.count(0) < len(block):
        raise SourceError(f"{container}: damaged header at byte {place}", path=container)


class _Window:
    """A part of an open file as a file of its own, each reader at its own place."""

    def __init__(self, handle: IO[bytes], start: int, end: int) -> None:
        self._handle, self._start, self._end, self._place = handle, start, end, 0

    def read(self, size: int = -1) -> bytes:
        left = max(0, self._end - self._start - self._place)
        size = left if size < 0 else min(size, left)
        self._handle.seek(self._start + self._place)
        data = self._handle.read(size)
        self._place += len(data)
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._end - self._start}[
            whence
        ]
        self._place = base + offset
        return self._place

    def tell(self) -> int:
        return self._place


def _entry(name: str, location: Location) -> Entry:
    try:
        f"{location.container}{name}".encode()
    except UnicodeEncodeError:
        return Entry(_shown(name), Location(_shown(location.container), "", -1, 0, 0))
    return Entry(name, location)


def _shown(name: str) -> str:
    """Return a name with the bytes that are not valid text escaped."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


class _OpenArchives:
    """The archives that this process reads from, least recently used closed first."""

    def __init__(self) -> None:
        self._open: OrderedDict[tuple[str, int], tuple[IO[bytes], Any]] = OrderedDict()

    def get(self, location: Location, zipped: bool) -> Any:
        path = location.container
        # With the time of its listing: an archive that was replaced since is another one.
        name = (path, location.stamp)
        if name not in self._open:
            at = place(path)
            if at.stat().st_mtime_ns != location.stamp:
                raise OSError(f"{path} has changed since it was listed")
            self._close_all_but(_OPEN_FILES - 1)
            handle = at.open("rb")
            try:
                self._open[name] = handle, zipfile.ZipFile(handle) if zipped else handle
            except BaseException:
                handle.close()
                raise
        self._open.move_to_end(name)
        return self._open[name][1]

    def close(self) -> None:
        """Close all of them."""
        self._close_all_but(0)

    def _close_all_but(self, kept: int) -> None:
        while len(self._open) > kept:
            # The file itself: a zip closes only what it has opened.
            self._open.popitem(last=False)[1][0].close()


_archives = _OpenArchives()
atexit.register(_archives.close)


@lru_cache(maxsize=256)
def _is_object(path: StorePath) -> bool:
    return path.is_file()


def _read_stored(location: Location) -> bytes:
    """Read the bytes of a file in a store: by its range in a tar, or by its name."""
    container = place(location.container)
    assert isinstance(container, StorePath)
    if location.offset >= 0:
        return container.read_range(location.offset, location.size)
    if not location.member:
        raise ImageRefused(Reason.FILE_NAME, "its bytes are not valid UTF-8; rename the file")
    if _is_object(container):
        member: bytes = _archives.get(location, zipped=True).read(location.member)
        return member
    return (container / location.member).read_bytes()


def read(location: Location, most: int = MAX_BYTES) -> bytes:
    """Read the bytes of one file.

    Parameters
    ----------
    location : Location
    most : int
        Bytes that it may have.

    Raises
    ------
    ImageRefused
        "unreadable" when they cannot be had, "too large" when there are more, "file name" when the
        name is not valid text.
    """
    if location.size > most:
        raise ImageRefused(Reason.TOO_LARGE, f"{location.size:,} bytes, the limit is {most:,}")
    data: bytes
    try:
        if location.container[2:5] == "://":
            data = _read_stored(location)
        elif location.offset >= 0:
            handle = _archives.get(location, zipped=False)
            handle.seek(location.offset)
            data = handle.read(location.size)
        elif not location.member:
            raise ImageRefused(Reason.FILE_NAME, "its bytes are not valid UTF-8; rename the file")
        elif os.path.isdir(location.container):
            with open(os.path.join(location.container, location.member), "rb") as file:
                data = file.read()
        else:
            data = _archives.get(location, zipped=True).read(location.member)
    except _MEMBER_ERRORS as error:
        raise ImageRefused(Reason.UNREADABLE, str(error)) from error
    if len(data) != location.size and location.offset >= 0:
        raise ImageRefused(Reason.UNREADABLE, f"{len(data)} of {location.size} bytes")
    return data
