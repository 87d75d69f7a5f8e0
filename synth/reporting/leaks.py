"""Find equal or similar pictures in different splits."""

from __future__ import annotations

from itertools import islice

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...errors import ImageRefused
from ...manifests.selection.duplicates import near_across
from ...manifests.selection.measures import measure
from ...manifests.selection.plan import SPLITS
from ...manifests.sets.pair_set import PairSet
from ...manifests.sets.sample import is_normal
from .checks import Check

_BITS = 3
"""By which perceptual hashes of pictures that look alike differ at most, as selection has it."""
_MOST = 1000  # normals that are hashed here, where selection did not


def split_leaks(pairs: PairSet) -> list[Check]:
    """Look for pictures in more than one split of a set."""
    table = pairs.table("pairs")
    sums = "normal_sha256" if "normal_sha256" in table.column_names else "normal.000_sha256"
    table = table.select(["key", "split", sums]).rename_columns(["key", "split", "normal_sha256"])
    splits = table.column("split").to_numpy(zero_copy_only=False)
    if len(set(splits.tolist())) < 2:
        return []
    return [_equal(table, splits), _alike(pairs, table, splits)]


def _equal(table: pa.Table, splits: npt.NDArray[np.object_]) -> Check:
    seen: dict[str, str] = {}
    sums = table.column("normal_sha256").to_pylist()
    shared = {
        sha for sha, split in zip(sums, splits, strict=True) if seen.setdefault(sha, split) != split
    }
    return Check(
        "equal pictures in several splits",
        f"{len(shared):,} normals stand in more than one, byte for byte",
        "none",
        not shared,
    )


def _alike(pairs: PairSet, table: pa.Table, splits: npt.NDArray[np.object_]) -> Check:
    keys = table.column("key").to_pylist()
    known = _selected(pairs)
    of = "of all pairs"
    if not known:
        known = _hashed(pairs)
        of = f"among {len(known):,} of {len(keys):,} pairs, those held out first"
    places = [i for i, key in enumerate(keys) if key in known]
    hashes = np.array([known[keys[i]] for i in places], np.uint64)
    _, groups = np.unique(splits[places], return_inverse=True)
    found = near_across(hashes, groups, _BITS)
    such = ""
    if found:
        first, second = (keys[places[i]] for i in found[0])
        such = f", such as {first} and {second}"
    return Check(
        "pictures of several splits that look alike",
        f"{len(found):,} ({of}){such}",
        "none",
        not found,
    )


def _selected(pairs: PairSet) -> dict[str, int]:
    """Return the hashes that selection measured, by key; none where it measured nothing."""
    table = pairs.table("candidates").select(["key", "perceptual_hash"]).drop_null()
    return dict(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _hashed(pairs: PairSet) -> dict[str, int]:
    """Measure the hashes of some normals: of those held out, at most half of them, and the rest."""
    found: dict[str, int] = {}
    for split in reversed(SPLITS):
        left = _MOST - len(found) if split == SPLITS[0] else _MOST // 2 // (len(SPLITS) - 1)
        for pair in islice(pairs.pairs(split), left):
            try:
                normal = next(one for name, one in pair.members.items() if is_normal(name))
                found[pair.key] = measure(normal.data, 1 << 30).perceptual_hash
            except ImageRefused:
                continue  # gloam verify finds it
    return found
