"""Plain tars: which files one holds, and where their bytes lie.

They are walked header by header and never unpacked: USTAR, GNU and PAX, tars inside tars, tars that
follow one another in a file.
"""

from __future__ import annotations

import os
import tarfile
from collections import Counter
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

from ...errors import SourceError
from ...storage.stores import GROWN, LARGE, hollow
from .folders import HIDDEN, is_hidden

REPLACED = "replaced by a later file of the name"
LINKS = "links inside the archive"
_TEXT = {"encoding": "utf-8", "errors": "surrogateescape"}
"""Encoding of names, whatever the locale is."""
_STEP = 1 << 20  # bytes that are read at a time behind the end mark
_MOST_ZEROS = 1 << 30  # bytes of padding that are read there
_MOST_OF_HEADER = 1 << 22  # bytes of long names and of what PAX says of a member


class Span(NamedTuple):
    """Byte range of a member.

    offset: its first byte; of a sparse member its header, as its bytes do not lie in one piece.
    size: bytes that it has when unpacked.
    """

    offset: int
    size: int
    sparse: bool = False


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
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._offset, os.SEEK_END: self._end - self._start}[
            whence
        ]
        self._offset = base + offset
        return self._offset

    def tell(self) -> int:
        """Return the offset."""
        return self._offset


def plain_name(name: str) -> str:
    """Return an archive's name of a file in its one form: without `./`, `//` and a leading slash.

    Examples
    --------
    >>> plain_name("./VOC2012//JPEGImages/a.jpg")
    'VOC2012/JPEGImages/a.jpg'
    """
    return "/".join(part for part in name.split("/") if part not in ("", "."))


def list_tar(
    handle: IO[bytes], bounds: tuple[int, int], container: str, passed: Counter[str]
) -> Iterator[tuple[str, Span]]:
    """Yield the files of a tar, in the order of their places.

    Like unpacking it takes the last of several members of one name, and a hard link for the file
    that it is linked to. A second tar behind the first, as `cat a.tar b.tar` makes them, is read
    on; of a tar inside the tar the members come in its place.

    handle: the tar, or a file that it is a part of.
    bounds: (start, end), bytes of the tar in it.
    container: name for messages.
    passed: counts, by kind, the members that are left out.

    Raises SourceError, tarfile.TarError, OSError, ValueError, RuntimeError when it is damaged or
    cut short; what lies before the damage comes first.
    """
    found: dict[str, Span] = {}
    hidden: dict[str, Span] = {}
    damage: Exception | None = None
    try:
        for member, span in _members(handle, bounds, container, passed):
            # Tarfile takes "path" for the name too, which has a folder of GNU tar's own in it.
            name = plain_name(member.pax_headers.get("GNU.sparse.name", member.name))
            if member.islnk():
                target = plain_name(member.linkname)
                at = found.get(target, hidden.get(target))
                if at is None or name.endswith(".tar"):
                    passed[LINKS] += 1
                    continue
                span = at
            if is_hidden(name):
                passed[HIDDEN] += 1
                hidden[name] = span
                continue
            if found.pop(name, None) is not None:
                passed[REPLACED] += 1
            found[name] = span
    except Exception as error:  # tarfile raises many kinds on damaged headers
        damage = error
    for name, span in found.items():
        if not name.endswith(".tar"):
            yield name, span
        elif span.sparse:
            passed["sparse tars inside the archive"] += 1
        else:
            part = span.offset, span.offset + span.size
            for inner, one in list_tar(handle, part, container, passed):
                yield f"{name[:-4]}/{inner}", one
    if damage is not None:
        raise damage


def _members(
    handle: IO[bytes], bounds: tuple[int, int], container: str, passed: Counter[str]
) -> Iterator[tuple[tarfile.TarInfo, Span]]:
    """Yield regular members and hard links of a tar, and of those behind it."""
    start: int | None = bounds[0]
    end = bounds[1]
    while start is not None:
        view = FileWindow(handle, start, end, _MOST_OF_HEADER)
        with tarfile.open(fileobj=view, mode="r:", **_TEXT) as archive:  # type: ignore[call-overload]
            for member in archive:
                archive.members = []  # tarfile keeps every header otherwise: gigabytes for ImageNet
                if archive.offset <= member.offset:  # a negative size: it would go round for ever
                    raise SourceError.at(
                        container, f"damaged header at byte {start + member.offset}"
                    )
                if member.issym() or (member.islnk() and not plain_name(member.linkname)):
                    passed[LINKS] += 1
                elif member.isreg() or member.islnk():
                    yield member, _span(member, start, end, container)
                elif not member.isdir():
                    passed["members that are no files"] += 1
            _check_end(view, archive.offset, container)
            start = _next_tar(handle, start + archive.offset, end, passed)


def _span(member: tarfile.TarInfo, start: int, end: int, container: str) -> Span:
    if member.islnk():
        return Span(0, 0)
    pieces: Any = member.sparse  # of a sparse member: offsets and sizes
    stored = sum(size for _, size in pieces) if member.issparse() else member.size
    if start + member.offset_data + stored > end:
        raise SourceError.at(container, f"ends inside {member.name}; the archive was cut short")
    if member.issparse():
        return Span(start + member.offset, _unpacked(member), sparse=True)
    return Span(start + member.offset_data, member.size)


def _unpacked(member: tarfile.TarInfo) -> int:
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


def read_sparse(handle: IO[bytes], offset: int) -> bytes:
    """Return the bytes of a sparse member, its holes filled, by the offset of its header.

    Raises tarfile.TarError, OSError, ValueError, RuntimeError when it is no longer there.
    """
    view = FileWindow(handle, offset, handle.seek(0, os.SEEK_END))
    with tarfile.open(fileobj=view, mode="r:", **_TEXT) as archive:  # type: ignore[call-overload]
        member = archive.next()
        if member is None or not member.issparse():
            raise OSError("is no sparse file any more")
        member.size = _unpacked(member)
        if member.size > max(LARGE, GROWN * sum(size for _, size in member.sparse)):
            raise hollow(member.size)
        file = archive.extractfile(member)
        assert file is not None
        return file.read()
