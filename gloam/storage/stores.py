"""Paths of files: on this machine, or addresses of stores, with the same methods.

A `Place` is a path of this machine; a `StorePath`, an address such as `s3://bucket/set`, does the
same by requests: its objects are whole or absent. What only one of them can do is asked by
`remote`.

Credentials, regions and endpoints come from the variables of the environment that the stores' own
tools use (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`, `GOOGLE_APPLICATION_CREDENTIALS`,
`AZURE_STORAGE_ACCOUNT_NAME`, ...). Needs obstore: `pip install 'gloam[cloud]'`.
"""

from __future__ import annotations

import errno
import fnmatch
import io
import os
import re
import shutil
import stat
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from io import BufferedReader
from itertools import islice
from pathlib import Path, PosixPath
from stat import S_IFREG
from tempfile import SpooledTemporaryFile
from typing import IO, Any, NamedTuple, TypeVar, cast

from ..errors import ConfigError, SetError, StoreError, visible, without_secrets
from .store_requests import client, listed, obstore, patient

SCHEMES = ("s3", "gs", "az")
AT_ONCE = 16
"""Requests that are under way at a time, where there are many."""
LARGE = 1 << 25
"""Bytes beyond which it is looked at how many are stored, of what is read whole."""
GROWN = 50
"""Times its stored bytes that something large may have; COCO's annotations zipped have some 5."""
_ADDRESS = re.compile(rf"({'|'.join(SCHEMES)}):/+(.*)", re.DOTALL | re.IGNORECASE)
_BEGUN = re.compile(rf"({'|'.join(SCHEMES)}):[^/]*", re.IGNORECASE)  # without its slash
_OTHERS = re.compile(
    r"(gcs|abfss?|wasbs?|hdfs|hf|https?|ftp|file|memory):/|(?!(s3|gs|az):)[a-z][a-z0-9+.-]+://",
    re.IGNORECASE,
)
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}")
_CREDENTIALS = "the variables of the environment, such as AWS_ACCESS_KEY_ID"
_NAME_MAX, _PATH_MAX = 255, 4096  # bytes of a file's name, and of a path (limits.h)
_IN_PARTS = 1 << 28  # bytes of objects that are put in parts
_HELD = 1 << 24  # bytes of an object that are held in memory before it is put; others on a disk
_PIECES = 1 << 18, 1 << 23  # bytes that are read ahead: at first, and at most
T = TypeVar("T")
U = TypeVar("U")


def open_descriptor(path: Path | str) -> int:
    """Open a local file to read it; whoever asks closes its descriptor.

    Raises OSError when it is missing, or is no regular file.
    """
    # Opening a pipe waits for its other end unless it is told not to.
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError as error:  # NUL, or half a surrogate
        raise OSError(errno.EINVAL, "no file can have such a name", str(path)) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "is not a regular file", str(path))
    return descriptor


def read_local(path: Path | str, most: int) -> tuple[bytes, int]:
    """Return a whole local file and its size; nothing of it where that is more than `most` bytes.

    Files of which the system does not know the size (those of /proc) are taken for empty. Raises
    OSError as `open_descriptor`, and of a large file of which next to nothing is stored.
    """
    descriptor = open_descriptor(path)
    try:
        size = os.fstat(descriptor).st_size
        if size > most:
            return b"", size
        refuse_hollow(descriptor, 0, size, path)
        return _read_descriptor(descriptor, size, 0), size
    finally:
        os.close(descriptor)


def refuse_hollow(descriptor: int, begin: int, end: int, path: Path | str | None = None) -> None:
    """Raise OSError for many bytes of a local file, of which next to nothing is stored.

    Such a file is small on a disk, whatever its size, and takes that in memory.
    """
    size, stored, at = end - begin, 0, begin
    if size <= LARGE:
        return
    before = os.lseek(descriptor, 0, os.SEEK_CUR)
    try:
        while stored * GROWN < size and at < end:
            data = os.lseek(descriptor, at, os.SEEK_DATA)
            at = os.lseek(descriptor, data, os.SEEK_HOLE)
            stored += min(at, end) - min(data, end)
    except OSError as error:
        if error.errno != errno.ENXIO:  # which says: no more data; others, that none can tell
            return
    finally:
        os.lseek(descriptor, before, os.SEEK_SET)
    refuse_grown(size, stored, path)


def refuse_grown(size: int, stored: int, path: Path | str | None = None) -> None:
    """Raise OSError for so many bytes that are stored as so few: more than `LARGE`, and `GROWN`."""
    if size > max(LARGE, GROWN * stored):
        said = f"{size:,} bytes, of which next to nothing is stored"
        raise OSError(said) if path is None else OSError(None, said, str(path))


def read_local_range(path: Path | str, offset: int, size: int) -> bytes:
    """Read bytes of a local file, fewer where it ends; raises OSError as `open_descriptor`."""
    descriptor = open_descriptor(path)
    try:
        return _read_descriptor(descriptor, size, offset)
    finally:
        os.close(descriptor)


def _read_descriptor(descriptor: int, size: int, offset: int) -> bytes:
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


class Status(NamedTuple):
    """Status of an object, named as `os.stat_result` has it."""

    st_size: int
    st_mtime_ns: int
    st_mode: int = S_IFREG


class StorePath(Place):
    """An object of a store, or all those below a prefix.

    It has the methods of `pathlib.Path` that gloam uses, which raise the same errors. There
    are no folders: one is there when something lies below it. `open` reads; what is written is put
    whole, see `atomic.Pending`.
    """

    remote = True

    def __str__(self) -> str:
        text = super().__str__()
        match = _ADDRESS.match(text)
        return f"{match[1]}://{match[2]}" if match else text

    def __fspath__(self) -> str:
        return str(self)

    def __bytes__(self) -> bytes:
        return str(self).encode("utf-8", "surrogateescape")  # in every locale

    @property
    def bucket(self) -> str:
        """The bucket or container."""
        return self.parts[1]

    @property
    def key(self) -> str:
        """Its name in its bucket."""
        return "/".join(self.parts[2:])

    def _request(self, call: Callable[..., T], *args: Any, **options: Any) -> T:
        return patient(self, lambda: call(client(self.parts[0], self.bucket), *args, **options))

    def read_bytes(self) -> bytes:
        """Return the whole object."""
        return bytes(self._request(lambda store: obstore().get(store, self.key).bytes()))

    def read_range(self, offset: int, size: int) -> bytes:
        """Return some bytes; fewer where the object ends before."""
        if size <= 0:
            return b""
        call = obstore().get_range
        return bytes(self._request(call, self.key, start=offset, length=size))

    def read_first(self, size: int) -> tuple[bytes, Status]:
        """Return the first bytes, and what the store tells of the object, by one request."""

        def first(store: Any) -> tuple[bytes, Status]:
            found = obstore().get(store, self.key, options={"range": (0, size)})
            return bytes(found.bytes()), _status(found.meta)

        try:
            return self._request(first)
        except OSError as error:
            if error.errno != errno.ERANGE:
                raise
            return b"", self.stat()  # an object without a byte has no first one

    def read_most(self, most: int) -> tuple[bytes, int]:
        """Return the whole object and its size; not all of it where that is more than `most`."""
        data, (size, *_) = self.read_first(most)
        return (self.read_bytes() if len(data) < size <= most else data), size

    def open_regular(self, buffering: int = -1) -> io.BufferedReader:
        """Open the object to read it."""
        return cast(io.BufferedReader, self.open("rb"))

    def open(self, mode: str = "r", *args: Any, **options: Any) -> IO[Any]:  # type: ignore[override]
        """Open the object to read it, in pieces that grow while it is read on and on."""
        if mode != "rb":
            raise io.UnsupportedOperation(f"{self}: objects can be read, or written as a whole")
        return io.BufferedReader(_Reader(self), _PIECES[1])

    def stat(self, *, follow_symlinks: bool = True) -> Status:  # type: ignore[override]
        """Return size and time of the object."""
        return _status(self._request(obstore().head, self.key))

    def is_file(self, **options: Any) -> bool:
        """Return whether there is such an object."""
        try:
            self.stat()
        except FileNotFoundError:
            return False
        return True

    def is_dir(self, **options: Any) -> bool:
        """Return whether there are objects below."""
        first = self._request(lambda store: listed(self, lambda: islice(self._pages(store), 1)))
        return bool(first)

    def exists(self, **options: Any) -> bool:
        """Return whether it is an object, or one is below."""
        return self.is_file() or self.is_dir()

    def iterdir(self) -> Generator[StorePath, None, None]:
        """Yield what lies directly below, objects and prefixes."""

        def direct(store: Any) -> Iterator[list[str]]:
            found = obstore().list_with_delimiter(store, self._prefix())
            yield [one["path"] for one in found["objects"]] + list(found["common_prefixes"])

        keys = self._request(lambda store: listed(self, lambda: direct(store)))
        yield from (self._at(key) for key in sorted(keys))

    def glob(self, pattern: str, **options: Any) -> Iterator[StorePath]:  # type: ignore[override]
        """Yield what lies directly below and is called like a pattern without slashes."""
        return (path for path in self.iterdir() if fnmatch.fnmatchcase(path.name, pattern))

    def facts(self) -> dict[str, Status]:
        """Return sizes and times of all objects below, by their paths from here."""
        start = len(self._prefix())
        return {key[start:]: status for key, status in self._listed()}

    def unlink(self, missing_ok: bool = False) -> None:
        """Delete the object."""
        try:
            self._request(obstore().delete, self.key)
        except FileNotFoundError:
            if not missing_ok:
                raise

    def remove_tree(self) -> None:
        """Delete all objects below, many by a request, as far as that can be done."""
        with suppress(OSError):
            if keys := [key for key, _ in self._listed()]:
                self._request(obstore().delete, keys)

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Do nothing: there are no folders."""

    def resolve(self, strict: bool = False) -> StorePath:
        """Return itself."""
        return self

    def begin(self, temporary: Path) -> IO[bytes]:
        """Open an unnamed temporary file of this machine."""
        return SpooledTemporaryFile(_HELD)

    def finish(self, handle: IO[bytes], temporary: Path, durable: bool) -> None:
        """Put what was written."""
        self.put(handle)

    def put(self, data: bytes | IO[bytes]) -> None:
        """Write the object atomically: readers and kills never see a part of it."""
        size = len(data) if isinstance(data, bytes) else data.seek(0, os.SEEK_END)
        # In parts only where it is large: they cost requests, and what is left of them.
        in_parts = size > _IN_PARTS
        if not isinstance(data, bytes) and not in_parts:
            data.seek(0)
            data = data.read()  # a tenth of the time that obstore takes to read a file

        def whole(store: Any) -> None:
            if not isinstance(data, bytes):
                data.seek(0)
            obstore().put(store, self.key, data, use_multipart=in_parts)

        try:
            self._request(whole)
        except FileNotFoundError as error:
            raise self._no_bucket() from error

    def create(self, data: bytes) -> bool:
        """Write the whole object if there is none; returns whether it holds these bytes now.

        Raises StoreError when the store fails.
        """
        try:
            self._request(obstore().put, self.key, data, mode="create")
        except FileNotFoundError as error:
            raise self._no_bucket() from error
        except FileExistsError:
            # An answer may have been lost, and the object be the one of the try before.
            return self.read_bytes() == data
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            # A store that knows no conditions: what is lost is a guard against two builders, who
            # make the same bytes.
            if self.is_file():
                return self.read_bytes() == data
            self.put(data)
        return True

    def _no_bucket(self) -> StoreError:
        where = f"{self.parts[0]}//{self.bucket}"
        return StoreError.of(errno.ENOENT, where, "there is no such bucket, make it first")

    def _prefix(self) -> str:
        return f"{self.key}/" if self.key else ""

    def _listed(self) -> list[tuple[str, Status]]:
        return self._request(lambda store: listed(self, lambda: self._pages(store)))

    def _pages(self, store: Any) -> Iterator[list[tuple[str, Status]]]:
        for page in obstore().list(store, self._prefix(), chunk_size=1000):
            yield [(one["path"], _status(one)) for one in page]

    def _at(self, key: str) -> StorePath:
        return type(self)(f"{self.parts[0]}/{self.bucket}/{key}")


def _status(facts: Any) -> Status:
    return Status(int(facts["size"]), int(facts["last_modified"].timestamp()) * 10**9)


class _Reader(io.RawIOBase):
    """An object as a file: each read is a request, of pieces that grow while they follow on."""

    def __init__(self, path: StorePath) -> None:
        self._path, self._offset, self._piece = path, 0, _PIECES[0]
        # Small objects are read by one request.
        self._first, facts = path.read_first(self._piece)
        self._size, self._next = facts.st_size, len(self._first)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._offset, os.SEEK_END: self._size}[whence]
        self._offset = base + offset
        return self._offset

    def tell(self) -> int:
        return self._offset

    def readinto(self, buffer: Any) -> int:
        if self._offset < len(self._first):
            data = self._first[self._offset : self._offset + len(buffer)]
            buffer[: len(data)] = data
            self._offset += len(data)
            return len(data)
        on = self._offset == self._next
        self._piece = min(2 * self._piece, _PIECES[1]) if on else _PIECES[0]
        wanted = min(len(buffer), self._piece, self._size - self._offset)
        if wanted <= 0:
            return 0
        data = self._path.read_range(self._offset, wanted)
        buffer[: len(data)] = data
        self._offset += len(data)
        self._next = self._offset
        return len(data)


def as_path(path: str | os.PathLike[str]) -> Place:
    """Return a folder or a file as a Place, an address of a store as a StorePath.

    Raises SetError when it is an address of something that is no store of s3, gs or az; ConfigError
    when it names no bucket.

    Examples
    --------
    >>> as_path("s3://bucket/set") / "set.json"
    StorePath('s3://bucket/set/set.json')
    """
    if isinstance(path, Place):
        return path
    text = os.fspath(path)
    match = _ADDRESS.match(text)
    if _OTHERS.match(text) and _is_name(text) and not Path(text.partition("/")[0]).exists():
        raise SetError.at(
            visible(without_secrets(text)),
            f"sets lie in folders, or in stores at {', '.join(f'{s}://' for s in SCHEMES)}",
        )
    begun = None if match else _BEGUN.match(text)
    if begun and _is_name(text) and not Path(begun[0]).exists():
        shown = visible(without_secrets(text))
        raise ConfigError(
            f"{shown}: an address of a store is written {begun[1].lower()}://BUCKET/NAME"
        )
    if match is None or Path(f"{match[1]}:").exists():
        if not _is_name(text):
            raise ConfigError(f"{visible(text)}: no file can have such a name", value=text)
        return Place(path)
    scheme, place = match[1].lower(), match[2].strip("/")
    bucket, _, key = place.partition("/")
    if problem := _address_problem(bucket, key):
        shown = visible(without_secrets(f"{scheme}://{place}"))
        raise ConfigError(f"{shown}: {problem}; write {scheme}://BUCKET/NAME", value=shown)
    return StorePath(f"{scheme}:/{place}")


def _is_name(text: str) -> bool:
    """Return whether the system knows such names: none with NUL, half a surrogate, or so long."""
    try:
        data = os.fsencode(text)
    except UnicodeEncodeError:
        return False
    fits = len(data) <= _NAME_MAX or max(map(len, data.split(b"/"))) <= _NAME_MAX
    return fits and b"\0" not in data and len(data) < _PATH_MAX


def _address_problem(bucket: str, key: str) -> str:
    """Return what is wrong with an address; nothing of a right one."""
    if not bucket:
        return "names no bucket"
    if "@" in bucket or ":" in bucket:
        return f"a bucket's name holds no : and no @, credentials go into {_CREDENTIALS}"
    if "?" in re.sub("%3F", "?", f"{bucket}/{key}", flags=re.IGNORECASE):
        return f"an address has no ?, signatures and credentials go into {_CREDENTIALS}"
    if not _BUCKET.fullmatch(bucket):
        return "a bucket's name holds letters, digits, dots, - and _"
    if ".." in key.split("/"):
        return "no way leads up in a store, leave out the .."
    if "\\" in key or not key.isprintable():
        return "an object's name holds no line break, no \\ and no byte that is not UTF-8"
    return ""


def in_store(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is an address of a store."""
    return as_path(path).remote


def map_concurrent(
    function: Callable[[T], U], items: Sequence[T], where: Path, threads: int = 1
) -> Iterator[U]:
    """Call a function on each item, in order.

    where: in a store they are requests, which are made side by side.
    threads: elsewhere.
    """
    count = AT_ONCE if place(where).remote else min(threads, len(items))
    if count <= 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(count) as pool:
        try:
            yield from pool.map(function, items)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
