"""One process at a time on one output."""

from __future__ import annotations

import errno
import os
import re
import socket
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from ..errors import GloamWarning, SetError

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]

_HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)
_HOLDER = re.compile(r"process (\d+) on (\S+)")
_POLL = 0.2  # seconds


@contextmanager
def exclusive(path: Path, shared: bool = False) -> Iterator[None]:
    """Hold a lock file for the length of the block.

    The system releases it when the process ends, however it ends.

    Some file systems have no locks (Lustre mounted without `-o flock`, some network folders). There
    a second file that exists as long as the block stands for the lock, with a warning: after a kill
    it is taken over on the same machine alone.

    With `shared`, together with others that share it: tasks of one build, which write disjoint
    shards.

    Raises
    ------
    SetError
        When another process holds it; says which.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a+") as handle:
        try:
            _lock(handle, shared, wait=False)
        except OSError as error:
            if error.errno in _HELD:
                raise _held(path, handle) from None
            _warn(path, error)
            with _file_lock(path, shared):
                yield
            return
        handle.seek(0)
        handle.truncate()
        handle.write(_own_name())
        handle.flush()
        yield


@contextmanager
def in_turn(path: Path) -> Iterator[None]:
    """Hold a lock file for the length of the block, waiting until nobody else does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a") as handle:
        try:
            _lock(handle, shared=False, wait=True)
        except OSError as error:
            _warn(path, error)
            with _file_lock(path, shared=False, wait=True):
                yield
            return
        yield


def _lock(handle: IO[str], shared: bool, wait: bool) -> None:
    if fcntl is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    fcntl.flock(
        handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB)
    )


def _own_name() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"


def _held(path: Path, handle: IO[str]) -> SetError:
    handle.seek(0)
    return SetError(
        f"{path.parent.parent}: {handle.read().strip() or 'another process'} is working on it; wait"
        " for it or end it",
        path=path.parent.parent,
    )


def _warn(path: Path, error: OSError) -> None:
    warnings.warn(
        f"{path.parent.parent}: this file system has no locks ({error.strerror}); a file stands for"
        " them, so start no second command on it from another machine (Lustre: mount it with -o"
        " flock)",
        GloamWarning,
        stacklevel=5,
    )


@contextmanager
def _file_lock(path: Path, shared: bool, wait: bool = False) -> Iterator[None]:
    """Hold a file that is made by one process at a time.

    Those that share a lock have a file each, which say that it is not free.
    """
    only = path.with_name(f"{path.name}.held")
    own = (
        path.with_name(f"{path.name}.held-{socket.gethostname()}-{os.getpid()}") if shared else only
    )
    while True:
        others = [only] if shared else [only, *path.parent.glob(f"{path.name}.held-*")]
        holder = next((held for held in others if _alive(held)), None)
        if holder is None and _made(own):
            break
        if not wait:
            with suppress(FileNotFoundError), open(holder or own, "r+") as handle:
                raise SetError(f"{_held(path, handle)} (if it is dead, delete {holder or own})")
            continue  # it has just ended
        time.sleep(_POLL)
    try:
        yield
    finally:
        own.unlink(missing_ok=True)


def _made(path: Path) -> bool:
    try:
        with open(path, "x") as handle:
            handle.write(_own_name())
    except FileExistsError:
        return False
    return True


def _alive(path: Path) -> bool:
    """Return whether the process that made a lock's file may still be there.

    The files of dead ones of this machine are deleted.
    """
    try:
        match = _HOLDER.fullmatch(path.read_text())
    except OSError:
        return False
    if match and match[2] == socket.gethostname():
        try:
            os.kill(int(match[1]), 0)
        except ProcessLookupError:
            with suppress(OSError):
                path.unlink()
            return False
        except PermissionError:
            pass
    return True
