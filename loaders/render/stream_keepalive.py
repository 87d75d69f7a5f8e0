"""Memory that is kept until a GPU has read it."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import Any


class StreamKeepAlive:
    """Keeps memory that a GPU's kernels were told to read.

    DALI's decoders write into memory that was given back as soon as it is, without waiting for what
    is under way on any stream: whoever reads their outputs on another one keeps them until that is
    done, however far behind the GPU is.

    most: batches that are kept; the oldest one is waited for where more would be.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: deque[tuple[Any, Any]] = deque()

    def __len__(self) -> int:
        return len(self._held)

    def keep(self, memory: Any, stream: Any) -> None:
        """Keep memory until all that was begun on a stream of torch is done; forget what is."""
        self._held.append((stream.record_event(), memory))
        while self._held and self._held[0][0].query():
            self._held.popleft()
        if len(self._held) > self._most:
            self._held[0][0].synchronize()
            self._held.popleft()

    def __del__(self) -> None:
        with suppress(Exception):  # CUDA may be gone when the interpreter ends
            if self._held:
                self._held[-1][0].synchronize()
