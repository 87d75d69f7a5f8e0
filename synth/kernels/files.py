"""Read many files at once, without the interpreter's lock between one call and the next.

A thread that reads by Python waits for the lock after every call of the system, while whoever feeds
DALI has it: mixtures on an H200 waited for that half of their time.
"""

from __future__ import annotations

import os

import numpy as np
from numba import types

from .arrays import i64
from .compiling.compile import kernel

_open = types.ExternalFunction("open", types.intc(types.uintp, types.intc))
_statx = types.ExternalFunction(
    "statx", types.intc(types.intc, types.uintp, types.intc, types.uintc, types.uintp)
)
_pread = types.ExternalFunction(
    "pread", types.intp(types.intc, types.uintp, types.uintp, types.int64)
)
_close = types.ExternalFunction("close", types.intc(types.intc))

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC  # opening a pipe waits without the second
# The structure of statx(2), the same on every machine: its size, flag for a descriptor's own
# state, the fields asked for (type and size), and where they are.
_STATX, _OWN, _TYPE_AND_SIZE, _MODE, _SIZE = 256, 0x1000, 0x201, 28, 40


@kernel
def open_files(paths, starts):
    """Open regular files.

    paths: uint8 array; their names, each with a zero byte at its end.
    starts: int64 array (N); where each begins.

    Returns an int64 array (2, N): descriptors and sizes in bytes; -1 where there is no regular file
    that may be read. `read_ranges` closes them.
    """
    found = np.full((2, starts.shape[0]), -1, np.int64)
    state, empty = np.zeros(_STATX, np.uint8), np.zeros(1, np.uint8)
    for i in range(starts.shape[0]):
        descriptor = _open(paths.ctypes.data + starts[i], _FLAGS)
        if descriptor < 0:
            continue
        failed = _statx(descriptor, empty.ctypes.data, _OWN, _TYPE_AND_SIZE, state.ctypes.data)
        mode = i64(state[_MODE]) | i64(state[_MODE + 1]) << 8
        if failed != 0 or mode & 0xF000 != 0x8000:  # S_IFMT, S_IFREG
            _close(descriptor)
            continue
        found[0, i], found[1, i] = descriptor, 0
        for byte in range(8):
            found[1, i] |= i64(state[_SIZE + byte]) << (8 * byte)
    return found


@kernel
def read_ranges(descriptors, files, offsets, begins, ends, out):
    """Read ranges of files, and close these.

    descriptors: int64 array; those of `open_files`, -1 for none.
    files, offsets: int64 arrays (N); which file each range is of, and its first byte in it.
    begins, ends: int64 arrays (N); where each range comes in `out`.
    out: uint8 array; filled there.

    Returns a boolean array (N): whether each was read to its end.
    """
    read = np.zeros(files.shape[0], np.bool_)
    for i in range(files.shape[0]):
        at, descriptor, done = offsets[i], descriptors[files[i]], begins[i]
        while done < ends[i] and descriptor >= 0:
            got = _pread(descriptor, out.ctypes.data + done, ends[i] - done, at)
            if got <= 0:
                break
            done, at = done + got, at + got
        read[i] = done == ends[i] and descriptor >= 0
    for descriptor in descriptors:
        if descriptor >= 0:
            _close(descriptor)
    return read
