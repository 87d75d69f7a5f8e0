"""Checks of a set's numbers, each with its bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...manifests.sets.pair_set import PairSet
from ..analysis.photon_transfer import by_sensor, transfer_ratio
from ..analysis.set_statistics import Measured

_DARKEST = 0.5  # of a low's samples at 0: half of the picture holds no signal
_TOO_DARK = 0.1  # of the pairs
_MOST_OF_ONE = 0.9  # of the pairs, of one of several sources
_TRANSFER = (0.85, 1.15)
_NOISELESS = 0.3  # levels of green: below rounding's own (.29), that of a low without noise


class Check(NamedTuple):
    """A check: its name, what was found, the bound, and whether it passed."""

    name: str
    found: str
    bound: str
    passed: bool


def checks_of_set(pairs: PairSet, measured: Measured) -> list[Check]:
    """Check a set, of which some pairs were measured."""
    sources = pairs.table("pairs").column("source").to_pylist()
    return [
        *_sources(sources),
        *_codec(pairs),
        *checks_of_pairs(measured),
        *_transfer(pairs, measured),
    ]


def checks_of_pairs(measured: Measured) -> list[Check]:
    """Check what pairs alone can tell, real ones too."""
    zeros = np.array([row["zeros"] for row in measured.rows])
    dark = float((zeros > _DARKEST).mean()) if len(zeros) else 0.0
    made = [
        Check(
            "lows that are too dark to hold a picture",
            f"{dark:.1%} of the pairs measured have more than half of their samples at 0",
            f"at most {_TOO_DARK:.0%}",
            dark <= _TOO_DARK,
        )
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
