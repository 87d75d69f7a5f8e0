"""The checksums of a unit, two side by side: that of its file beside those of its members."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ....storage.sums import PlainSums, Sums
from .sha256 import BLOCK, WORDS, add_blocks, add_blocks_of_two, first_state, has_instructions

_PLACES = np.argsort(WORDS)  # of the words, in their order
_WAITING = 1 << 24  # bytes of a file that wait for members beside which they are added


class _Sum:
    """A sum, and the whole blocks that it still is to take."""

    def __init__(self, state: npt.NDArray[np.uint32] | None = None) -> None:
        self.state = first_state() if state is None else state
        self.runs: deque[npt.NDArray[np.uint8]] = deque()
        self.place = 0  # in the first run
        self.waiting = 0  # bytes

    def take(self, blocks: bytes | memoryview) -> None:
        """Note blocks that follow."""
        if blocks:
            self.runs.append(np.frombuffer(blocks, np.uint8))
            self.waiting += len(blocks)

    @property
    def left(self) -> int:
        """Blocks that are left of the first run."""
        return (len(self.runs[0]) - self.place) // BLOCK

    def went(self, blocks: int) -> None:
        """Note that so many of them were added."""
        self.place += blocks * BLOCK
        self.waiting -= blocks * BLOCK
        if self.place == len(self.runs[0]):
            self.runs.popleft()
            self.place = 0

    @property
    def digest(self) -> str:
        """The state, as hexadecimal digits."""
        return self.state[_PLACES].astype(">u4").tobytes().hex()


_NOTHING = _Sum()


class SumsSideBySide:
    """Makes the sums of `Sums` two at a time.

    What is written to the file waits, and is added beside the members that come next. Sums are
    those of hashlib.
    """

    def __init__(self) -> None:
        self._file = _Sum()
        self._length = 0
        self._rest = b""  # less than a block

    def of(self, members: Sequence[bytes]) -> list[str]:
        """Return the hexadecimal SHA-256 of each of some members."""
        sums = [_whole(member) for member in members]
        _add(sums, self._file)
        return [each.digest for each in sums]

    def update(self, data: bytes) -> None:
        """Add what is written to the file."""
        self._length += len(data)
        data = self._rest + data if self._rest else data
        whole = len(data) - len(data) % BLOCK
        self._file.take(memoryview(data)[:whole])
        self._rest = data[whole:]
        if self._file.waiting > _WAITING:
            _add([self._file], _NOTHING)

    def hexdigest(self) -> str:
        """Return the hexadecimal SHA-256 of what was written to the file until now."""
        _add([self._file], _NOTHING)
        last = _Sum(self._file.state.copy())
        last.take(_ended(self._rest, self._length))
        _add([last], _NOTHING)
        return last.digest


def unit_sums() -> Sums:
    """Return what makes the sums of a unit the fastest on this machine's CPU."""
    return SumsSideBySide() if has_instructions() else PlainSums()


def _whole(data: bytes) -> _Sum:
    """Return the sum of some bytes, which are still to be added."""
    made = _Sum()
    whole = len(data) - len(data) % BLOCK
    made.take(memoryview(data)[:whole])
    made.take(_ended(data[whole:], len(data)))
    return made


def _ended(rest: bytes, length: int) -> bytes:
    """Return the last blocks of a message of so many bytes: FIPS 180-4, 5.1.1."""
    return rest + b"\x80" + bytes((-len(rest) - 9) % BLOCK) + struct.pack(">Q", 8 * length)


def _add(sums: Sequence[_Sum], beside: _Sum) -> None:
    """Add all that sums are to take, each beside another; and of the last one what goes with it."""
    waiting = deque(each for each in sums if each.runs)
    while waiting:
        one = waiting[0]
        other = beside if beside.runs else waiting[1] if len(waiting) > 1 else None
        if other is None:
            blocks = one.left
            add_blocks(one.state, one.runs[0], one.place, blocks)
        else:
            blocks = min(one.left, other.left)
            add_blocks_of_two(
                *(one.state, one.runs[0], one.place),
                *(other.state, other.runs[0], other.place),
                blocks,
            )
            other.went(blocks)
        one.went(blocks)
        waiting = deque(each for each in waiting if each.runs)
