"""Keep the scenes of other sets, such as benchmarks, out of a build."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256

import numpy as np
import pyarrow as pa

from ...errors import ConfigError, ImageRefused
from ...manifests.clips.listing import locates_clip
from ...manifests.selection.bounds import KEPT
from ...manifests.selection.candidates import locations
from ...manifests.selection.twins import Look, find_twins, look_at_file
from ...manifests.sources import read
from ..analysis.leaks import Seen, measure_pictures

EXCLUDED = "of a scene to keep out"
"""The reason of a candidate that shows what a picture of those sets shows."""


@lru_cache(maxsize=8)
def pictures(sets: tuple[str, ...]) -> tuple[Seen, ...]:
    """Look at the pictures of some sets.

    Raises ConfigError when one cannot be read: its scene could not be kept out.
    """
    unreadable: list[str] = []
    found = tuple(seen for one in sets for seen in measure_pictures(one, unreadable))
    if unreadable:
        raise ConfigError(f"--exclude: {unreadable[0]}", key="exclude")
    return found


def sum_of(sets: tuple[str, ...]) -> str:
    """Return a checksum of the scenes of some sets, whatever their paths; a checksum as it is."""
    if len(sets) == 1 and re.fullmatch("[0-9a-f]{64}", sets[0]):
        return sets[0]
    looks = [one.look for one in pictures(sets)]
    shown = sorted((one.hash, one.thumbnail.astype(np.int64).tobytes()) for one in looks)
    return sha256(repr(shown).encode()).hexdigest()


def refuse_known_scenes(candidates: pa.Table, sets: Sequence[str]) -> pa.Table:
    """Refuse the candidates that show a scene of one of the sets.

    candidates: of `measure_candidates`.
    sets: see `gloam.leaks`.

    Raises ConfigError when candidates are clips.
    """
    known = list(pictures(tuple(sets)))
    places = list(locations(candidates))
    if any(map(locates_clip, places)):
        raise ConfigError("--exclude: is for photographs, not for clips", key="exclude")
    reasons, details = (candidates.column(name).to_pylist() for name in ("reason", "detail"))
    usable = np.array([i for i, reason in enumerate(reasons) if reason == KEPT], np.int64)
    hashes = candidates.column("perceptual_hash").to_numpy()[usable]

    def look(number: int) -> Look | None:
        try:
            return look_at_file(read(places[usable[number]]))
        except ImageRefused:  # since it was measured; its pair will be refused
            return None

    for number, other, bits in find_twins([hashes], look, [one.look for one in known]):
        reasons[usable[number]] = EXCLUDED
        details[usable[number]] = f"{known[other].path.rpartition('/')[2]}, {bits} bits apart"
    for name, values in (("reason", reasons), ("detail", details)):
        column = pa.array(values, candidates.schema.field(name).type)
        candidates = candidates.set_column(candidates.column_names.index(name), name, column)
    return candidates
