"""PNG files that gloam wrote to pixels, on a GPU. Needs numba-cuda.

What `decode` does, by the same functions: a file's stream by one thread, as each code's place
depends on those before it; its sum and its filters by many. A file takes six times as long as a
core takes, but some hundred files take no longer than one, and cores are free meanwhile.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import cuda

from ..batch.device_memory import DeviceMemory, end_stream, new_stream
from ..compiling.for_cuda import device, device_function, kernel, plain_arithmetic, twin
from .adler import ADLER_BASE
from .crc import CRC_ONES, followed_by, plus_byte
from .decode import SUMMED, begin_of, is_over, number_at
from .inflate import (
    ENTRIES,
    LENGTHS,
    LITERALS,
    NOT_OURS,
    ORDERED,
    SLACK,
    Room,
    block_bytes,
    block_head,
    fill_look,
    is_last,
    join_looks,
    look_up,
)
from .unfilter import is_known, unfiltered

i32 = np.int32
i64 = np.int64
u8 = np.uint8
u32 = np.uint32
u64 = np.uint64

THREADS = 128
"""That work on the rows of a file together."""
_CODING = 64  # threads that make a block's looks; one of them undoes its codes
_BEHIND = 4  # words that may be read behind the last one


@device_function
def look_up_narrowly(data, place, table, out, made):
    """Do what `inflate.look_up` does, by numbers of 32 bits: others cost a GPU twice as much.

    A thread alone waits for each of its instructions, so they are few.
    """
    words = data.view(np.uint32)
    at, to = u32(place), u32(made)
    last, room = u32((data.shape[0] - SLACK) << 3), u32(max(out.shape[0] - 4 * SLACK, 0))
    known = True
    while known and to < room and at < last:
        first, away = u32(at >> u32(5)), u64(at & u32(31))
        low, middle = u64(words[first]), u64(words[u32(first + u32(1))])
        high = u64(words[u32(first + u32(2))])
        held = u32((low | (middle << u64(32))) >> away)
        then = u32((middle | (high << u64(32))) >> away)
        for _ in range(5):
            entry = table[u32(held & u32(ENTRIES - 1))]
            bits, count = u32((entry >> u32(24)) & u32(15)), u32(entry >> u32(28))
            out[to] = u8(entry)
            out[u32(to + u32(1))] = u8(entry >> u32(8))
            out[u32(to + u32(2))] = u8(entry >> u32(16))
            held = u32(((u64(then) << u64(32)) | u64(held)) >> u64(bits))
            then = u32(then >> bits)
            at, to = u32(at + bits), u32(to + count)
            known = known and count > u32(0)
    return i64(at), i64(to)


twin(look_up, look_up_narrowly)
_begin_of, _is_over, _number_at = device(begin_of), device(is_over), device(number_at)
_is_last, _block_head, _block_bytes = device(is_last), device(block_head), device(block_bytes)
_fill_look, _join_looks = device(fill_look), device(join_looks)
_plus_byte, _followed_by = device(plus_byte), device(followed_by)
_unfiltered, _is_known = device(unfiltered), device(is_known)


@kernel
def inflate_files(data, ends, height, columns, filtered, behind):
    """Undo the deflate of files that follow each other in `data`, one a block.

    `filtered` (N, height (columns + 1) + SLACK or more) is filled, and `behind` (N) with where
    their sums stand, or NOT_OURS.
    """
    room = Room(
        cuda.shared.array(LITERALS, np.uint8),
        cuda.shared.array(ORDERED, np.uint8),
        cuda.shared.array(LENGTHS, np.int64),
        cuda.shared.array(LENGTHS, np.int64),
        cuda.shared.array(LITERALS, np.int64),
        cuda.shared.array(LITERALS, np.int64),
        cuda.shared.array(ENTRIES, np.uint32),
        cuda.shared.array(ENTRIES, np.uint32),
    )
    state = cuda.shared.array(2, np.int64)  # the bit that it is at; whether the block is the last
    number, thread = cuda.blockIdx.x, i64(cuda.threadIdx.x)
    begin = ends[number - 1] if number > 0 else i64(0)
    out = filtered[number, : height * (columns + 1) + SLACK]
    made, over = i64(0), False
    if thread == 0:
        first = _begin_of(data, begin, ends[number], height, columns)
        state[0] = first << 3 if first != NOT_OURS else i64(NOT_OURS)
    cuda.syncthreads()
    while not over and state[0] >= 0:
        cuda.syncthreads()  # all have read the state before it changes
        if thread == 0:
            state[1] = i64(_is_last(data, state[0]))
            state[0] = _block_head(data, state[0], room)
        for i in range(thread, ENTRIES, _CODING):
            room.singles[i] = u32(0)
        cuda.syncthreads()
        if state[0] >= 0:
            for symbol in range(thread, LITERALS, _CODING):
                _fill_look(symbol, room)
            cuda.syncthreads()
            for i in range(thread, ENTRIES, _CODING):
                _join_looks(i, room)
            cuda.syncthreads()
            if thread == 0:
                state[0], made = _block_bytes(data, state[0], room, out, made)
            cuda.syncthreads()
        over = state[1] > 0
    if thread == 0:
        found = (state[0] + 7) >> 3
        whole = state[0] >= 0 and made == height * (columns + 1)
        behind[number] = found if whole and _is_over(data, found, ends[number]) else i64(NOT_OURS)


@kernel
def unfilter_files(data, ends, height, columns, filtered, behind, pixels):
    """Check the sums of the files and of what was inflated, and undo the filters.

    To pixels (N, H, 3 W).

    A file has a block. A pixel depends on the ones left of it and above it: each thread has a row,
    and is a pixel behind the thread of the row above.
    """
    totals = cuda.shared.array(THREADS, np.uint64)
    weighted = cuda.shared.array(THREADS, np.uint64)
    sums = cuda.shared.array(THREADS, np.uint32)
    number, thread = cuda.blockIdx.x, i64(cuda.threadIdx.x)
    if behind[number] == NOT_OURS:
        return
    length = height * (columns + 1)
    total, weight = u64(0), u64(0)
    for i in range(thread, length, THREADS):
        byte = u64(filtered[number, i])
        total += byte
        weight += u64(length - i) * byte
    totals[thread], weighted[thread] = total, weight
    summed = (ends[number - 1] if number > 0 else i64(0)) + SUMMED
    end = behind[number] + 4
    part = (end - summed + THREADS - 1) // THREADS
    last = min(summed + (thread + 1) * part, end)
    known = CRC_ONES if thread == 0 else u32(0)
    for i in range(summed + thread * part, last):
        known = _plus_byte(known, data[i])
    sums[thread] = _followed_by(known, end - last)
    cuda.syncthreads()
    if thread == 0:
        total, weight, known = u64(1), u64(length), CRC_ONES
        for i in range(THREADS):
            total += totals[i]
            weight += weighted[i]
            known ^= sums[i]
        base = u64(ADLER_BASE)
        wanted = u64(_number_at(data, behind[number]))
        same = ((weight % base) << u64(16)) | (total % base) == wanted
        if not same or i64(known) != _number_at(data, end):
            behind[number] = NOT_OURS
    width = columns // 3
    for first in range(0, height, THREADS):
        y = first + thread
        begin = y * (columns + 1)
        choice = filtered[number, begin] if y < height else u8(0)
        if y < height and not _is_known(choice):
            behind[number] = NOT_OURS
        red, green, blue = u8(0), u8(0), u8(0)
        for step in range(width + min(height - first, THREADS) - 1):
            x = step - thread
            if y < height and x >= 0 and x < width:
                at = 3 * x
                over, above, top = u8(0), u8(0), u8(0)
                if y > 0:
                    over = pixels[number, y - 1, at]
                    above = pixels[number, y - 1, at + 1]
                    top = pixels[number, y - 1, at + 2]
                red = _unfiltered(choice, filtered[number, begin + at + 1], red, over)
                green = _unfiltered(choice, filtered[number, begin + at + 2], green, above)
                blue = _unfiltered(choice, filtered[number, begin + at + 3], blue, top)
                pixels[number, y, at] = red
                pixels[number, y, at + 1] = green
                pixels[number, y, at + 2] = blue
            cuda.syncthreads()


class PngDecoder:
    """Files of one size to pixels in device memory, in the order of a stream of its own.

    Parameters
    ----------
    device_id : int
        Number of the GPU.
    """

    def __init__(self, device_id: int) -> None:
        self._device = device_id
        cuda.select_device(device_id)
        stream = new_stream()
        weakref.finalize(self, end_stream, stream)
        self._memory = DeviceMemory(int(stream))
        self._data: Any = None

    def decode(
        self, files: list[npt.NDArray[np.uint8]], height: int, width: int
    ) -> tuple[Any, npt.NDArray[np.bool_]]:
        """Decode what `encode_png` made, and wait for it.

        Parameters
        ----------
        files : list of uint8 arrays
        height, width : int

        Returns
        -------
        device array (N, H, W, 3) of uint8
            RGB; the next call fills it again.
        bool array (N)
            False for what is damaged, is none of gloam's files or has another size.
        """
        cuda.select_device(self._device)  # of this thread
        memory, count, columns = self._memory, len(files), 3 * width
        ends = np.cumsum([len(file) for file in files], dtype=np.int64)
        size = int(ends[-1])
        if self._data is None or len(self._data) < size:
            self._data = cuda.pinned_array(size + size // 4, np.uint8)
        np.concatenate(files, out=self._data[:size])
        length = -(-(height * (columns + 1) + SLACK) // 8) * 8
        # Words, as what is looked at as such must have a whole number of them, and some behind.
        words = -(-len(self._data) // 4)
        data = memory.room("data", (words + _BEHIND,), np.uint32)[:words].view(np.uint8)
        memory.copy_in(data, self._data[:size])
        places = memory.upload("ends", ends)
        filtered = memory.room("filtered", (count, length), np.uint8)
        behind = memory.room("behind", (count,), np.int64)
        pixels = memory.room("pixels", (count, height, columns), np.uint8)
        arguments = height, columns, filtered, behind
        with plain_arithmetic():
            inflate_files[count, _CODING, memory.stream](data, places, *arguments)
            unfilter_files[count, THREADS, memory.stream](data, places, *arguments, pixels)
        found = np.empty(count, np.int64)
        memory.copy_out(behind, found)
        memory.uploaded()
        return pixels[:count].reshape(count, height, width, 3), found != NOT_OURS
