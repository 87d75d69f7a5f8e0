"""Features of lows by which a classifier tells them: statistics, of quarters too, and filters.

Random filters know nothing of noise and tone: 64 of 5 x 5 pixels and 3 channels, of Gaussian
weights, sum 0 and norm 1, always the same. Patches that they tell the surest are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, compress, pairwise, product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...engines.engine import Counted
from ...engines.local import local_engine
from ...errors import SourceError
from ...manifests.selection.duplicates import near_duplicates
from ...manifests.selection.measures import measure_pixels
from ..kernels.arrays import FloatArray, IntArray, Mask, Pixels
from .columns import BANKS, Rows, all_statistics, columns
from .noise_and_tone import LEVELS, smooth_places
from .pair_files import PairFiles, each_pair
from .pair_statistics import Scene, middle

Features = npt.NDArray[np.float32]

_MIDDLE = 640  # pixels: of larger images the middle is taken
_LEAST = 64
_ALIKE = 3  # bits of perceptual hashes, of 64, by which one scene's differ
FILTERS = "random filters"
"""The bank of what they give."""
COUNT = 64
SIDE = 5  # pixels
PATCH = 64  # pixels
_PATCHES = 12  # an image
_SAMPLES = 12_000  # an image
_ENOUGH = 150  # samples of a level
_SHOWN = 6  # of each group
_FURTHEST = 5.0  # deviations that count
_PATCH_RIDGE = 0.01  # of the number of patches
_WEIGHTS = np.random.default_rng(0).normal(size=(SIDE * SIDE * 3, COUNT))
_WEIGHTS -= _WEIGHTS.mean(axis=0)
_FILTERS: Features = (_WEIGHTS / np.linalg.norm(_WEIGHTS, axis=0)).astype(np.float32)
_NOTHING: Features = np.empty(0, np.float32)


def filter_features(low: Pixels, smooth: Mask) -> Features:
    """Return what filters give where a scene is smooth, by level of the low.

    low: uint8 array (H, W, 3), RGB. smooth: bool array (H, W).

    Returns float32 array (12 * 128), for each of `LEVELS` and filter log2 of the deviation, and its
    ratio to the mean of magnitudes; NaN where there are too few pixels of a level.
    """
    edge = SIDE // 2
    if min(low.shape[:2]) < SIDE:
        return np.full((len(LEVELS) - 1) * 2 * COUNT, np.nan, np.float32)
    down, across = np.nonzero(smooth[edge:-edge, edge:-edge])
    step = max(1, len(down) // _SAMPLES)
    windows = np.lib.stride_tricks.sliding_window_view(low, (SIDE, SIDE), axis=(0, 1))
    samples = windows[down[::step], across[::step]].reshape(-1, SIDE * SIDE * 3)
    responses = samples.astype(np.float32) @ _FILTERS
    level = samples.mean(axis=1)
    made = []
    for least, most in pairwise(LEVELS):
        here = responses[(level >= least) & (level < most)]
        enough = len(here) >= _ENOUGH
        made.append(_spread(here) if enough else np.full(2 * COUNT, np.nan, np.float32))
    return np.concatenate(made)


def patch_places(height: int, width: int) -> IntArray:
    """Return the top left corners (N, 2) of patches of an image, evenly spread."""
    across = max(1, min(width // PATCH, round((_PATCHES * width / max(height, 1)) ** 0.5)))
    down = max(1, min(height // PATCH, _PATCHES // across))
    tops = np.linspace(0, max(0, height - PATCH), down).astype(np.int64)
    lefts = np.linspace(0, max(0, width - PATCH), across).astype(np.int64)
    return np.stack(np.meshgrid(tops, lefts, indexing="ij"), axis=-1).reshape(-1, 2)


def patch_features(low: Pixels, normal: Pixels | None) -> Features:
    """Return what filters give in each patch of `patch_places`, with the means of its channels.

    low, normal: uint8 arrays (H, W, 3), RGB, at least 5 x 5.

    Returns float32 array (N, 134).
    """
    made = []
    for top, left in patch_places(*low.shape[:2]):
        part = slice(top, top + PATCH), slice(left, left + PATCH)
        windows = np.lib.stride_tricks.sliding_window_view(low[part], (SIDE, SIDE), axis=(0, 1))
        samples = windows[::3, ::3].reshape(-1, SIDE * SIDE * 3).astype(np.float32)
        shown = low[part] if normal is None else normal[part]
        means = np.concatenate([image.mean(axis=(0, 1)) for image in (low[part], shown)])
        made.append(np.concatenate([_spread(samples @ _FILTERS), means.astype(np.float32)]))
    return np.stack(made)


def _spread(responses: Features) -> Features:
    deviation = np.sqrt(np.einsum("nf,nf->f", responses, responses) / len(responses))
    magnitude = np.abs(responses).mean(axis=0)
    # What is added is below the rounding of one sample: it keeps black pictures finite.
    return np.concatenate([np.log2(deviation + 0.01), deviation / (magnitude + 1e-3)])


class MeasuredLow(NamedTuple):
    """The features of one low.

    row: its `all_statistics`. hash: the perceptual hash of its normal; of a low alone, its own.
    tiles: the statistics of its quarters, of larger lows.
    filters, patches: float32 arrays, its `filter_features` and `patch_features`; nothing where
      statistics alone are wanted.
    pair: where it was read.
    """

    row: dict[str, float]
    hash: int = 0
    tiles: tuple[dict[str, float], ...] = ()
    filters: Features = _NOTHING
    patches: Features = _NOTHING
    pair: PairFiles = PairFiles("", None)


@dataclass(frozen=True)
class Group:
    """Measured lows of one group, and an int array (N) with the scene of each."""

    lows: Sequence[MeasuredLow]
    scenes: IntArray

    @property
    def rows(self) -> Rows:
        """The statistics of each."""
        return [one.row for one in self.lows]

    def banks(self) -> dict[str, FloatArray]:
        """Return the features (N, parts, F) of each bank that the lows have any of."""
        # Tiles count where all of the lows have some.
        parts = [self.rows, *zip(*(one.tiles for one in self.lows), strict=False)]
        made = {
            bank: np.stack([columns(rows, names) for rows in parts], 1)
            for bank, names in BANKS.items()
        }
        made[FILTERS] = np.array([one.filters for one in self.lows], np.float64)
        return {bank: values for bank, values in made.items() if np.isfinite(values).any()}

    def halves(self) -> tuple[Group, Group]:
        """Return the lows of one half of the scenes, chosen by chance, and of the other."""
        names = np.unique(self.scenes)
        chosen = np.random.default_rng(0).permutation(names)[: len(names) // 2]
        here = np.isin(self.scenes, chosen)
        return self._of(here), self._of(~here)

    def _of(self, here: Mask) -> Group:
        return Group([*compress(self.lows, here)], self.scenes[here])


def measure_groups(
    groups: Sequence[Sequence[PairFiles]],
    workers: int | None,
    at: Counted,
    above: str = "",
    *,
    statistics_alone: bool = False,
) -> tuple[list[Group], list[str]]:
    """Measure groups of lows, and find their scenes; returns why others cannot be read, too.

    above: begins the names of the first group, where others' equal ones are other scenes.

    Raises SourceError when an image is too small, or nothing of a group can be read.
    """
    measure, every = partial(_measure, statistics_alone), list(chain(*groups))
    found = iter(each_pair(measure, every, local_engine(workers), at))
    lows, damaged = list[list[MeasuredLow]](), dict[str, None]()
    for group in groups:
        own = list(zip(group, found, strict=False))
        damaged |= dict.fromkeys(one for _, one in own if isinstance(one, str))
        lows.append([one._replace(pair=pair) for pair, one in own if not isinstance(one, str)])
        if group and not lows[-1]:
            raise SourceError(next(iter(damaged)))
    names = [[one.pair.key for one in group] for group in lows]
    names[0] = [f"{above}{name}" for name in names[0]]
    scenes = assign_scenes(lows, names)
    return [Group(*one) for one in zip(lows, scenes, strict=True)], list(damaged)


def middles(low: Pixels, normal: Pixels | None) -> tuple[Pixels, Pixels | None]:
    """Return the middles of a pair, which are compared: at most 640 pixels high and wide."""
    return middle(low, _MIDDLE), None if normal is None else middle(normal, _MIDDLE)


def _measure(
    statistics_alone: bool, pair: PairFiles, low: Pixels, normal: Pixels | None
) -> MeasuredLow:
    low, normal = middles(low, normal)
    if (least := min(low.shape[:2])) < _LEAST:
        raise SourceError.at(
            pair.low or pair.normal,
            f"its shorter side has {least} pixels; {_LEAST} are the least",
        )
    scene = None if normal is None else Scene(normal)
    more = (
        ()
        if statistics_alone
        else (filter_features(low, smooth_places(low, scene)), patch_features(low, normal))
    )
    return MeasuredLow(
        all_statistics(low, scene),
        measure_pixels(low if normal is None else normal).perceptual_hash,
        tuple(all_statistics(*tile) for tile in _tiles(low, normal)),
        *more,
    )


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
    from scipy.sparse import coo_array  # as late as any command needs it
    from scipy.sparse.csgraph import connected_components

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


@dataclass(frozen=True)
class Patch:
    """A patch of a low. key: of its low. pixels: uint8 array (64, 64, 3)."""

    key: str
    real: bool
    pixels: npt.NDArray[np.uint8]


def easiest(real: Group, other: Group, same: Sequence[tuple[int, int]]) -> list[Patch]:
    """Return the patches of real lows, then of others, that are told the surest; one of a scene.

    same: numbers of a real low and another of one normal. If there are such of equal sizes, patches
      are of the same places, in the same order.
    """
    every = [*real.lows, *other.lows]
    counts = [len(one.patches) for one in every]
    labels = np.repeat(np.repeat([0, 1], [len(real.lows), len(other.lows)]), counts)
    of_scene = np.repeat(np.concatenate([real.scenes, other.scenes]), counts)
    features = np.concatenate([one.patches for one in every]).astype(np.float64)
    score = _scores(features, labels, of_scene)
    image = np.repeat(np.arange(len(every)), counts)
    first = np.cumsum([0, *counts])  # patch of each image
    same = [(i, len(real.lows) + k) for i, k in same]
    if same := [
        (one, other) for one, other in same if counts[one] == counts[other]
    ]:  # a place is told the surest where the two are furthest apart
        here, there = (
            np.concatenate([first[i] + np.arange(counts[i]) for i in numbers])
            for numbers in zip(*same, strict=True)
        )
        groups = [(score[there] - score[here], [here, there])]
    else:
        here, there = (np.flatnonzero(labels == label) for label in (0, 1))
        groups = [(-score[here], [here]), (score[there], [there])]
    made = []
    for certain, patches in groups:
        surest = np.argsort(-certain, kind="stable")
        _, of_scenes = np.unique(of_scene[patches[0][surest]], return_index=True)
        shown = surest[np.sort(of_scenes)[:_SHOWN]]
        for patch in np.concatenate([own[shown] for own in patches]).tolist():
            pair = every[image[patch]].pair
            low, _ = middles(*pair.read())
            top, left = patch_places(*low.shape[:2])[patch - first[image[patch]]]
            pixels = low[top : top + PATCH, left : left + PATCH]
            made.append(Patch(pair.key, bool(labels[patch] == 0), pixels))
    return made


def _scores(features: FloatArray, labels: IntArray, scenes: IntArray) -> FloatArray:
    """Return how much patches look like label 1, by a linear rule learned on the other scenes.

    Least squares with a ridge: of thousands of patches it takes a moment.
    """
    scores = np.empty(len(labels))
    folds = np.unique(scenes, return_inverse=True)[1] % 3
    for fold in range(3):
        train, test = folds != fold, folds == fold
        mean, deviation = features[train].mean(axis=0), features[train].std(axis=0) + 1e-9
        scaled = np.clip((features - mean) / deviation, -_FURTHEST, _FURTHEST)
        square = scaled[train].T @ scaled[train]
        square += _PATCH_RIDGE * train.sum() * np.eye(len(square))
        rule = np.linalg.solve(square, scaled[train].T @ (2.0 * labels[train] - 1))
        scores[test] = scaled[test] @ rule
    return scores
