"""BLAKE2b (RFC 7693) of many short messages at once, as `hashlib.blake2b` makes it of one.

It gives 64 bits of each digest: random numbers that are keyed by what they are for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..arrays import i64, u64
from ..compiling.compile import inlined, kernel, scalar

BLOCK = 128
"""Bytes that are worked in at once."""
_IV = np.frombuffer(
    bytes.fromhex(
        "6a09e667f3bcc908 bb67ae8584caa73b 3c6ef372fe94f82b a54ff53a5f1d36f1"
        "510e527fade682d1 9b05688c2b3e6c1f 1f83d9abfb41bd6b 5be0cd19137e2179"
    ),
    ">u8",
).astype(np.uint64)
_ORDER = np.array(
    [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
        [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
        [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
        [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
        [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
        [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
        [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
        [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
        [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
    ],
    np.int64,
)
_PARAMETERS = u64(0x01010040)  # a digest of 64 bytes, no key, fanout and depth 1
_PERSON = np.frombuffer(b"gloam draw".ljust(16, b"\0"), np.uint64)
_WORDS = BLOCK // 8
LANES = 32
"""Messages that are worked in side by side, in the lanes of the CPU's vectors.

LLVM unrolls loops over fewer before it could make vectors of them.
"""


@scalar
def _turned(x, bits):
    return u64(u64(x >> u64(bits)) | u64(x << u64(64 - bits)))


@inlined
def _mix(w, a, b, c, d, x):
    """Mix two words of each message, rows `x` and `x + 1`, into four rows of the state."""
    for n in range(LANES):
        p = u64(w[a, n] + w[b, n] + w[x, n])
        t = _turned(u64(w[d, n] ^ p), 32)
        r = u64(w[c, n] + t)
        q = _turned(u64(w[b, n] ^ r), 24)
        p = u64(p + q + w[x + 1, n])
        t = _turned(u64(t ^ p), 16)
        r = u64(r + t)
        w[a, n], w[b, n], w[c, n], w[d, n] = p, _turned(u64(q ^ r), 63), r, t


@kernel
def _compress(h, m, w):
    """Turn the states `h` (8, LANES) by a block of message words `m` (16, LANES).

    Rows 0 to 15 of `w` (32, LANES) are begun; in the others the words lie in each turn's order.
    """
    for turn in range(12):
        for k in range(_WORDS):
            word = _ORDER[turn % 10, k]
            for n in range(LANES):
                w[_WORDS + k, n] = m[word, n]
        _mix(w, 0, 4, 8, 12, 16)
        _mix(w, 1, 5, 9, 13, 18)
        _mix(w, 2, 6, 10, 14, 20)
        _mix(w, 3, 7, 11, 15, 22)
        _mix(w, 0, 5, 10, 15, 24)
        _mix(w, 1, 6, 11, 12, 26)
        _mix(w, 2, 7, 8, 13, 28)
        _mix(w, 3, 4, 9, 14, 30)
    for k in range(8):
        for n in range(LANES):
            h[k, n] ^= w[k, n] ^ w[k + 8, n]


@inlined
def _fill(m, lane, start, prefix, own, ends, length):
    """Fill a lane with the block of its message that begins at a byte.

    m: uint64 array (16, LANES).
    lane, start: int.
    prefix: uint64 array (P), the message's beginning as words, zeros after it.
    own, length: bytes of the beginning, and of the message.
    ends: uint64 array (8, S), the message's end as words, moved on by 0 to 7 bytes.
    """
    first, shift = own >> 3, own & 7
    for k in range(_WORDS):
        place = (start >> 3) + k
        word = prefix[place] if place < prefix.shape[0] else u64(0)
        behind = place - first
        if 0 <= behind < ends.shape[1] and (place << 3) < length:
            word |= ends[shift, behind]
        m[k, lane] = word


@kernel
def first_words(prefixes, lengths, ends, sizes, words):
    """Fill `words` (E, N) uint64 with the first 64 bits of the digests of messages.

    prefixes: uint64 array (N, P), what each message begins with, as words (`as_words`).
    lengths: int64 array (N) of them, bytes.
    ends: uint64 array (E, 8, S), what messages end with (`moved_on`).
    sizes: int64 array (E) of them, bytes.
    """
    h, m = np.empty((8, LANES), np.uint64), np.empty((_WORDS, LANES), np.uint64)
    w = np.empty((2 * _WORDS, LANES), np.uint64)
    rows, tails = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    whole = np.empty(LANES, np.int64)
    number = words.shape[1]
    for begin in range(0, words.size, LANES):
        count = min(LANES, words.size - begin)
        longest = i64(0)
        for k in range(8):
            for n in range(LANES):
                h[k, n] = _IV[k]
        for n in range(LANES):
            h[0, n] ^= _PARAMETERS
            h[6, n] ^= _PERSON[0]
            h[7, n] ^= _PERSON[1]
            at = begin + min(n, count - 1)
            tails[n], rows[n] = at // number, at % number
            whole[n] = lengths[rows[n]] + sizes[tails[n]]
            longest = max(longest, whole[n])
        for start in range(0, max(longest, 1), BLOCK):
            for n in range(LANES):
                length = whole[n]
                _fill(m, n, start, prefixes[rows[n]], lengths[rows[n]], ends[tails[n]], length)
                for k in range(8):
                    w[k, n] = h[k, n]
                    w[k + 8, n] = _IV[k]
                w[12, n] ^= u64(min(start + BLOCK, length))
                if start + BLOCK >= length:
                    w[14, n] = ~w[14, n]
            _compress(h, m, w)
            for n in range(count):
                if start < max(whole[n], 1) <= start + BLOCK:  # the block that is its last one
                    words[tails[n], rows[n]] = h[0, n]


def as_words(messages: Sequence[bytes]) -> npt.NDArray[np.uint64]:
    """Return messages as words (N, P), filled up with zeros."""
    width = -(-max(map(len, messages), default=1) // 8) * 8
    padded = b"".join(message.ljust(width, b"\0") for message in messages)
    return np.frombuffer(padded, np.uint64).reshape(len(messages), -1)


def moved_on(ends: Sequence[bytes]) -> npt.NDArray[np.uint64]:
    """Return messages' ends as words, each moved on by 0 to 7 bytes (E, 8, S)."""
    longest = max(map(len, ends), default=0) + 7
    moved = [(bytes(shift) + end).ljust(longest, b"\0") for end in ends for shift in range(8)]
    return as_words(moved).reshape(len(ends), 8, -1)
