"""Prefix codes of deflate (RFC 1951): their lengths, of at most so many bits, and the codes."""

from __future__ import annotations

import numpy as np

from ..arrays import i64, u32, u64
from ..compiling.compile import inlined, kernel

END = 256
"""Symbol behind a block's bytes."""
REPEAT, ZEROS, MANY_ZEROS = 16, 17, 18
"""Symbols of runs among a code's lengths, when they are written."""
ORDER = np.array([16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15], np.int64)
"""The order of those lengths that lengths are written by."""


@inlined
def count_bytes(data, counts):
    """Add how often each byte occurs in data (N) to `counts` (4, 256 or more).

    Its rows, which together are the counts, are of places that follow one another: a row alone
    would wait for itself. Of words of 32 bits: in tables of twice the size a quarter slower.
    """
    # Unsigned, or an index might count from the end to the compiler.
    length = u64(data.shape[0])
    whole = length & ~u64(3)
    for i in range(u64(0), whole, u64(4)):
        counts[0, data[i]] += 1
        counts[1, data[i + u64(1)]] += 1
        counts[2, data[i + u64(2)]] += 1
        counts[3, data[i + u64(3)]] += 1
    for i in range(whole, length):
        counts[0, data[i]] += 1


@inlined
def _ordered(counts, order):
    """Fill `order` with the symbols that occur, rarest first, ties by their number.

    Each as its count and, in the nine lowest bits, itself. Returns how many there are.

    Filtered noise has its rare bytes in the middle, those of large differences, so that from there
    to both sides nearly all stand in their order already, and inserting takes half the time of a
    sort.
    """
    used = 0
    middle = (counts.shape[0] - 1) >> 1
    for i in range(counts.shape[0]):
        beside = (i + 1) >> 1
        symbol = middle + beside if i & 1 else middle - beside
        if counts[symbol] > 0:
            own = (counts[symbol] << 9) | symbol
            place = used
            while place > 0 and order[place - 1] > own:
                order[place] = order[place - 1]
                place -= 1
            order[place] = own
            used += 1
    return used


@kernel
def code_lengths(counts, limit, lengths):
    """Fill `lengths` with those of a Huffman code, none longer than `limit` bits.

    By Moffat and Katajainen, In-Place Calculation of Minimum-Redundancy Codes (1995); where one
    is too long, the shortest ones give way as in zlib.

    counts: int64 array (N) of each symbol, at least two of them above 0. limit: int. lengths: uint8
    array (N), gets 0 where a symbol does not occur.
    """
    lengths[:] = 0
    order = np.empty(counts.shape[0], np.int64)
    used = _ordered(counts, order)
    a = order[:used] >> 9
    # Weights become parents, parents depths, depths of inner nodes those of leaves.
    root, leaf = 0, 2
    a[0] += a[1]
    for following in range(1, used - 1):
        if leaf >= used or a[root] < a[leaf]:
            a[following] = a[root]
            a[root] = following
            root += 1
        else:
            a[following] = a[leaf]
            leaf += 1
        if leaf >= used or (root < following and a[root] < a[leaf]):
            a[following] += a[root]
            a[root] = following
            root += 1
        else:
            a[following] += a[leaf]
            leaf += 1
    a[used - 2] = 0
    for node in range(used - 3, -1, -1):
        a[node] = a[a[node]] + 1
    of_length = np.zeros(64, np.int64)
    available, inner, depth, node = 1, 0, 0, used - 2
    while available > 0:
        while node >= 0 and a[node] == depth:
            inner += 1
            node -= 1
        of_length[min(depth, 63)] += available - inner
        available, inner, depth = 2 * inner, 0, depth + 1
    beyond = i64(0)
    for bits in range(limit + 1, 64):
        beyond += of_length[bits]
        of_length[bits] = 0
    if beyond:
        of_length[limit] += beyond
        total = i64(0)
        for bits in range(1, limit + 1):
            total += of_length[bits] << (limit - bits)
        while total > (1 << limit):  # a code of each shorter length makes room for two
            bits = limit - 1
            while of_length[bits] == 0:
                bits -= 1
            of_length[bits] -= 1
            of_length[bits + 1] += 2
            of_length[limit] -= 1
            total -= 1
    place = used
    for bits in range(1, limit + 1):
        for _ in range(of_length[bits]):
            place -= 1
            lengths[order[place] & 511] = bits


@kernel
def codes_of(lengths, codes):
    """Fill `codes` (N) uint32: each symbol's code, first bit lowest, its length from bit 16 on."""
    of_length = np.zeros(17, np.int64)
    for symbol in range(lengths.shape[0]):
        of_length[lengths[symbol]] += 1
    following = np.zeros(17, np.int64)
    code = 0
    of_length[0] = 0
    for bits in range(1, 17):
        code = (code + of_length[bits - 1]) << 1
        following[bits] = code
    for symbol in range(lengths.shape[0]):
        bits = i64(lengths[symbol])
        code = following[bits]
        following[bits] += 1
        turned = i64(0)
        for _ in range(bits):
            turned = (turned << 1) | (code & 1)
            code >>= 1
        codes[symbol] = u32(turned | (bits << 16)) if bits else u32(0)
