"""Folders, tars and zips as one thing: an ordered listing of files, each read on its own.

Archives are never unpacked. Plain tars are walked header by header, and their members read at their
offsets: USTAR, GNU and PAX, tars inside tars, tars that follow one another in a file. Compressed
tars cannot be read at an offset, so they are refused with the command that makes a plain one.
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
from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import starmap
from pathlib import Path
from typing import IO, Any

from ...errors import ImageRefused, Reason, SourceError
from ...storage.stores import Place, Status, as_path, read_local, refuse_grown, refuse_hollow
from ...storage.untrusted import naming, read_regular
from ..images.header import MAX_BYTES
from .folders import HIDDEN, files_below, is_hidden

REPLACED = "replaced by a later file of the name"
LINKS = "links inside the archive"
_TEXT = {"encoding": "utf-8", "errors": "surrogateescape"}
"""Encoding of names, whatever the locale is."""
_STEP = 1 << 20  # bytes that are read at a time behind the end mark
_MOST_ZEROS = 1 << 30  # bytes of padding that are read there
_MOST_OF_HEADER = 1 << 22  # bytes of long names and of what PAX says of a member
SPARSE = -3
"""The offset of a location that is a sparse member of a tar."""
_ESCAPED = "surrogateescape"
_NO_TEXT = "its path has bytes that are not valid UTF-8; rename the file, or its folder"
_OPEN_FILES = 32
_MOST_TEXT = 1 << 32  # bytes of lists and annotations; COCO's instances_train2017.json has 448 MB
# Of the standard library on damaged archives; RuntimeError also of encryption and deep nesting.
_DAMAGE = zipfile.BadZipFile, EOFError, OSError, ValueError, IndexError, OverflowError, RuntimeError
_ARCHIVE_ERRORS = (tarfile.TarError, struct.error, *_DAMAGE)
_MEMBER_ERRORS = (zlib.error, lzma.LZMAError, KeyError, *_ARCHIVE_ERRORS)
_COMPRESSIONS = {
    re.compile(rb"\x1f\x8b"): "gunzip",
    re.compile(rb"BZh[1-9]1AY&SY"): "bunzip2",
    re.compile(rb"\xfd7zXZ\x00"): "unxz",
    re.compile(rb"\x28\xb5\x2f\xfd"): "unzstd",
}


@dataclass(frozen=True)
class Location:
    """Location of the bytes of one file.

    container: a folder, a tar or a zip.
    member: name inside the folder or the zip, as it stands there; "" in a tar, where `offset`
      counts.
    offset: first byte inside a tar; -1 elsewhere. `SPARSE` of a sparse member of a tar, whose bytes
      do not lie in one piece: `member` says at which byte its header is.
    size: bytes that it has when unpacked.
    stamp: modification time in nanoseconds of the file or of the archive; tells whether a cached
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


class FileWindow:
    """A part of an open file as a file of its own, each reader at its own offset.

    most: bytes that are read at once, of a part of which headers alone are read.
    """

    def __init__(self, handle: IO[bytes], start: int, end: int, most: int | None = None) -> None:
        self._handle, self._start, self._end, self._offset = handle, start, end, 0
        self._most = most

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes; fewer where the part ends before.

        Raises ValueError when they are more than may be read at once.
        """
        left = max(0, self._end - self._start - self._offset)
        size = left if size < 0 else min(size, left)
        if self._most is not None and size > self._most:
            raise ValueError(f"a header of {size:,} bytes")
        self._handle.seek(self._start + self._offset)
        data = self._handle.read(size)
        self._offset += len(data)
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to an offset, and return it."""
        size = self._end - self._start
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._offset, os.SEEK_END: size}[whence]
        self._offset = base + offset
        return self._offset

    def tell(self) -> int:
        """Return the offset."""
        return self._offset


def _plain_name(name: str) -> str:
    """Return an archive's name of a file in its one form: without `./`, `//`, or `/` before it."""
    return "/".join(part for part in name.split("/") if part not in ("", "."))


def _files_of_tar(
    handle: IO[bytes], tar: Location, passed: Counter[str]
) -> Iterator[tuple[str, Location]]:
    """Yield the files of a tar, in the order of their places.

    Like unpacking it takes the last of several members of one name, and a hard link for the file
    that it is linked to. A second tar behind the first, as `cat a.tar b.tar` makes them, is read
    on; of a tar inside the tar the members come in its place.

    Raises SourceError, tarfile.TarError, OSError, ValueError, RuntimeError when it is damaged or
    cut short; what lies before the damage comes first.
    """
    found: dict[str, Location] = {}
    hidden: dict[str, Location] = {}
    damage: Exception | None = None
    try:
        for member, location in _members(handle, tar, passed):
            # Tarfile takes "path" for the name too, which has a folder of GNU tar's own in it.
            name = _plain_name(member.pax_headers.get("GNU.sparse.name", member.name))
            if member.islnk():
                target = _plain_name(member.linkname)
                at = found.get(target, hidden.get(target))
                if at is None or name.endswith(".tar"):
                    passed[LINKS] += 1
                    continue
                location = at
            if is_hidden(name):
                passed[HIDDEN] += 1
                hidden[name] = location
                continue
            if found.pop(name, None) is not None:
                passed[REPLACED] += 1
            found[name] = location
    except Exception as error:  # tarfile raises many kinds on damaged headers
        damage = error
    for name, location in found.items():
        if not name.endswith(".tar"):
            yield name, location
        elif location.offset == SPARSE:
            passed["sparse tars inside the archive"] += 1
        else:
            for inner, one in _files_of_tar(handle, location, passed):
                yield f"{name[:-4]}/{inner}", one
    if damage is not None:
        raise damage


def _members(
    handle: IO[bytes], tar: Location, passed: Counter[str]
) -> Iterator[tuple[tarfile.TarInfo, Location]]:
    """Yield regular members and hard links of a tar, and of those behind it; links lie nowhere."""
    start: int | None = tar.offset
    end, container = tar.offset + tar.size, tar.container
    while start is not None:
        view = FileWindow(handle, start, end, _MOST_OF_HEADER)
        with tarfile.open(fileobj=view, mode="r:", **_TEXT) as archive:  # type: ignore[call-overload]
            for member in archive:
                archive.members = []  # tarfile keeps every header otherwise: gigabytes for ImageNet
                if archive.offset <= member.offset:  # a negative size: it would go round for ever
                    raise SourceError.at(
                        container, f"damaged header at byte {start + member.offset}"
                    )
                if member.issym() or (member.islnk() and not _plain_name(member.linkname)):
                    passed[LINKS] += 1
                elif member.islnk():
                    yield member, tar
                elif member.isreg():
                    yield member, _member_location(member, start, tar)
                elif not member.isdir():
                    passed["members that are no files"] += 1
            _check_end(view, archive.offset, container)
            start = _next_tar(handle, start + archive.offset, end, passed)


def _member_location(member: tarfile.TarInfo, start: int, tar: Location) -> Location:
    pieces: Any = member.sparse  # of a sparse member: offsets and sizes
    stored = sum(size for _, size in pieces) if member.issparse() else member.size
    if start + member.offset_data + stored > tar.offset + tar.size:
        raise SourceError.at(tar.container, f"ends inside {member.name}; the archive was cut short")
    if member.issparse():
        header, size = str(start + member.offset), _sparse_size(member)
        return Location(tar.container, header, SPARSE, size, tar.stamp)
    return Location(tar.container, "", start + member.offset_data, member.size, tar.stamp)


def _sparse_size(member: tarfile.TarInfo) -> int:
    """Return the size of a sparse member; tarfile also takes "size" for it, of what is stored."""
    said = member.pax_headers
    return int(said.get("GNU.sparse.realsize", said.get("GNU.sparse.size", member.size)))


def _check_end(view: FileWindow, offset: int, container: str) -> None:
    """Tell the end of a tar from a header that cannot be read: tarfile takes both for the end."""
    view.seek(offset)
    block = view.read(tarfile.BLOCKSIZE)
    if len(block) < tarfile.BLOCKSIZE:
        raise SourceError.at(container, f"has no end mark at byte {offset}; it was cut short")
    if block.count(0) < len(block):
        raise SourceError.at(container, f"damaged header at byte {offset}")


def _next_tar(handle: IO[bytes], offset: int, end: int, passed: Counter[str]) -> int | None:
    """Return where another tar begins behind an end mark, if one does."""
    view = FileWindow(handle, offset, min(end, offset + _MOST_ZEROS))
    while data := view.read(_STEP):
        rest = data.lstrip(b"\0")
        if rest:
            behind = view.tell() - len(rest)
            begin = behind - behind % tarfile.BLOCKSIZE
            view.seek(begin)
            try:
                tarfile.TarInfo.frombuf(view.read(tarfile.BLOCKSIZE), "utf-8", "surrogateescape")
            except tarfile.HeaderError:
                passed["data behind the end of the archive"] += 1
                return None
            return offset + begin
    if end - offset > _MOST_ZEROS:
        passed["data behind the end of the archive"] += 1
    return None


def _read_sparse(handle: IO[bytes], offset: int) -> bytes:
    """Return the bytes of a sparse member, its holes filled, by the offset of its header.

    Raises tarfile.TarError, OSError, ValueError, RuntimeError when it is no longer there.
    """
    view = FileWindow(handle, offset, handle.seek(0, os.SEEK_END))
    with tarfile.open(fileobj=view, mode="r:", **_TEXT) as archive:  # type: ignore[call-overload]
        member = archive.next()
        if member is None or not member.issparse():
            raise OSError("is no sparse file any more")
        member.size = _sparse_size(member)
        refuse_grown(member.size, sum(size for _, size in member.sparse))
        file = archive.extractfile(member)
        assert file is not None
        return file.read()


def list_container(path: Path, passed: Counter[str] | None = None) -> Iterator[Entry]:
    """List the regular files of a folder, tar or zip.

    They come in the order of their names (of their places, in a tar). Names have one form: without
    `./` and `//`, and with "/" between folders where a zip has backslashes. Where an archive holds
    a name more than once, its last file counts, as unpacking has it.

    Links in a folder are followed, to files and to folders; in a tar hard links are. Names that are
    not valid text are given with their odd bytes escaped and a location that cannot be read, so
    that they end as a refusal.

    passed: counts, by kind, the files that are left out: hidden ones (`is_hidden`), links that are
      not followed, pipes and devices, members that a later one replaces.

    Raises SourceError when the path is missing, is neither, or the archive is broken.
    """
    passed = Counter() if passed is None else passed
    if path.is_dir():
        container, files = _path_text(path), files_below(path, passed)
        return (_entry_of_file(container, _path_text(name), status) for name, status in files)
    if not path.is_file():
        there = path.exists()
        raise SourceError.at(path, "no folder and no file" if there else "no such file or folder")
    return _list_archive(path, passed)


def file_entry(path: Path) -> Entry:
    """Return a file as an entry of the folder that it lies in."""
    return _entry_of_file(_path_text(path.parent), _path_text(path.name), path.stat())


def _entry_of_file(folder: str, name: str, status: os.stat_result | Status) -> Entry:
    return _entry(name, Location(folder, name, -1, status.st_size, status.st_mtime_ns))


def _list_archive(path: Path, passed: Counter[str]) -> Iterator[Entry]:
    with naming(path, *_ARCHIVE_ERRORS, what="not a readable tar or zip: ", kind=SourceError):
        if not path.stat().st_size:  # such as files of /proc, whose reading may wait for ever
            raise ValueError("empty file")
        with path.open("rb") as handle:  # from its first byte on: a tar may end with a zip
            zipped = handle.read(2) == b"PK" and zipfile.is_zipfile(handle)
        yield from (_list_zip if zipped else _list_tar)(path, passed)


def _list_zip(path: Path, passed: Counter[str]) -> Iterator[Entry]:
    container, stamp = _path_text(path), path.stat().st_mtime_ns
    found: dict[str, zipfile.ZipInfo] = {}
    with path.open("rb") as handle, zipfile.ZipFile(handle) as archive:
        infos = archive.infolist()
        if infos and all(one.header_offset > 0 for one in infos):  # as `cat a.zip b.zip` makes
            passed["data before the archive"] += 1
        for info in infos:
            # .NET and PowerShell wrote backslashes, against APPNOTE 4.4.17.
            slashed = info.filename.replace("\\", "/")
            name = _plain_name(slashed)
            if not name or slashed.endswith("/"):
                continue
            if is_hidden(name):
                passed[HIDDEN] += 1
            elif stat.S_ISLNK(info.external_attr >> 16):
                passed[LINKS] += 1
            else:
                if name in found:
                    passed[REPLACED] += 1
                found[name] = info
    for name in sorted(found):
        info = found[name]
        yield _entry(name, Location(container, info.filename, -1, info.file_size, stamp))


def _list_tar(path: Path, passed: Counter[str]) -> Iterator[Entry]:
    with path.open("rb") as handle:
        begin = handle.read(10)
        for mark, command in _COMPRESSIONS.items():
            if mark.match(begin):
                raise SourceError.at(
                    path,
                    f"a compressed tar cannot be read in random order; make it a plain one"
                    f" first, for example: {command} -k {path.name}",
                )
        status = path.stat()
        tar = Location(_path_text(path), "", 0, status.st_size, status.st_mtime_ns)
        yield from starmap(_entry, _files_of_tar(handle, tar, passed))


def _entry(name: str, location: Location) -> Entry:
    try:
        f"{location.container}{name}".encode()
    except UnicodeEncodeError:
        return Entry(_shown(name), Location(_shown(location.container), "", -1, 0, 0))
    return Entry(name, location)


def _path_text(path: str | Path) -> str:
    """Return a path as UTF-8 has it, whatever the locale is; other bytes are surrogates."""
    encoded = os.fsencode(path) if isinstance(path, str) else bytes(path)
    return encoded.decode("utf-8", _ESCAPED)


def path_of(text: str) -> Place:
    """Return the path of a location's container, or of a file in it, from its text."""
    return as_path(text if text[2:5] == "://" else os.fsdecode(text.encode("utf-8", _ESCAPED)))


def escape_path(path: str | Path) -> str:
    """Return a path as text, the bytes that are not valid text escaped."""
    return _shown(_path_text(path))


def _shown(name: str) -> str:
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
            at = path_of(path)
            if at.stat().st_mtime_ns != location.stamp:
                raise OSError(f"{path} has changed since it was listed")
            self.close_all_but(_OPEN_FILES - 1)
            handle = at.open("rb")
            try:
                self._open[name] = handle, zipfile.ZipFile(handle) if zipped else handle
            except BaseException:
                handle.close()
                raise
        self._open.move_to_end(name)
        return self._open[name][1]

    def close_all_but(self, kept: int) -> None:
        while len(self._open) > kept:
            # The file itself: a zip closes only what it has opened.
            self._open.popitem(last=False)[1][0].close()


_archives = _OpenArchives()
atexit.register(_archives.close_all_but, 0)


@lru_cache(maxsize=256)
def _is_object(path: Place) -> bool:
    return path.is_file()


def read_whole_file(path: str | Path, most: int) -> bytes:
    """Read a regular file of a disk.

    Nothing waits: a pipe that was put in its place is refused, and of files that say that they have
    no bytes (such as those of /proc) none is read. Raises ImageRefused: "too large" when it has
    more bytes than `most`; OSError when it cannot be read, or is no regular file.
    """
    data, size = read_local(path, most)
    _check_bytes(size, most)
    return data


def _check_bytes(size: int, most: int) -> None:
    if size > most:
        raise ImageRefused(Reason.TOO_LARGE, f"{size:,} bytes, the limit is {most:,}")


def read(location: Location, most: int = MAX_BYTES) -> bytes:
    """Read the bytes of one file.

    most: bytes that it may have.

    Raises ImageRefused "unreadable" when they cannot be had, "too large" when there are more, "file
    name" when the name is not valid text.
    """
    _check_bytes(location.size, most)
    try:
        data = _read_location(location, most)
    except _MEMBER_ERRORS as error:
        raise ImageRefused(Reason.UNREADABLE, str(error)) from error
    if len(data) != location.size and (location.offset >= 0 or location.offset == SPARSE):
        raise ImageRefused(Reason.UNREADABLE, f"{len(data)} of {location.size} bytes")
    return data


def _read_location(location: Location, most: int) -> bytes:
    container = path_of(location.container)
    if location.offset >= 0:
        if container.remote:
            return container.read_range(location.offset, location.size)
        handle = _archives.get(location, zipped=False)
        refuse_hollow(handle.fileno(), location.offset, location.offset + location.size)
        handle.seek(location.offset)
        data: bytes = handle.read(location.size)
        return data
    if not location.member:
        raise ImageRefused(Reason.FILE_NAME, _NO_TEXT)
    if location.offset == SPARSE:
        return _read_sparse(_archives.get(location, zipped=False), int(location.member))
    if container.remote:
        if not _is_object(container):
            return (container / location.member).read_bytes()
    elif os.path.isdir(container):
        return read_whole_file(path_of(f"{location.container}/{location.member}"), most)
    archive = _archives.get(location, zipped=True)
    info = archive.getinfo(location.member)
    # A dark picture grows as much, and may have no more than `MAX_BYTES`.
    if most > MAX_BYTES:
        refuse_grown(info.file_size, info.compress_size)
    member: bytes = archive.read(info)
    return member


def read_entry(path: str, entry: Entry) -> bytes:
    """Read a list or annotations of a source. Raises SourceError when they cannot be read."""
    what = f"{entry.name} cannot be read: "
    with naming(path, ImageRefused, *_MEMBER_ERRORS, what=what, kind=SourceError):
        return read(entry.location, _MOST_TEXT)


def read_text(path: str, entry: Entry) -> str:
    """Read a file of a source as text. Raises SourceError when it cannot be read, or is none."""
    what = f"{entry.name} cannot be read: "
    with naming(path, UnicodeDecodeError, what=what, kind=SourceError):
        return read_entry(path, entry).decode("utf-8-sig")


def read_beside(path: Path) -> str:
    """Read a text file that lies beside a source.

    Raises SourceError when it cannot be read, or is none.
    """
    odd = OSError, UnicodeDecodeError
    with naming(path, *odd, what="cannot be read: ", kind=SourceError):
        return read_regular(path, _MOST_TEXT).decode("utf-8-sig")
