"""BLAKE2b (RFC 7693) of many short messages at once, as `hashlib.blake2b` makes it of one.

It gives 64 bits of each digest: random numbers that are keyed by what they are for.
"""

from __future__ import annotations

import numpy as np

from ..compiling.compile import inlined, kernel, scalar

u64 = np.uint64

BLOCK = 128
"""Bytes that are worked in at once."""
_IV = np.array(
    [
        0x6A09E667F3BCC908,
        0xBB67AE8584CAA73B,
        0x3C6EF372FE94F82B,
        0xA54FF53A5F1D36F1,
        0x510E527FADE682D1,
        0x9B05688C2B3E6C1F,
        0x1F83D9ABFB41BD6B,
        0x5BE0CD19137E2179,
    ],
    np.uint64,
)
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


@scalar
def _turned(x, bits):
    return u64(u64(x >> u64(bits)) | u64(x << u64(64 - bits)))


@inlined
def _mix(v, a, b, c, d, x, y):
    """Mix two words of a message into four of the state."""
    p, q, r, t = v[a], v[b], v[c], v[d]
    p = u64(p + q + x)
    t = _turned(u64(t ^ p), 32)
    r = u64(r + t)
    q = _turned(u64(q ^ r), 24)
    p = u64(p + q + y)
    t = _turned(u64(t ^ p), 16)
    r = u64(r + t)
    q = _turned(u64(q ^ r), 63)
    v[a], v[b], v[c], v[d] = p, q, r, t


@kernel
def _compress(h, m, v):
    """Turn the state `h` (8) by a block of message words `m` (16); `v` (16) is begun."""
    for turn in range(12):
        s = _ORDER[turn % 10]
        _mix(v, 0, 4, 8, 12, m[s[0]], m[s[1]])
        _mix(v, 1, 5, 9, 13, m[s[2]], m[s[3]])
        _mix(v, 2, 6, 10, 14, m[s[4]], m[s[5]])
        _mix(v, 3, 7, 11, 15, m[s[6]], m[s[7]])
        _mix(v, 0, 5, 10, 15, m[s[8]], m[s[9]])
        _mix(v, 1, 6, 11, 12, m[s[10]], m[s[11]])
        _mix(v, 2, 7, 8, 13, m[s[12]], m[s[13]])
        _mix(v, 3, 4, 9, 14, m[s[14]], m[s[15]])
    for k in range(8):
        h[k] ^= v[k] ^ v[k + 8]


@kernel
def first_words(prefixes, lengths, suffix, words):
    """Fill `words` (N) uint64 with the first 64 bits of the digests of N messages.

    Parameters
    ----------
    prefixes : uint8 array (N, P)
        What each message begins with, filled up with anything.
    lengths : int64 array (N)
        Of them, bytes.
    suffix : uint8 array (S)
        What all of them end with.
    """
    more = suffix.shape[0]
    h, v, m = np.empty(8, np.uint64), np.empty(16, np.uint64), np.empty(16, np.uint64)
    for n in range(words.shape[0]):
        own, length = lengths[n], lengths[n] + more
        for k in range(8):
            h[k] = _IV[k]
        h[0] ^= _PARAMETERS
        h[6] ^= _PERSON[0]
        h[7] ^= _PERSON[1]
        for start in range(0, max(length, 1), BLOCK):
            m[:] = u64(0)
            for place in range(start, min(start + BLOCK, length)):
                byte = prefixes[n, place] if place < own else suffix[place - own]
                at = place - start
                m[at >> 3] |= u64(u64(byte) << u64((at & 7) << 3))
            for k in range(8):
                v[k] = h[k]
                v[k + 8] = _IV[k]
            v[12] ^= u64(min(start + BLOCK, length))
            if start + BLOCK >= length:
                v[14] = ~v[14]
            _compress(h, m, v)
        words[n] = h[0]
