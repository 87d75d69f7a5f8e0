"""One process at a time on one output.

A folder's is a lock of the system's; in a store, and where there are no locks, an object or a
file that one process makes. In a store it is a lease: it is renewed, and ends when that stops.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import socket
import stat
import threading
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from secrets import token_hex
from typing import IO

from ..errors import GloamWarning, SetError
from .atomic import write_bytes
from .stores import place
from .untrusted import read_regular

_HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)
_HOLDER = re.compile(r"process (\d+) on (\S+)")
_POLL = 0.2  # seconds
_LEASE = 60.0  # seconds after which a lock in a store ends that is not renewed


@contextmanager
def exclusive(path: Path, shared: bool = False, wait: bool = False) -> Iterator[None]:
    """Hold a lock file for the length of the block.

    The system releases it when the process ends, however it ends; a lease in a store ends a minute
    after its process did.

    Some file systems have no locks (Lustre mounted without `-o flock`, some network folders). There
    a second file that exists as long as the block stands for the lock, with a warning: after a kill
    it is taken over on the same machine alone.

    path: of the lock, two folders below the output that messages name.
    shared: together with others that share it: tasks of one build, which write disjoint shards.
    wait: until it is free.

    Raises SetError when another process holds it and `wait` is false, naming that process; or when
    the lock or its folder is a link, or the lock is no plain file of its own.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if place(path).remote:
        with _file_lock(path, shared, wait):
            yield
        return
    lock: AbstractContextManager[None]
    with _own_file(path) as handle:
        try:
            kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
            fcntl.flock(handle, kind if wait else kind | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _HELD and not wait:
                handle.seek(0)
                raise _held_error(path, handle.read()) from None
            _warn_of_no_locks(path, error)
            lock = _file_lock(path, shared, wait)
        else:
            handle.seek(0)
            handle.truncate()
            handle.write(_process_name())
            handle.flush()
            lock = nullcontext()
        with lock:
            yield


def _own_file(path: Path) -> IO[str]:
    """Open a lock's file, which is made if it is missing, and belongs to nothing else.

    Raises SetError when it is a link, has another name too, or is no file; it is not changed then.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        if path.parent.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        descriptor = os.open(path, flags, 0o666)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise _odd_lock(path) from None
        raise
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        os.close(descriptor)
        raise _odd_lock(path)
    return os.fdopen(descriptor, "r+")


def _odd_lock(path: Path) -> SetError:
    return SetError.at(
        path, "is a link, or no file, which gloam did not make; delete it, or choose another folder"
    )


def _process_name() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"


def _held_error(path: Path, holder: str, way_out: str = "") -> SetError:
    return SetError.at(
        path.parent.parent,
        f"{holder.strip() or 'another process'} is working on it; wait for it or end it{way_out}",
    )


def _warn_of_no_locks(path: Path, error: OSError) -> None:
    warnings.warn(
        f"{path.parent.parent}: this file system has no locks ({error.strerror}); a file stands for"
        " them, so start no second command on it from another machine (Lustre: mount it with -o"
        " flock)",
        GloamWarning,
        stacklevel=5,
    )


@contextmanager
def _file_lock(path: Path, shared: bool, wait: bool) -> Iterator[None]:
    """Hold a file that one process makes at a time; those that share a lock have a file each."""
    only = path.with_name(f"{path.name}.held")
    sharers = f"{path.name}.held-*"
    own = (
        path.with_name(f"{path.name}.held-{socket.gethostname()}-{os.getpid()}") if shared else only
    )

    def living(files: Iterable[Path]) -> Path | None:
        return next((held for held in files if _holder_lives(held)), None)

    while True:
        mark = _holder_mark(own)
        holder = living([only] if shared else [only, *path.parent.glob(sharers)])
        if holder is None and place(own).create(mark):
            # One of the other kind may have found none, too, and made its own.
            holder = living([only] if shared else path.parent.glob(sharers))
            if holder is None:
                break
            own.unlink(missing_ok=True)
        if not wait:
            known = _read_holder(holder or own)
            if known is not None:
                ends = f"its lease ends within {_LEASE:.0f} s"
                way_out = ends if place(path).remote else f"delete {holder or own}"
                raise _held_error(path, known, f" (if it is dead, {way_out})")
            continue  # it has just ended
        time.sleep(_POLL)
    if place(own).remote:
        with _renewed_lease(own, mark):
            yield
        return
    try:
        yield
    finally:
        own.unlink(missing_ok=True)


def _read_holder(held: Path) -> str | None:
    """Return who holds a lock; None when it has been given back."""
    try:
        return read_regular(held).decode("utf-8", "replace").partition("\n")[0]
    except FileNotFoundError:
        return None


def _holder_mark(held: Path) -> bytes:
    """Return who holds a lock, in a store with what no other lease holds."""
    return (_process_name() + (f"\n{token_hex(8)}" if place(held).remote else "")).encode()


@contextmanager
def _renewed_lease(held: Path, mark: bytes) -> Iterator[None]:
    """Renew a lease in a store while the block runs, then end it.

    One that another process took over, as after a pause longer than a lease, is left to it.
    """
    ended, own = threading.Event(), {mark}  # also marks whose writing seemed to fail

    def renew() -> None:
        while not ended.wait(_LEASE / 6):
            with suppress(OSError):  # the store fails; the build's own requests say so
                if read_regular(held) not in own:
                    return
                own.add(next_mark := _holder_mark(held))
                write_bytes(held, next_mark)

    thread = threading.Thread(target=renew, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        with suppress(FileNotFoundError):
            if read_regular(held) in own:
                held.unlink(missing_ok=True)


def _holder_lives(path: Path) -> bool:
    """Return whether a lock's holder may live; delete files of dead ones, and leases that ended."""
    try:
        match = _HOLDER.match(read_regular(path).decode("utf-8", "replace"))
        if place(path).remote and time.time() - path.stat().st_mtime_ns / 1e9 > _LEASE:
            path.unlink(missing_ok=True)
            return False
    except FileNotFoundError:
        return False
    except OSError:
        if place(path).remote:
            raise
        raise _odd_lock(path) from None
    if match and match[2] == socket.gethostname():
        try:
            os.kill(int(match[1]), 0)
        except (ProcessLookupError, OverflowError):
            with suppress(OSError):
                path.unlink()
            return False
        except PermissionError:
            pass
    return True
