"""Deflate (RFC 1951) without matches, for noise, which repeats nothing: Huffman codes of literals.

Each block has a code of its own, as darkness and noise differ from place to place.
"""

from __future__ import annotations

import numpy as np

from ..arrays import i64, u32, u64
from ..compiling.compile import inlined, kernel, scalar, store_word
from .huffman import END, MANY_ZEROS, ORDER, REPEAT, ZEROS, code_lengths, codes_of, count_bytes

LONGEST = 14
"""Bits of a code: four of them and a part of a byte fit a word."""
_LITERALS = END + 1
_DISTANCES = 2  # two codes of one bit, which nothing uses: some decoders ask for a whole code
_HEAD = 512  # bytes that a block takes besides its data, at most


@scalar
def _put(out, at, held, count, value, bits):
    """Append the lowest bits of a value, at most 56, behind `count` bits that are held.

    Returns the next byte's place, what is held, and how many bits.
    """
    held = held | (value << count)
    store_word(out, at, held)
    count = count + bits
    return at + i64(count >> u64(3)), held >> (count & u64(56)), count & u64(7)


@kernel
def _runs(lengths, symbols, extra):
    """Write code lengths with their repetitions; returns how many symbols that takes."""
    made = 0
    i = 0
    while i < lengths.shape[0]:
        value, run = lengths[i], 1
        while i + run < lengths.shape[0] and lengths[i + run] == value:
            run += 1
        i += run
        if value == 0:
            while run >= 3:
                some = min(run, 138)
                symbols[made] = ZEROS if some < 11 else MANY_ZEROS
                extra[made] = some - (3 if some < 11 else 11)
                made, run = made + 1, run - some
        else:
            symbols[made], extra[made] = value, 0
            made, run = made + 1, run - 1
            while run >= 3:
                some = min(run, 6)
                symbols[made], extra[made] = REPEAT, some - 3
                made, run = made + 1, run - some
        for _ in range(run):
            symbols[made], extra[made] = value, 0
            made += 1
    return made


@kernel
def _head(lengths, out, at, held, count, last):
    """Write a block's head: its code, as lengths, by a code of their own."""
    symbols, extra = np.empty(_LITERALS + _DISTANCES, np.int64), np.empty(300, np.int64)
    made = _runs(lengths, symbols, extra)
    counts, own = np.zeros(19, np.int64), np.empty(19, np.uint8)
    codes = np.empty(19, np.uint32)
    for i in range(made):
        counts[symbols[i]] += 1
    code_lengths(counts, 7, own)
    codes_of(own, codes)
    kept = 19
    while kept > 4 and own[ORDER[kept - 1]] == 0:
        kept -= 1
    word = u64(last | (2 << 1) | ((_LITERALS - 257) << 3) | ((_DISTANCES - 1) << 8))
    at, held, count = _put(out, at, held, count, word | u64((kept - 4) << 13), u64(17))
    for i in range(kept):
        at, held, count = _put(out, at, held, count, u64(own[ORDER[i]]), u64(3))
    for i in range(made):
        code, bits = u64(codes[symbols[i]] & u32(0xFFFF)), u64(codes[symbols[i]] >> u32(16))
        at, held, count = _put(out, at, held, count, code, bits)
        more = 2 if symbols[i] == REPEAT else (3 if symbols[i] == ZEROS else 7)
        if symbols[i] >= REPEAT:
            at, held, count = _put(out, at, held, count, u64(extra[i]), u64(more))
    return at, held, count


@inlined
def _write(data, codes, out, at, held, count):
    """Write the codes of all bytes.

    Bits and their number have tables of their own: fewer steps a byte than taking a word apart.
    """
    bits, lengths = np.empty(256, np.uint64), np.empty(256, np.uint64)
    for symbol in range(256):
        bits[symbol] = u64(codes[symbol]) & u64(0xFFFF)
        lengths[symbol] = u64(codes[symbol]) >> u64(16)
    whole = data.shape[0] & ~3
    for i in range(0, whole, 4):
        a, b, c, d = data[i], data[i + 1], data[i + 2], data[i + 3]
        of_a, of_c = lengths[a], lengths[c]
        first, of_first = bits[a] | (bits[b] << of_a), of_a + lengths[b]
        second, of_second = bits[c] | (bits[d] << of_c), of_c + lengths[d]
        at, held, count = _put(
            out, at, held, count, first | (second << of_first), of_first + of_second
        )
    for i in range(whole, data.shape[0]):
        at, held, count = _put(out, at, held, count, bits[data[i]], lengths[data[i]])
    return at, held, count


@kernel
def deflate(data, block, out):
    """Compress data, as a stream of blocks.

    data: uint8 array (N). block: bytes of data that have a code of their own. out: uint8 array of
    at least `most_bytes(N, block)`.

    Returns bytes that were written.
    """
    counts, totals = np.empty((4, _LITERALS), np.uint32), np.empty(_LITERALS, np.int64)
    lengths = np.empty(_LITERALS + _DISTANCES, np.uint8)
    codes = np.empty(_LITERALS, np.uint32)
    at, held, count = i64(0), u64(0), u64(0)
    length = data.shape[0]
    for start in range(0, max(length, 1), block):
        end = min(start + block, length)
        part = data[start:end]
        counts[:] = 0
        count_bytes(part, counts)
        counts[0, END] = 1
        for symbol in range(_LITERALS):
            some = counts[0, symbol] + counts[1, symbol] + counts[2, symbol] + counts[3, symbol]
            totals[symbol] = i64(some)
        if start == end:
            totals[0] = 1  # a code has two symbols at least
        code_lengths(totals, LONGEST, lengths[:_LITERALS])
        lengths[_LITERALS:] = 1
        codes_of(lengths[:_LITERALS], codes)
        at, held, count = _head(lengths, out, at, held, count, 1 if end == length else 0)
        at, held, count = _write(part, codes, out, at, held, count)
        code = u64(codes[END])
        at, held, count = _put(out, at, held, count, code & u64(0xFFFF), code >> u64(16))
    store_word(out, at, held)
    return at + i64((count + u64(7)) >> u64(3))


def most_bytes(length: int, block: int) -> int:
    """Return how many bytes `deflate` may write for data of so many."""
    return length * LONGEST // 8 + (length // block + 1) * _HEAD + 16


ADLER_BASE = i64(65521)
_RUN = 2048  # bytes whose sums fit 32 bits, in which a CPU adds twice as many at once


@kernel
def adler(data):
    """Return the Adler-32 sum of bytes (RFC 1950), four times as fast as zlib 1.2 does.

    Examples
    --------
    >>> import zlib
    >>> adler(np.frombuffer(b"noise", np.uint8)) == zlib.adler32(b"noise")
    True
    """
    low, high = i64(1), i64(0)
    for begin in range(0, data.shape[0], _RUN):
        run = data[begin : begin + _RUN]
        n = run.shape[0]
        total, weighted = u32(0), u32(0)  # at most 255 * 2048^2 / 2
        for i in range(n):
            byte = u32(run[i])
            total += byte
            weighted += u32(byte * u32(n - i))
        high = (high + n * low + i64(weighted)) % ADLER_BASE
        low = (low + i64(total)) % ADLER_BASE
    return (high << 16) | low
