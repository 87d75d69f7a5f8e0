"""One process at a time on one output."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import SetError


@contextmanager
def exclusive(path: Path, shared: bool = False) -> Iterator[None]:
    """Hold a lock file for the length of the block. The system releases it when the process ends, however it ends.

    With `shared`, together with others that share it: tasks of one build, which write disjoint shards.

    Raises
    ------
    SetError
        When another process holds it; says which.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a+") as handle:
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError:
            handle.seek(0)
            holder = handle.read().strip() or "another process"
            raise SetError(f"{path.parent.parent}: {holder} is working on it; wait for it or end it") from None
        handle.seek(0)
        handle.truncate()
        handle.write(f"process {os.getpid()} on {socket.gethostname()}")
        handle.flush()
        yield


@contextmanager
def in_turn(path: Path) -> Iterator[None]:
    """Hold a lock file for the length of the block, waiting until nobody else does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
