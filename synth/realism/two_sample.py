"""The two-sample test: how often a classifier tells two groups of lows apart, by scene.

Lopez-Paz and Oquab, "Revisiting classifier two-sample tests" (ICLR 2017). A classifier learns on
two thirds of the scenes, and tells lows of the last; 50 % cannot be told apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import ConfigError
from ..kernels.arrays import FloatArray, IntArray

FEWEST = 12
"""Scenes: of fewer, nothing can be learned."""
_FOLDS = 3
_TIMES = 3  # other thirds
_RESAMPLED = 500
_INTERVAL = (2.5, 97.5)  # percentiles
_KNOWN = 0.2  # of the images of each group that have a feature


@dataclass(frozen=True)
class Told:
    """Accuracy of the classifier, 0.5 to 1, and its 95 % interval over scenes."""

    accuracy: float  # the mean of both groups' accuracies
    least: float  # the mean of both groups' accuracies
    most: float  # the mean of both groups' accuracies

    def __str__(self) -> str:
        return f"{self.accuracy:.0%} ({100 * self.least:.0f} to {100 * self.most:.0f})"


def require_classifier() -> None:
    """Refuse to begin without scikit-learn. Raises ConfigError."""
    try:
        import sklearn.ensemble  # noqa: F401
    except ImportError as error:
        raise ConfigError(
            "the two-sample test needs scikit-learn: pip install 'gloam[realism]'"
        ) from error


def two_sample_test(
    first: FloatArray, second: FloatArray, scenes: tuple[IntArray, IntArray]
) -> Told:
    """Return how accurately a classifier tells the lows of two groups apart.

    first, second: float arrays (N, F) and (M, F), NaN where an image has no such feature. scenes:
    two int arrays (N) and (M), the scene of each image; one scene is never learned on and judged.
    """
    labels = np.repeat([0, 1], [len(first), len(second)])
    right = _probabilities(np.concatenate([first, second]), labels, np.concatenate(scenes))
    sure = np.where(labels, right, 1 - right)
    return _interval((np.sign(sure - 0.5) + 1) / 2, labels, np.concatenate(scenes))


def _probabilities(features: FloatArray, labels: IntArray, scenes: IntArray) -> FloatArray:
    """Return the probability (3, N) of label 1 of each image, learned on other scenes alone.

    features: float array (N, F). labels: int array (N), 0 and 1. scenes: int array (N).

    Raises ConfigError when there are too few scenes.
    """
    require_classifier()
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    known = np.isfinite(features)
    features = features[:, np.all([known[labels == i].mean(axis=0) >= _KNOWN for i in (0, 1)], 0)]
    names, which = np.unique(scenes, return_inverse=True)
    if len(names) < FEWEST:
        raise ConfigError(
            f"{len(names)} scenes: a classifier learns nothing from fewer than {FEWEST}; add pairs"
        )
    if not features.shape[1]:
        return np.full((_TIMES, len(labels)), 0.5)
    sure = np.empty((_TIMES, len(labels)))
    for time in range(_TIMES):
        folds = (np.random.default_rng(time).permutation(len(names)) % _FOLDS)[which]
        for fold in range(_FOLDS):
            train, test = folds != fold, folds == fold
            usable = np.isfinite(features[train]).sum(axis=0) >= 2
            if not usable.any() or len(np.unique(labels[train])) < 2:
                sure[time, test] = 0.5
                continue
            # Shallow trees of a part of the features: there are more of these than scenes.
            classifier = HistGradientBoostingClassifier(
                max_iter=80,
                max_depth=3,
                max_features=0.3,
                min_samples_leaf=5,
                early_stopping=False,
                class_weight="balanced",
                random_state=time,
            )
            # Of so few images threads only wait for each other.
            with threadpool_limits(1, "openmp"):
                classifier.fit(features[train][:, usable], labels[train])
                sure[time, test] = classifier.predict_proba(features[test][:, usable])[:, 1]
    return sure


def _interval(right: FloatArray, labels: IntArray, scenes: IntArray) -> Told:
    """Return the accuracy, and its interval by resampling scenes (Efron's bootstrap)."""
    names, which = np.unique(scenes, return_inverse=True)
    share = right.mean(axis=0)
    sums = [np.bincount(which, share * (labels == i), len(names)) for i in (0, 1)]
    counts = [np.bincount(which, labels == i, len(names)) for i in (0, 1)]
    drawn = np.random.default_rng(0).integers(0, len(names), (_RESAMPLED, len(names)))
    accuracies = np.zeros(_RESAMPLED)
    for total, count in zip(sums, counts, strict=True):
        accuracies += total[drawn].sum(axis=1) / np.maximum(count[drawn].sum(axis=1), 1) / 2
    accuracy = sum(total.sum() / count.sum() for total, count in zip(sums, counts, strict=True)) / 2
    least, most = np.percentile(accuracies, _INTERVAL)
    return Told(float(accuracy), float(least), float(most))
