"""Deflate (RFC 1951) undone where it has no matches, as in lows that `deflate` wrote.

Some three bytes are found by one look into a table, for noise has codes of few bits.
"""

from __future__ import annotations

import numpy as np

from ..arrays import i64, u8, u32, u64
from ..compiling.compile import inlined, kernel, load_word, scalar, store_word
from .huffman import END, ORDER, REPEAT, ZEROS, codes_of

SLACK = 8
"""Bytes that may be written, and must be there to read, beyond the last one."""
NOT_OURS = -1
"""Returned by `inflate` for damaged data, and for data that others wrote."""
_BITS = 11  # of a look
_LOOKS = 1 << _BITS
_LONGEST = 15
_LITERALS, _DISTANCES = END + 1, 30


@scalar
def _bits(data, place):
    """Return at least 56 bits of data from a bit on, lowest first."""
    return load_word(data, place >> 3) >> u64(place & 7)


@kernel
def _canonical(lengths, counts, symbols):
    """Count a code's lengths, and sort its symbols by them; returns whether it is a whole code."""
    begins = np.empty(_LONGEST + 2, np.int64)
    counts[:] = 0
    for symbol in range(lengths.shape[0]):
        counts[lengths[symbol]] += 1
    counts[0] = begins[1] = 0
    left = i64(1)
    for bits in range(1, _LONGEST + 1):
        left = (left << 1) - counts[bits]
        if left < 0:
            return False
        begins[bits + 1] = begins[bits] + counts[bits]
    for symbol in range(lengths.shape[0]):
        bits = lengths[symbol]
        if bits:
            symbols[begins[bits]] = symbol
            begins[bits] += 1
    return left == 0


@scalar
def _symbol(word, counts, symbols):
    """Return the symbol that a word begins with, and the bits of its code; -1 if it has none."""
    code, first, begin = i64(0), i64(0), i64(0)
    for bits in range(1, _LONGEST + 1):
        code |= i64(word & u64(1))
        word >>= u64(1)
        if code - first < counts[bits]:
            return i64(symbols[begin + code - first]), bits
        begin += counts[bits]
        first = (first + counts[bits]) << 1
        code <<= 1
    return i64(-1), 0


@kernel
def _head(data, place, lengths):
    """Read the lengths of a block's code of bytes (LITERALS), by means of a code of their own.

    Returns the bit behind them, NOT_OURS where they are none of `deflate`.
    """
    word = _bits(data, place)
    literals, distances = i64(word & u64(31)) + 257, i64((word >> u64(5)) & u64(31)) + 1
    kept = i64((word >> u64(10)) & u64(15)) + 4
    place += 14
    if literals != _LITERALS or distances > _DISTANCES:
        return i64(NOT_OURS)
    own, symbols = np.zeros(len(ORDER), np.uint8), np.empty(len(ORDER), np.int64)
    counts = np.empty(_LONGEST + 1, np.int64)
    word = _bits(data, place)
    for i in range(kept):
        if i == 18:
            word = _bits(data, place + 3 * i) << u64(3 * i)
        own[ORDER[i]] = u8((word >> u64(3 * i)) & u64(7))
    place += 3 * kept
    if not _canonical(own, counts, symbols):
        return i64(NOT_OURS)
    made, total, last = i64(0), literals + distances, u8(0)
    taken, longest = i64(0), u8(0)  # by codes of distances, of all that codes of 15 bits could take
    while made < total:
        if (place >> 3) + SLACK > data.shape[0]:
            return i64(NOT_OURS)
        word = _bits(data, place)
        symbol, bits = _symbol(word, counts, symbols)
        word >>= u64(bits)
        run, extra, value = i64(1), i64(0), u8(0)
        if symbol < 0:
            return i64(NOT_OURS)
        if symbol < REPEAT:
            value = u8(symbol)
            last = value
        elif symbol == REPEAT:
            run, extra, value = i64(3) + i64(word & u64(3)), i64(2), last
        elif symbol == ZEROS:
            run, extra, last = i64(3) + i64(word & u64(7)), i64(3), u8(0)
        else:
            run, extra, last = i64(11) + i64(word & u64(127)), i64(7), u8(0)
        if made + run > total or (symbol == REPEAT and made == 0):
            return i64(NOT_OURS)
        for i in range(made, min(made + run, i64(_LITERALS))):
            lengths[i] = value
        for _ in range(max(made, i64(_LITERALS)), made + run):
            taken += (1 << (_LONGEST - i64(value))) if value else 0
            longest = max(longest, value)
        made += run
        place += bits + extra
    # Nothing uses them, but a code that is too full, or not full though of two or more, is damage.
    full = taken == 1 << _LONGEST or (longest <= 1 and taken < 1 << _LONGEST)
    return place if full else i64(NOT_OURS)


@kernel
def _fill_looks(lengths, singles, table):
    """Fill tables of looks (LOOKS): of one byte, and of up to three.

    An entry is bytes, their bits, their number; of no bytes it stands for the end and for longer
    codes.
    """
    codes = np.empty(_LITERALS, np.uint32)
    codes_of(lengths, codes)
    singles[:] = u32(0)
    for symbol in range(END):
        code, bits = i64(codes[symbol] & u32(0xFFFF)), i64(lengths[symbol])
        if 0 < bits <= _BITS:
            for i in range(code, _LOOKS, 1 << bits):
                singles[i] = u32(symbol | (bits << 24) | (1 << 28))
    for i in range(_LOOKS):
        entry = singles[i]
        used = i64((entry >> u32(24)) & u32(15))
        second = singles[i >> used]
        more = i64((second >> u32(24)) & u32(15))
        if entry and second and used + more <= _BITS:
            used += more
            entry = (entry & u32(255)) | ((second & u32(255)) << u32(8))
            third = singles[i >> used]
            more = i64((third >> u32(24)) & u32(15))
            if third and used + more <= _BITS:
                used += more
                entry |= (third & u32(255)) << u32(16)
                entry |= u32(3 << 28)
            else:
                entry |= u32(2 << 28)
            entry |= u32(used << 24)
        table[i] = entry


@inlined
def _look_up(data, place, table, out, made):
    """Look up bytes while there is room; returns the bit behind them and how many there are."""
    room, last = out.shape[0] - 4 * SLACK, data.shape[0] - SLACK
    some, byte = u64(_LOOKS - 1), u64(255)
    known = True
    while known and made < room and (place >> 3) <= last:
        word = _bits(data, place)
        for _ in range(5):
            entry = u64(table[i64(word & some)])
            store_word(out, made, entry)  # of which three bytes count
            bits, count = (entry >> u64(24)) & u64(15), (entry >> u64(28)) & byte
            word >>= bits
            place += i64(bits)
            made += i64(count)
            known = known and count > u64(0)
    return place, made


@kernel
def inflate(data, begin, out):
    """Undo `deflate`.

    data: uint8 array, at least SLACK bytes follow the stream in it. begin: of the stream. out:
    uint8 array (N + SLACK), gets N bytes.

    Returns the byte of data behind the stream; NOT_OURS where it has matches, blocks of other
    kinds, or more or fewer bytes than N.
    """
    lengths, symbols = np.empty(_LITERALS, np.uint8), np.empty(_LITERALS, np.int64)
    counts = np.empty(_LONGEST + 1, np.int64)
    singles, table = np.empty(_LOOKS, np.uint32), np.empty(_LOOKS, np.uint32)
    length = i64(out.shape[0] - SLACK)
    place, made, last = i64(begin) << 3, i64(0), False
    while not last:
        if (place >> 3) + 3 * SLACK > data.shape[0]:
            return i64(NOT_OURS)
        word = _bits(data, place)
        last = (word & u64(1)) == u64(1)
        if (word >> u64(1)) & u64(3) != u64(2):
            return i64(NOT_OURS)
        place = _head(data, place + 3, lengths)
        if place < 0 or not _canonical(lengths, counts, symbols):
            return i64(NOT_OURS)
        _fill_looks(lengths, singles, table)
        while True:
            place, made = _look_up(data, place, table, out, made)
            if (place >> 3) + SLACK > data.shape[0]:
                return i64(NOT_OURS)
            symbol, bits = _symbol(_bits(data, place), counts, symbols)
            place += bits
            if symbol == END:
                break
            if symbol < 0 or made == length:
                return i64(NOT_OURS)
            out[made] = u8(symbol)
            made += 1
    return (place + 7) >> 3 if made == length else i64(NOT_OURS)
