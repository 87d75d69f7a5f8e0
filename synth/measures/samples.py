"""Lows to compare, and the features of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ...engines.local import count, local_engine
from ...errors import SourceError
from ...manifests.images.decode import read_rgb
from ...manifests.selection.duplicates import near_duplicates
from ...manifests.selection.measures import measure_pixels
from ..kernels.arrays import IntArray, Pixels
from ..models import draw, render
from ..recipes.load import Recipe
from .all_statistics import all_statistics, middle
from .filters import Features, filter_features, patch_features
from .noise_statistics import smooth_places

SIDE = 640
"""Pixels: of larger images the middle is taken."""
_LEAST = 64
_GROUP = 8  # images a job
_ALIKE = 3  # bits of perceptual hashes, of 64, by which one scene's differ


@dataclass(frozen=True)
class TestedLow:
    """A low: one of a file, or what a recipe makes of a normal."""

    key: str
    normal: Path | None
    low: Path | None = None  # None of what a recipe makes
    recipe: Recipe | None = None
    seed: int = 0
    paired: bool = True  # whether it is measured together with its normal

    def images(self) -> tuple[Pixels, Pixels | None]:
        """Return the low and its normal, or None, the middle of large ones.

        Raises SourceError when a file is damaged, or their sizes differ.
        """
        normal = None if self.normal is None else read_rgb(self.normal)
        if self.recipe is not None and normal is not None:
            low = render(normal, draw(self.recipe, self.seed, self.key))
        else:
            assert self.low is not None
            low = read_rgb(self.low)
            if normal is not None and normal.shape != low.shape:
                raise SourceError.at(
                    self.low,
                    f"is {low.shape[1]} x {low.shape[0]}, its normal"
                    f" {normal.shape[1]} x {normal.shape[0]}",
                )
        kept = normal if self.paired else None
        return middle(low, SIDE), None if kept is None else middle(kept, SIDE)


def _nothing() -> Features:
    return np.empty(0, np.float32)


@dataclass(frozen=True)
class MeasuredLow:
    """The features of one low."""

    row: dict[str, float]  # its `all_statistics`
    hash: int  # the perceptual hash of its normal; of a low alone, its own
    tiles: tuple[dict[str, float], ...] = ()  # the statistics of its quarters, of larger lows
    # Nothing where statistics alone are wanted:
    filters: Features = field(default_factory=_nothing)  # (F), its `filter_features`
    patches: Features = field(default_factory=_nothing)  # (N, P), its `patch_features`


def measure_lows(
    samples: Sequence[TestedLow],
    workers: int | None,
    at: Callable[[int], None],
    *,
    statistics_alone: bool = False,
) -> list[MeasuredLow | str]:
    """Measure lows, in their order; of what cannot be read, return the reason.

    Raises SourceError when an image is too small.
    """
    groups = [tuple(samples[i : i + _GROUP]) for i in range(0, len(samples), _GROUP)]
    measure = partial(_measure, statistics_alone=statistics_alone)
    return [one for found in local_engine(workers).map(measure, groups, at) for one in found]


def _measure(samples: tuple[TestedLow, ...], statistics_alone: bool) -> list[MeasuredLow | str]:
    made: list[MeasuredLow | str] = []
    for sample in samples:
        count()
        try:
            low, normal = sample.images()
        except SourceError as error:
            made.append(str(error))
            continue
        if (least := min(low.shape[:2])) < _LEAST:
            raise SourceError.at(
                sample.low or sample.normal,
                f"its shorter side has {least} pixels; {_LEAST} are the least",
            )
        found = MeasuredLow(
            all_statistics(low, normal),
            measure_pixels(low if normal is None else normal).perceptual_hash,
            tuple(all_statistics(*tile) for tile in _tiles(low, normal)),
        )
        if not statistics_alone:
            filters = filter_features(low, smooth_places(low, normal))
            found = replace(found, filters=filters, patches=patch_features(low, normal))
        made.append(found)
    return made


def _tiles(low: Pixels, normal: Pixels | None) -> Iterator[tuple[Pixels, Pixels | None]]:
    """Yield the quarters of a low and its normal, where they are large enough to be measured."""
    height, width = low.shape[0] // 2, low.shape[1] // 2
    if min(height, width) >= _LEAST:
        for top, left in product((0, height), (0, width)):
            place = slice(top, top + height), slice(left, left + width)
            yield low[place], None if normal is None else normal[place]


def assign_scenes(
    groups: Sequence[Sequence[MeasuredLow]], names: Sequence[Sequence[str]]
) -> list[IntArray]:
    """Return the number of each low's scene: images of equal names, or that look alike, have one.

    names: those of each group's pictures; equal ones mean one photograph, in all groups.
    """
    hashes = np.array([one.hash for group in groups for one in group], np.uint64)
    count = len(hashes)
    repeats = near_duplicates(hashes, np.ones(count, np.bool_), _ALIKE)
    every = [name for group in names for name in group]
    _, first, which = np.unique(every, return_index=True, return_inverse=True)
    here = np.arange(count)
    ends = np.concatenate([np.where(repeats >= 0, repeats, here), first[which]])
    links = coo_array((np.ones(2 * count), (np.tile(here, 2), ends)), (count, count))
    scenes = connected_components(links, directed=False)[1]
    return np.split(scenes, np.cumsum([len(group) for group in groups])[:-1])
