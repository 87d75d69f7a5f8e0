"""The patches of lows that are easiest to tell, to be looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..kernels.arrays import FloatArray, IntArray
from .features import PATCH, MeasuredLow, middles, patch_places
from .pair_files import PairFiles

_SHOWN = 6  # of each group
_FURTHEST = 5.0  # deviations that count
_RIDGE = 0.01  # of the number of patches


@dataclass(frozen=True)
class Patch:
    """A patch of a low. key: of its low. pixels: uint8 array (64, 64, 3)."""

    key: str
    real: bool
    pixels: npt.NDArray[np.uint8]


def easiest(
    samples: tuple[Sequence[PairFiles], Sequence[PairFiles]],
    found: tuple[Sequence[MeasuredLow], Sequence[MeasuredLow]],
    scenes: tuple[IntArray, IntArray],
) -> list[Patch]:
    """Return the patches of real lows, then of others, that are told the surest; one of a scene.

    Those of lows of the same normals are of the same places, in the same order.
    """
    every = [one for group in found for one in group]
    counts = [len(one.patches) for one in every]
    labels = np.repeat(np.repeat([0, 1], [len(group) for group in found]), counts)
    of_scene = np.repeat(np.concatenate(scenes), counts)
    features = np.concatenate([one.patches for one in every]).astype(np.float64)
    score = _scores(features, labels, of_scene)
    image = np.repeat(np.arange(len(every)), counts)
    first = np.cumsum([0, *counts])  # patch of each image
    same = _same_places(samples, found)
    if same:  # a place is told the surest where the two are furthest apart
        one, other = (
            np.concatenate([first[i] + np.arange(counts[i]) for i in numbers])
            for numbers in zip(*same, strict=True)
        )
        groups = [(score[other] - score[one], {0: one, 1: other})]
    else:
        apart = [np.flatnonzero(labels == label) for label in (0, 1)]
        groups = [(-score[apart[0]], {0: apart[0]}), (score[apart[1]], {1: apart[1]})]
    both = [*samples[0], *samples[1]]
    made: tuple[list[Patch], list[Patch]] = ([], [])
    for certain, patches in groups:
        shown: set[int] = set()
        for i in np.argsort(-certain, kind="stable").tolist():
            scene = int(of_scene[next(iter(patches.values()))[i]])
            if scene in shown:
                continue
            shown.add(scene)
            for label, own in patches.items():
                patch = int(own[i])
                sample = both[image[patch]]
                low, _ = middles(*sample.read())
                top, left = patch_places(*low.shape[:2])[patch - first[image[patch]]]
                pixels = low[top : top + PATCH, left : left + PATCH]
                made[label].append(Patch(sample.key, label == 0, pixels))
            if len(shown) == _SHOWN:
                break
    return [*made[0], *made[1]]


def _same_places(
    samples: tuple[Sequence[PairFiles], Sequence[PairFiles]],
    found: tuple[Sequence[MeasuredLow], Sequence[MeasuredLow]],
) -> list[tuple[int, int]]:
    """Return the numbers of real lows, and of the others of the same normals and sizes, if any."""
    every = [len(one.patches) for group in found for one in group]
    others = {one.normal: i for i, one in enumerate(samples[1], len(samples[0])) if one.normal}
    return [
        (i, others[one.normal])
        for i, one in enumerate(samples[0])
        if one.normal in others and every[i] == every[others[one.normal]]
    ]


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
        square += _RIDGE * train.sum() * np.eye(len(square))
        rule = np.linalg.solve(square, scaled[train].T @ (2.0 * labels[train] - 1))
        scores[test] = scaled[test] @ rule
    return scores
