"""Deflate (RFC 1951) undone where it has no matches, as in lows that `deflate` wrote.

Some three bytes are found by one look into a table, for noise has codes of few bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..compiling.compile import inlined, kernel, load_word, scalar, store_bytes
from ..types import i64, u8, u32, u64

SLACK = 8
"""Bytes that may be written, and must be there to read, beyond the last one."""
NOT_OURS = -1
"""Returned by `inflate` for damaged data, and for data that others wrote."""
_BITS = 11  # of a look
_LONGEST = 15
_END = 256
LITERALS, ORDERED, LENGTHS, ENTRIES = _END + 1, 19, _LONGEST + 2, 1 << _BITS
"""How long the arrays of a `Scratch` are."""
_DISTANCES = 30
_ORDER = np.array([16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15], np.int64)
_REPEAT, _ZEROS = 16, 17


class Scratch(NamedTuple):
    """Memory to work out a block's code.

    counts, begins: int64 arrays (LENGTHS), how many codes have a length; where those are among the
    symbols.
    """

    lengths: Any  # uint8 array (LITERALS) of the codes, bits
    own: Any  # uint8 array (ORDERED) of those that the lengths are written in
    counts: Any
    begins: Any
    symbols: Any  # int64 array (LITERALS), by their codes
    codes: Any  # int64 array (LITERALS) of symbols, the first bit lowest
    singles: Any  # uint32 arrays (ENTRIES), looks of one byte, and of up to three
    table: Any  # uint32 arrays (ENTRIES), looks of one byte, and of up to three


@scalar
def _bits(data, place):
    """Return at least 56 bits of data from a bit on, lowest first."""
    return load_word(data, place >> 3) >> u64(place & 7)


@kernel
def _canonical(lengths, counts, begins, symbols):
    """Count a code's lengths, and sort its symbols by them; returns whether it is a whole code."""
    for bits in range(_LONGEST + 1):
        counts[bits] = 0
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
def _head(data, place, scratch):
    """Read the lengths of a block's code of bytes, by means of a code that `scratch` takes first.

    Returns the bit behind them, NOT_OURS where they are none.
    """
    word = _bits(data, place)
    literals, distances = i64(word & u64(31)) + 257, i64((word >> u64(5)) & u64(31)) + 1
    kept = i64((word >> u64(10)) & u64(15)) + 4
    place += 14
    if literals != LITERALS or distances > _DISTANCES:
        return i64(NOT_OURS)
    own, lengths, counts, symbols = scratch.own, scratch.lengths, scratch.counts, scratch.symbols
    for i in range(ORDERED):
        own[i] = u8(0)
    word = _bits(data, place)
    for i in range(kept):
        if i == 18:
            word = _bits(data, place + 3 * i) << u64(3 * i)
        own[_ORDER[i]] = u8((word >> u64(3 * i)) & u64(7))
    place += 3 * kept
    if not _canonical(own, counts, scratch.begins, symbols):
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
        if symbol < _REPEAT:
            value = u8(symbol)
            last = value
        elif symbol == _REPEAT:
            run, extra, value = i64(3) + i64(word & u64(3)), i64(2), last
        elif symbol == _ZEROS:
            run, extra, last = i64(3) + i64(word & u64(7)), i64(3), u8(0)
        else:
            run, extra, last = i64(11) + i64(word & u64(127)), i64(7), u8(0)
        if made + run > total or (symbol == _REPEAT and made == 0):
            return i64(NOT_OURS)
        for i in range(made, min(made + run, i64(LITERALS))):
            lengths[i] = value
        for _ in range(max(made, i64(LITERALS)), made + run):
            taken += (1 << (_LONGEST - i64(value))) if value else 0
            longest = max(longest, value)
        made += run
        place += bits + extra
    # Nothing uses them, but a code that is too full, or not full though of two or more, is damage.
    full = taken == 1 << _LONGEST or (longest <= 1 and taken < 1 << _LONGEST)
    return place if full else i64(NOT_OURS)


@scalar
def fill_look(symbol, scratch):
    """Enter a byte in the table of looks of one; it is empty before."""
    bits = i64(scratch.lengths[symbol])
    if 0 < bits <= _BITS and symbol != _END:
        for i in range(i64(scratch.codes[symbol]), ENTRIES, 1 << bits):
            scratch.singles[i] = u32(symbol | (bits << 24) | (1 << 28))


@scalar
def join_looks(i, scratch):
    """Enter the bytes that some bits begin with: up to three, their bits, their number.

    An entry of no bytes stands for the end and for longer codes.
    """
    entry = scratch.singles[i]
    used = i64((entry >> u32(24)) & u32(15))
    second = scratch.singles[i >> used]
    more = i64((second >> u32(24)) & u32(15))
    if entry and second and used + more <= _BITS:
        used += more
        entry = (entry & u32(255)) | ((second & u32(255)) << u32(8))
        third = scratch.singles[i >> used]
        more = i64((third >> u32(24)) & u32(15))
        if third and used + more <= _BITS:
            used += more
            entry |= (third & u32(255)) << u32(16)
            entry |= u32(3 << 28)
        else:
            entry |= u32(2 << 28)
        entry |= u32(used << 24)
    scratch.table[i] = entry


@inlined
def look_up(data, place, table, out, made):
    """Look up bytes while there is scratch; returns the bit behind them and how many there are."""
    scratch, last = out.shape[0] - 4 * SLACK, data.shape[0] - SLACK
    some, byte = u64(ENTRIES - 1), u64(255)
    known = True
    while known and made < scratch and (place >> 3) <= last:
        word = _bits(data, place)
        for _ in range(5):
            entry = u64(table[i64(word & some)])
            store_bytes(out, made, entry)
            bits, count = (entry >> u64(24)) & u64(15), (entry >> u64(28)) & byte
            word >>= bits
            place += i64(bits)
            made += i64(count)
            known = known and count > u64(0)
    return place, made


@kernel
def new_scratch():
    """Return a `Scratch`."""
    return Scratch(
        np.empty(LITERALS, np.uint8),
        np.empty(ORDERED, np.uint8),
        np.empty(LENGTHS, np.int64),
        np.empty(LENGTHS, np.int64),
        np.empty(LITERALS, np.int64),
        np.empty(LITERALS, np.int64),
        np.empty(ENTRIES, np.uint32),
        np.empty(ENTRIES, np.uint32),
    )


@scalar
def is_last(data, place):
    """Return whether a block that begins at a bit is the last one; beyond the data none is."""
    return (place >> 3) + SLACK <= data.shape[0] and (_bits(data, place) & u64(1)) == u64(1)


@kernel
def block_head(data, place, scratch):
    """Read a block's code of bytes to `scratch`, all but looks.

    Returns the bit behind it, NOT_OURS where it is none of `deflate`.
    """
    if (place >> 3) + 3 * SLACK > data.shape[0]:
        return i64(NOT_OURS)
    if (_bits(data, place) >> u64(1)) & u64(3) != u64(2):
        return i64(NOT_OURS)
    place = _head(data, place + 3, scratch)
    if place < 0 or not _canonical(
        scratch.lengths, scratch.counts, scratch.begins, scratch.symbols
    ):
        return i64(NOT_OURS)
    code = i64(0)
    for bits in range(1, _LONGEST + 1):
        code = (code + scratch.counts[bits - 1]) << 1
        scratch.begins[bits] = code
    for symbol in range(LITERALS):
        bits = i64(scratch.lengths[symbol])
        code, turned = scratch.begins[bits], i64(0)
        scratch.begins[bits] += 1
        for _ in range(bits):
            turned = (turned << 1) | (code & 1)
            code >>= 1
        scratch.codes[symbol] = turned
    return place


@kernel
def block_bytes(data, place, scratch, out, made):
    """Undo a block's codes, with looks, behind `made` bytes.

    Returns the bit behind them, NOT_OURS where they are damaged, and how many bytes there are.
    """
    length = i64(out.shape[0] - SLACK)
    while True:
        place, made = look_up(data, place, scratch.table, out, made)
        if (place >> 3) + SLACK > data.shape[0]:
            return i64(NOT_OURS), made
        symbol, bits = _symbol(_bits(data, place), scratch.counts, scratch.symbols)
        place += bits
        if symbol == _END:
            return place, made
        if symbol < 0 or made == length:
            return i64(NOT_OURS), made
        out[made] = u8(symbol)
        made += 1


@kernel
def inflate_in(data, begin, out, scratch):
    """Undo `deflate` in the scratch that a `Scratch` is; see `inflate`."""
    place, made, over = i64(begin) << 3, i64(0), False
    while not over:
        over = is_last(data, place)
        place = block_head(data, place, scratch)
        if place < 0:
            return i64(NOT_OURS)
        for i in range(ENTRIES):
            scratch.singles[i] = u32(0)
        for symbol in range(LITERALS):
            fill_look(symbol, scratch)
        for i in range(ENTRIES):
            join_looks(i, scratch)
        place, made = block_bytes(data, place, scratch, out, made)
        if place < 0:
            return i64(NOT_OURS)
    return (place + 7) >> 3 if made == out.shape[0] - SLACK else i64(NOT_OURS)


@kernel
def inflate(data, begin, out):
    """Undo `deflate`.

    data: uint8 array, at least SLACK bytes follow the stream in it. begin: of the stream. out:
    uint8 array (N + SLACK), gets N bytes.

    Returns the byte of data behind the stream; NOT_OURS where it has matches, blocks of other
    kinds, or more or fewer bytes than N.
    """
    return inflate_in(data, begin, out, new_scratch())
