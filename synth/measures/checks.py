"""Checks of a set's numbers, each with its bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

import numpy as np

from ...errors import ImageRefused, SetError
from ...manifests.selection.duplicates import near_across
from ...manifests.selection.measures import measure
from ...manifests.selection.plan import SPLITS
from ...manifests.sets.pair_set import PairSet
from ...manifests.sets.problems import look_over, unit_of
from ...manifests.sets.sample import Sample, is_normal
from .photon_transfer import by_sensor, transfer_ratio
from .set_statistics import Measured
from .wrong_pairs import MOST_BRIGHTER, MOST_OF_AREA, brighter, mismatch_line

_DARKEST = 0.5  # of a low's samples at 0: half of the picture holds no signal
_TOO_DARK = 0.1  # of the pairs
_MOST_OF_ONE = 0.9  # of the pairs, of one of several sources
_TRANSFER = (0.85, 1.15)
_DAMAGED = 20  # shards and pairs that are named
_NAMED = 10  # pairs with the largest areas
_BITS = 3
"""By which perceptual hashes of pictures that look alike differ at most, as selection has it."""
_HASHED = 1000  # normals that are hashed here, where selection did not
_NOISELESS = 0.3  # levels of green: below rounding's own (.29), that of a low without noise


class Check(NamedTuple):
    """A check: its name, what was found, the bound, and whether it passed."""

    name: str
    found: str
    bound: str
    passed: bool


def checks_of_set(pairs: PairSet, measured: Measured, brighter_lows: bool = False) -> list[Check]:
    """Check a set, of which some pairs were measured."""
    sources = pairs.table("pairs").column("source").to_pylist()
    return [
        _whole(pairs, measured),
        *_splits(pairs),
        *_sources(sources),
        *_codec(pairs),
        *checks_of_pairs(measured, brighter_lows),
        *_transfer(pairs, measured),
    ]


def _whole(pairs: PairSet, measured: Measured) -> Check:
    """Say what is damaged, of what was measured and of what a look at each file tells."""
    units = {what.partition(":")[0] for what in measured.damaged}
    found = [
        *measured.damaged,
        *(
            f"{one.where}: {one.what}"
            for one in look_over(pairs)
            if unit_of(one.where) not in units
        ),
    ]
    return _damage("damaged shards and pairs", found, "none; gloam verify reads every byte")


def _damage(name: str, found: Sequence[str], bound: str) -> Check:
    more = f" and {len(found) - _DAMAGED:,} more" if len(found) > _DAMAGED else ""
    said = "; ".join(found[:_DAMAGED]) + more if found else "none is seen"
    return Check(name, said, bound, not found)


def checks_of_folders(measured: Measured, brighter_lows: bool = False) -> list[Check]:
    """Check real pairs, of which some were measured."""
    return [
        *([_damage("damaged images", measured.damaged, "none")] if measured.damaged else []),
        *checks_of_pairs(measured, brighter_lows),
    ]


def checks_of_pairs(measured: Measured, brighter_lows: bool = False) -> list[Check]:
    """Check what pairs alone can tell, real ones too.

    brighter_lows: whether lows may be brighter than their normals.
    """
    if not measured.rows:
        return []
    zeros = np.array([row["zeros"] for row in measured.rows])
    dark = float((zeros > _DARKEST).mean())
    made = [
        *_darker(measured, brighter_lows),
        *_darker_in_parts(measured, brighter_lows),
        *_of_one_scene(measured),
        Check(
            "lows that are too dark to hold a picture",
            f"{dark:.1%} of the pairs measured have more than half of their samples at 0",
            f"at most {_TOO_DARK:.0%}",
            dark <= _TOO_DARK,
        ),
    ]
    noise = np.array([row.get("noise_g", np.nan) for row in measured.rows])
    noise = noise[np.isfinite(noise)]
    if len(noise):
        without = float((noise < _NOISELESS).mean())
        made.append(
            Check(
                "lows without noise",
                f"{without:.1%} of the pairs measured have less than {_NOISELESS} levels of it",
                "at most 50%",
                without <= 0.5,
            )
        )
    return made


def _darker(measured: Measured, brighter_lows: bool) -> list[Check]:
    if not measured.means or brighter_lows:
        return []
    share = float(brighter(measured.means).mean())
    return [
        Check(
            "lows that are darker than their normals",
            f"{share:.1%} of the pairs measured have a low that is the brighter one",
            f"at most {MOST_BRIGHTER:.0%}",
            share <= MOST_BRIGHTER,
        )
    ]


def _darker_in_parts(measured: Measured, brighter_lows: bool) -> list[Check]:
    areas = np.array([one.area for one in measured.pairs])
    if not np.isfinite(areas).any() or brighter_lows:
        return []
    found = np.flatnonzero(areas > MOST_OF_AREA)
    named = [
        f"{measured.pairs[i].key} ({areas[i]:.1%})"
        for i in found[np.argsort(-areas[found])][:_NAMED]
    ]
    of = f"{len(found) / len(areas):.1%} of the pairs measured"
    return [
        Check(
            "lows that are nowhere brighter than their normals",
            f"{of} are so on more than {MOST_OF_AREA:.1%} of their area"
            + (f": {', '.join(named)}" if named else ""),
            f"at most {MOST_BRIGHTER:.0%}",
            len(found) <= MOST_BRIGHTER * len(areas),
        )
    ]


def _of_one_scene(measured: Measured) -> list[Check]:
    """Say which real pairs do not show the same; those of sets are made, and of one scene."""
    if not measured.means or any(one.unit for one in measured.pairs):
        return []
    found = measured.mismatched
    return [
        Check(
            "low and normal of one scene, in one place",
            mismatch_line(found, len(measured.rows)) if found else "all that were measured",
            "all",
            not found,
        )
    ]


def _sources(sources: Sequence[str]) -> list[Check]:
    names, counts = np.unique(np.array(sources), return_counts=True)
    if len(names) < 2:
        return []
    largest = int(counts.argmax())
    share = counts[largest] / counts.sum()
    return [
        Check(
            "one source among several",
            f"{names[largest]} has {share:.1%} of the pairs",
            f"at most {_MOST_OF_ONE:.0%}",
            bool(share <= _MOST_OF_ONE),
        )
    ]


def _codec(pairs: PairSet) -> list[Check]:
    output = pairs.info.build.request.output
    codec, chroma = output.low_codec, output.low_chroma
    if codec in ("png", "none"):
        return []
    quality = output.low_quality
    return [
        Check(
            "noise of lows stored as JPEG",
            f"quality {quality}, chroma {chroma}",
            "at least 95 and 444, which cost noise its last bit; PNG or live lows keep all",
            quality >= 95 and chroma == "444",
        )
    ]


def _transfer(pairs: PairSet, measured: Measured) -> list[Check]:
    """Compare the noise of lows with their cameras', over all cameras together."""
    if not measured.transfer or pairs.info.build.request.output.low_codec == "jpg":
        return []
    points = [point for group in by_sensor(measured.transfer).values() for point in group]
    ratio = transfer_ratio(points)
    low, high = _TRANSFER
    return [
        Check(
            "photon transfer: variance of noise over the calibrated cameras'",
            f"{ratio:.2f}",
            f"{low} to {high}",
            low <= ratio <= high,
        )
    ]


def _splits(pairs: PairSet) -> list[Check]:
    """Look for equal or similar pictures in more than one split of a set."""
    table = pairs.table("pairs")
    sums = "normal_sha256" if "normal_sha256" in table.column_names else "normal.000_sha256"
    keys, splits, digests = (table.column(name).to_pylist() for name in ("key", "split", sums))
    if len(set(splits)) < 2:
        return []
    return [_equal(digests, splits), _alike(pairs, keys, splits)]


def _equal(sums: Sequence[str], splits: Sequence[str]) -> Check:
    seen: dict[str, str] = {}
    shared = {
        sha for sha, split in zip(sums, splits, strict=True) if seen.setdefault(sha, split) != split
    }
    return Check(
        "equal pictures in several splits",
        f"{len(shared):,} normals stand in more than one, byte for byte",
        "none",
        not shared,
    )


def _alike(pairs: PairSet, keys: Sequence[str], splits: Sequence[str]) -> Check:
    known = _selected(pairs)
    of = "of all pairs"
    if not known:
        known = _hashed(pairs)
        of = f"among {len(known):,} of {len(keys):,} pairs, those held out first"
    places = [i for i, key in enumerate(keys) if key in known]
    hashes = np.array([known[keys[i]] for i in places], np.uint64)
    _, groups = np.unique([splits[i] for i in places], return_inverse=True)
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
        left = _HASHED - len(found) if split == SPLITS[0] else _HASHED // 2 // (len(SPLITS) - 1)
        for pair in islice(_readable(pairs, split), left):
            try:
                normal = next(one for name, one in pair.members.items() if is_normal(name))
                found[pair.key] = measure(normal.data, 1 << 30).perceptual_hash
            except ImageRefused:
                continue  # another check says so
    return found


def _readable(pairs: PairSet, split: str) -> Iterator[Sample]:
    """Yield the pairs of a split, without those of a unit from where it is damaged."""
    for unit in pairs.units(split):
        with suppress(SetError):
            yield from unit.pairs()
