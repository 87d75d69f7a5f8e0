"""Near-duplicates by perceptual hash, over millions of candidates at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_CHUNKS = 4
_CHUNK_BITS = 16


def near_duplicates(
    hashes: npt.NDArray[np.uint64], usable: npt.NDArray[np.bool_], bits: int
) -> npt.NDArray[np.int64]:
    """Find for each image the index of an earlier, kept image that it repeats, or -1.

    Images are taken in order: one is dropped when its hash differs in at most `bits` bits from one
    that was kept before. Two such hashes agree in at least one of their four 16-bit chunks
    (pigeonhole, for `bits` up to 3), so only images that share a chunk are compared.

    hashes: uint64 array (N,).
    usable: bool array (N,); images that take part; others neither drop nor are dropped.
    bits: 0 to 3.
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
    kept_by = np.full(len(values), -1, np.int64)  # the first kept image that one is near to
    for later, earlier in zip(*_near_pairs(values, bits), strict=True):
        if kept_by[later] < 0 and kept_by[earlier] < 0:
            kept_by[later] = earlier
    near = kept_by >= 0
    repeats[unique[near]] = unique[kept_by[near]]
    # Exact repeats of an image that was itself dropped point at the one that was kept.
    dropped = (repeats >= 0) & (repeats[np.maximum(repeats, 0)] >= 0)
    repeats[dropped] = repeats[repeats[dropped]]
    return repeats


def near_across(
    hashes: npt.NDArray[np.uint64], groups: npt.NDArray[np.int64], bits: int
) -> list[tuple[int, int]]:
    """Find images of different groups whose hashes differ in at most `bits` bits.

    hashes: uint64 array (N,).
    groups: int array (N,).
    bits: 0 to 3.

    Returns list of (int, int): indices of two such images, for each two hashes one pair.

    Examples
    --------
    >>> near_across(np.array([7, 900, 5], np.uint64), np.array([0, 0, 1]), 1)
    [(0, 2)]
    """
    # One image of each hash and group: equal hashes would make all comparisons quadratic.
    _, first = np.unique(np.stack([hashes, groups.astype(np.uint64)]), axis=1, return_index=True)
    by_hash: dict[int, list[int]] = {}
    for index in np.sort(first).tolist():
        by_hash.setdefault(int(hashes[index]), []).append(index)
    found = [(indices[0], indices[1]) for indices in by_hash.values() if len(indices) > 1]
    values = np.array(list(by_hash), np.uint64)
    for later, earlier in zip(*_near_pairs(values, bits), strict=True):
        two = (by_hash[int(values[earlier])], by_hash[int(values[later])])
        apart = next(((a, b) for a in two[0] for b in two[1] if groups[a] != groups[b]), None)
        if apart is not None:
            found.append(apart)
    return found


def _near_pairs(
    values: npt.NDArray[np.uint64], bits: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Find all pairs (later, earlier) of hashes that differ in at most `bits` bits, in order."""
    later, earlier = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for chunk in range(_CHUNKS):
        part = (values >> np.uint64(_CHUNK_BITS * chunk)) & np.uint64(0xFFFF)
        order = np.argsort(part, kind="stable")
        hashes, part = values[order], part[order]
        # Neighbours at distance 1, 2, ... in a run of equal chunks, as long as a run is so long.
        ends = np.searchsorted(part, part, side="right")
        indices, distance = np.arange(len(values)), 0
        while len(indices):
            distance += 1
            indices = indices[indices + distance < ends[indices]]
            near = indices[np.bitwise_count(hashes[indices] ^ hashes[indices + distance]) <= bits]
            later.append(order[near + distance])
            earlier.append(order[near])
    pairs = np.unique(np.concatenate(later) * len(values) + np.concatenate(earlier))
    return pairs // len(values), pairs % len(values)
