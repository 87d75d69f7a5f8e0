"""Near-duplicates by perceptual hash, over millions of candidates at once."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

_CHUNKS = 4
_CHUNK_BITS = 16


def near_duplicates(hashes: npt.NDArray[np.uint64], usable: npt.NDArray[np.bool_], bits: int) -> npt.NDArray[np.int64]:
    """For each image the index of an earlier, kept image that it repeats, or -1.

    Images are taken in order: one is dropped when its hash differs in at most `bits` bits from one that was kept before.
    Two such hashes agree in at least one of their four 16-bit chunks (pigeonhole, for `bits` up to 3), so only images
    that share a chunk are compared.

    Parameters
    ----------
    hashes : uint64 array (N,)
    usable : bool array (N,)
        Images that take part; others neither drop nor are dropped.
    bits : int
        0 to 3.
    """
    if not 0 <= bits < _CHUNKS:
        raise ValueError(f"bits = {bits}: must be 0 to {_CHUNKS - 1}")
    repeats = np.full(len(hashes), -1, dtype=np.int64)
    members = np.flatnonzero(usable)
    # Exact repeats first: thousands of equal hashes would make a bucket quadratic.
    _, first, inverse = np.unique(hashes[members], return_index=True, return_inverse=True)
    owner = members[first[inverse]]
    repeats[members] = np.where(owner == members, -1, owner)

    unique = members[np.sort(first)]
    values = hashes[unique]
    kept_by = _greedy(values, *_buckets(values), bits)
    near = kept_by >= 0
    repeats[unique[near]] = unique[kept_by[near]]
    # Exact repeats of an image that was itself dropped point at the one that was kept.
    dropped = (repeats >= 0) & (repeats[np.maximum(repeats, 0)] >= 0)
    repeats[dropped] = repeats[repeats[dropped]]
    return repeats


def _buckets(values: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Per chunk: image indices ordered by chunk value (and by index within), and where each value's run begins."""
    orders = np.empty((_CHUNKS, len(values)), dtype=np.int64)
    starts = np.empty((_CHUNKS, (1 << _CHUNK_BITS) + 1), dtype=np.int64)
    for chunk in range(_CHUNKS):
        part = ((values >> np.uint64(_CHUNK_BITS * chunk)) & np.uint64(0xFFFF)).astype(np.int64)
        orders[chunk] = np.argsort(part, kind="stable")
        starts[chunk] = np.searchsorted(part[orders[chunk]], np.arange((1 << _CHUNK_BITS) + 1))
    return orders, starts


@numba.njit(cache=True)
def _greedy(values, orders, starts, bits):  # type: ignore[no-untyped-def]
    kept_by = np.full(len(values), -1, np.int64)
    for i in range(len(values)):
        found = -1
        for chunk in range(4):
            part = np.int64((values[i] >> np.uint64(16 * chunk)) & np.uint64(0xFFFF))
            for place in range(starts[chunk, part], starts[chunk, part + 1]):
                j = orders[chunk, place]
                if j >= i:
                    break
                if kept_by[j] < 0:
                    difference = values[i] ^ values[j]
                    count = 0
                    while difference:
                        difference &= difference - np.uint64(1)
                        count += 1
                        if count > bits:
                            break
                    if count <= bits and (found < 0 or j < found):
                        found = j
        kept_by[i] = found
    return kept_by
