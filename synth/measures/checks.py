"""Checks of a set's numbers, each with its bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ...errors import ImageRefused, SetError
from ...manifests.selection.duplicates import near_across
from ...manifests.selection.measures import measure
from ...manifests.selection.plan import SPLITS
from ...manifests.sets.pair_set import PairSet
from ...manifests.sets.problems import look_over, unit_of
from ...manifests.sets.sample import Sample, is_normal
from .columns import columns
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
    table = pairs.table("pairs")
    return [
        _whole(pairs, measured),
        *_splits(pairs, table),
        *_sources(table.column("source").to_pylist()),
        *_codec(pairs),
        *_checks_of_pairs(measured, brighter_lows),
        *_transfer(pairs, measured),
    ]


def checks_of_folders(measured: Measured, brighter_lows: bool = False) -> list[Check]:
    """Check real pairs, of which some were measured."""
    return [
        *([_damage("damaged images", measured.damaged, "none")] if measured.damaged else []),
        *_checks_of_pairs(measured, brighter_lows),
    ]


def _whole(pairs: PairSet, measured: Measured) -> Check:
    """Say what is damaged, of what was measured and of what a look at each file tells."""
    units = {what.partition(":")[0] for what in measured.damaged}
    seen = (one for one in look_over(pairs) if unit_of(one.where) not in units)
    found = [*measured.damaged, *(f"{one.where}: {one.what}" for one in seen)]
    return _damage("damaged shards and pairs", found, "none; gloam verify reads every byte")


def _damage(name: str, found: Sequence[str], bound: str) -> Check:
    more = f" and {len(found) - _DAMAGED:,} more" if len(found) > _DAMAGED else ""
    said = "; ".join(found[:_DAMAGED]) + more if found else "none is seen"
    return Check(name, said, bound, not found)


def _share(name: str, such: Any, most: float, said: str) -> Check:
    """Check the share of the pairs that are `such`, a bool array (N)."""
    share = float(np.mean(such))
    found = f"{share:.1%} of the pairs measured {said}"
    return Check(name, found, f"at most {most:.0%}", share <= most)


def _checks_of_pairs(measured: Measured, brighter_lows: bool) -> Iterator[Check]:
    """Check what pairs alone can tell, real ones too; brighter_lows: lows may be brighter."""
    if not measured.pairs:
        return
    areas = np.array([one.area for one in measured.pairs])
    if measured.means and not brighter_lows:
        said = "have a low that is the brighter one"
        such = brighter(measured.means)
        yield _share("lows that are darker than their normals", such, MOST_BRIGHTER, said)
    if np.isfinite(areas).any() and not brighter_lows:
        found = np.flatnonzero(areas > MOST_OF_AREA)
        largest = found[np.argsort(-areas[found])][:_NAMED]
        named = ", ".join(f"{measured.pairs[i].key} ({areas[i]:.1%})" for i in largest)
        said = f"are so on more than {MOST_OF_AREA:.1%} of their area" + (named and f": {named}")
        such = areas > MOST_OF_AREA
        yield _share("lows that are nowhere brighter than their normals", such, MOST_BRIGHTER, said)
    if measured.means and not any(one.unit for one in measured.pairs):
        # Pairs of sets are made, and of one scene.
        others = measured.mismatched
        said = mismatch_line(others, len(measured.pairs)) if others else "all that were measured"
        yield Check("low and normal of one scene, in one place", said, "all", not others)
    zeros, noise = columns(measured.rows, ["zeros", "noise_g"]).T
    said = "have more than half of their samples at 0"
    yield _share("lows that are too dark to hold a picture", zeros > _DARKEST, _TOO_DARK, said)
    noise = noise[np.isfinite(noise)]
    if len(noise):
        said = f"have less than {_NOISELESS} levels of it"
        yield _share("lows without noise", noise < _NOISELESS, 0.5, said)


def _sources(sources: Sequence[str]) -> Iterator[Check]:
    names, counts = np.unique(np.array(sources), return_counts=True)
    if len(names) > 1:
        share = counts.max() / counts.sum()
        said = f"{names[counts.argmax()]} has {share:.1%} of the pairs"
        bound = f"at most {_MOST_OF_ONE:.0%}"
        yield Check("one source among several", said, bound, bool(share <= _MOST_OF_ONE))


def _codec(pairs: PairSet) -> Iterator[Check]:
    output = pairs.info.build.request.output
    quality, chroma = output.low_quality, output.low_chroma
    if output.low_codec not in ("png", "none"):
        yield Check(
            "noise of lows stored as JPEG",
            f"quality {quality}, chroma {chroma}",
            "at least 95 and 444, which cost noise its last bit; PNG or live lows keep all",
            quality >= 95 and chroma == "444",
        )


def _transfer(pairs: PairSet, measured: Measured) -> Iterator[Check]:
    """Compare the noise of lows with their cameras', over all cameras together."""
    if measured.transfer and pairs.info.build.request.output.low_codec != "jpg":
        groups = by_sensor(measured.transfer).values()
        ratio = transfer_ratio([point for group in groups for point in group])
        name = "photon transfer: variance of noise over the calibrated cameras'"
        low, high = _TRANSFER
        yield Check(name, f"{ratio:.2f}", f"{low} to {high}", low <= ratio <= high)


def _splits(pairs: PairSet, table: pa.Table) -> Iterator[Check]:
    """Look for equal or similar pictures in more than one split of a set."""
    sums = "normal_sha256" if "normal_sha256" in table.column_names else "normal.000_sha256"
    keys, splits, digests = (table.column(name).to_pylist() for name in ("key", "split", sums))
    if len(set(splits)) < 2:
        return
    seen: dict[str, str] = {}
    both = zip(digests, splits, strict=True)
    shared = {sha for sha, split in both if seen.setdefault(sha, split) != split}
    said = f"{len(shared):,} normals stand in more than one, byte for byte"
    yield Check("equal pictures in several splits", said, "none", not shared)
    measured = pairs.table("candidates").select(["key", "perceptual_hash"]).drop_null()
    known: dict[str, int] = dict(zip(*(c.to_pylist() for c in measured.columns), strict=True))
    of = "of all pairs"
    if not known:  # selection measured nothing
        known = _hashed(pairs)
        of = f"among {len(known):,} of {len(keys):,} pairs, those held out first"
    places = [i for i, key in enumerate(keys) if key in known]
    hashes = np.array([known[keys[i]] for i in places], np.uint64)
    _, groups = np.unique([splits[i] for i in places], return_inverse=True)
    found = near_across(hashes, groups, _BITS)
    such = ", such as {} and {}".format(*(keys[places[i]] for i in found[0])) if found else ""
    said = f"{len(found):,} ({of}){such}"
    yield Check("pictures of several splits that look alike", said, "none", not found)


def _hashed(pairs: PairSet) -> dict[str, int]:
    """Measure the hashes of some normals: of those held out, at most half of them, and the rest."""
    found: dict[str, int] = {}
    for split in reversed(SPLITS):
        left = _HASHED - len(found) if split == SPLITS[0] else _HASHED // 2 // (len(SPLITS) - 1)
        for pair in islice(_readable(pairs, split), left):
            with suppress(ImageRefused):  # another check says so
                normal = next(one for name, one in pair.members.items() if is_normal(name))
                found[pair.key] = measure(normal.data, 1 << 30).perceptual_hash
    return found


def _readable(pairs: PairSet, split: str) -> Iterator[Sample]:
    """Yield the pairs of a split, without those of a unit from where it is damaged."""
    for unit in pairs.units(split):
        with suppress(SetError):
            yield from unit.pairs()
