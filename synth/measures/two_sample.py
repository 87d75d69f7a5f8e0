"""Two groups of lows compared: how often a classifier tells them apart, by all banks of features.

The two-sample test is that of Lopez-Paz and Oquab, "Revisiting classifier two-sample tests" (ICLR
2017): a classifier learns on two thirds of the scenes, and tells lows of the last; 50 % cannot be
told apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np

from ...engines.local import local_engine
from ...errors import ConfigError, needed
from ..kernels.arrays import FloatArray, IntArray
from .columns import Rows
from .features import Group, MeasuredLow, Patch
from .tells import Residual, Tell, find_tells, residual_lines
from .wrong_pairs import damage_line

FEWEST = 12
"""Scenes: of fewer, nothing can be learned."""
_FOLDS = 3
_RESAMPLED = 500
_INTERVAL = (2.5, 97.5)  # percentiles
_KNOWN = 0.2  # of the images of each group that have a feature
_SHARES = (0.25, 1), (0.5, 2), (1.0, 3)  # of the scenes to learn from, and how many other thirds
_BINS = 64  # of a feature's values
_EDGES = np.linspace(0, 1, _BINS + 1)[1:-1]
_RISING = 0.02  # from half of the pairs to all, where more would tell more
_USUAL, _CLEAR = 0.436, 0.3
"""What the quantile rises by for each unit of `_growth`, of lows whose quantile is the other."""
_OWN = 0.2  # weight of the rise that was seen
PROTOCOL = "(mean over pictures of the divergence of real noise from made, as papers give it)"
TONED = (
    "(lows were brought to the tones of their normals, and light and structure count as noise:"
    " papers' figures are of pairs of equal exposure)"
)
TELLS = "what gives them away, and how many it tells alone:"


@dataclass(frozen=True)
class Told:
    """Accuracy of the classifier, 0.5 to 1, and its 95 % interval over scenes.

    It rises with the pairs that are learned from: figures of other numbers do not compare.
    """

    accuracy: float  # the mean of both groups' accuracies
    least: float
    most: float
    curve: tuple[tuple[int, float], ...]  # (pairs learned from, accuracy) of a quarter, half, all

    def __str__(self) -> str:
        """Return the figures with the pairs that they were learned from, and what more would do."""
        figures = ", ".join(f"{accuracy:.0%}" for _, accuracy in self.curve)
        pairs = ", ".join(str(pairs) for pairs, _ in self.curve)
        said = f"{figures} ({100 * self.least:.0f} to {100 * self.most:.0f}) learned from {pairs}"
        said += " pairs"
        if len(self.curve) > 1 and self.accuracy - self.curve[-2][1] > _RISING:
            more = self.expected(2 * self.curve[-1][0]) - self.accuracy
            said += f"; still rising: with twice the pairs expect about +{100 * more:.0f}"
        return said

    def as_json(self) -> dict[str, Any]:
        """Return the figures, and what is to be expected of twice and four times the pairs."""
        pairs = self.curve[-1][0]
        more = {str(some): self.expected(some) for some in (2 * pairs, 4 * pairs)}
        return {**asdict(self), "expected": more}

    def expected(self, pairs: int) -> float:
        """Return the accuracy to be expected where so many pairs are learned from.

        Its quantile of the normal distribution goes on as it rose, taken together with what is
        usual: by ever less for each doubling (`_growth`).
        """
        quantiles = [NormalDist().inv_cdf(min(max(one, 0.01), 0.99)) for _, one in self.curve]
        (few, _), last = self.curve[0], quantiles[-1]
        learned = self.curve[-1][0]
        usual = _USUAL * min(max(last, 0) / _CLEAR, 1)
        seen = (last - quantiles[0]) / max(_growth(few, learned), 1e-9)
        rise = max(0.0, _OWN * seen + (1 - _OWN) * usual) * _growth(learned, pairs)
        return NormalDist().cdf(last + rise)


def _growth(few: int, pairs: int) -> float:
    """Return how far a learning curve rises between two numbers of pairs."""
    return float((40 / max(few, 1)) ** 0.8 - (40 / max(pairs, 1)) ** 0.8)


@dataclass(frozen=True)
class Realism:
    """Results of a comparison of lows with real ones.

    control: dict of the same to Told, what chance gives: of two seeds of the recipe, or of two
    halves of the other lows where these are enough.
    """

    name: str  # of the lows that are not real: their recipe's, or their folder's
    real: Rows  # the statistics of real lows, and of the others
    other: Rows  # the statistics of real lows, and of the others
    scenes: int  # different ones of both
    told: dict[str, Told]  # dict of a bank of features to Told
    control: dict[str, Told]
    tells: list[Tell]  # what gives the lows away, the surest first
    patches: list[Patch] = field(default_factory=list)  # those that are easiest to tell
    damaged: list[str] = field(default_factory=list)  # images that were left out, with the reason
    # Of pairs, the real lows and the others of the same normals:
    residuals: list[Residual] | None = None
    protocols: dict[str, tuple[float, float]] = field(default_factory=dict)  # lows, control
    equal: bool = True  # whether lows are as bright as their normals
    seeds: bool = False  # whether the control is another seed, not two halves of the lows

    def lines(self) -> list[str]:
        """Return the results as lines to print."""
        return [
            f"{len(self.real)} real lows, {len(self.other)} of {self.name}, {self.scenes} scenes",
            *([] if self.residuals is None else residual_lines(self.residuals, len(self.real))),
            *self.told_lines(self.told),
            *(
                f"{name}: {lows:.4f}" + (f"; control {control:.4f}" if control >= 0 else "")
                for name, (lows, control) in self.protocols.items()
            ),
            *([PROTOCOL] if self.protocols else []),
            *([] if self.equal or not self.protocols else [TONED]),
            TELLS if self.tells else "no statistic gives them away alone; several together may",
            *(f"  {tell}" for tell in self.tells),
            *([damage_line(self.damaged)] if self.damaged else []),
        ]

    def told_lines(self, banks: Iterable[str]) -> Iterator[str]:
        """Yield a line for each of some banks: how many lows are told by it, and of the control.

        The last line says what these figures are.
        """
        for bank in banks:
            control = self.control.get(bank)
            yield f"told apart by {bank}: {self.told[bank]}" + (
                f"; control {control.accuracy:.0%}" if control else ""
            )
        other = "lows of another seed" if self.seeds else "one half of these lows from the other"
        said = f"; control: {other}" if self.control else ""
        yield f"(50% cannot be told apart; in brackets the 95% interval over scenes{said})"

    def as_json(self) -> dict[str, Any]:
        """Return the results without statistics and pixels."""
        found: dict[str, Any] = {
            "name": self.name,
            "real": len(self.real),
            "other": len(self.other),
            "scenes": self.scenes,
            "told": {bank: one.as_json() for bank, one in self.told.items()},
            "control": {bank: one.as_json() for bank, one in self.control.items()},
            "tells": [asdict(one) for one in self.tells],
            "protocols": {
                name: {"lows": lows, "control": None if np.isnan(control) else control}
                for name, (lows, control) in self.protocols.items()
            },
        }
        if self.residuals is not None:
            found["residuals"] = [asdict(one) for one in self.residuals]
        return found | ({"damaged": self.damaged} if self.damaged else {})


def compare_rows(name: str, real: Rows, other: Rows) -> Realism:
    """Compare statistics of lows, each of a scene of its own; see `compare_groups`."""
    scenes = np.arange(len(real) + len(other))
    first = Group([MeasuredLow(row) for row in real], scenes[: len(real)])
    second = Group([MeasuredLow(row) for row in other], scenes[len(real) :])
    return compare_groups(name, first, second)


def compare_groups(
    name: str,
    real: Group,
    other: Group,
    control: Group | None = None,
    workers: int | None = 1,
) -> Realism:
    """Compare lows with real ones.

    name: of the others. control: others of another seed; by default, two halves of the others are
    compared. workers: processes that learn.

    Raises gloam.errors.ConfigError when there are too few scenes, or scikit-learn is missing.
    """
    one, two = (other, control) if control is not None else other.halves()
    scenes = np.unique(np.concatenate([real.scenes, other.scenes]))
    enough = len(np.unique(np.concatenate([one.scenes, two.scenes]))) >= FEWEST
    lows, chance = _tests(real, other), _tests(one, two, rising=False) if enough else {}
    made = iter([*local_engine(workers).map(_told, [*lows.values(), *chance.values()])])
    told, by_chance = (dict(zip(tests, made, strict=False)) for tests in (lows, chance))
    return Realism(
        name,
        real.rows,
        other.rows,
        len(scenes),
        told,
        by_chance,
        find_tells(real.rows, other.rows),
        seeds=control is not None,
    )


def _tests(first: Group, second: Group, *, rising: bool = True) -> dict[str, tuple[Any, ...]]:
    """Return what `two_sample_test` is given, by each bank that both groups have."""
    mine, others = first.banks(), second.banks()
    made = {}
    for bank, own in mine.items():
        if bank in others:
            parts = min(own.shape[1], others[bank].shape[1])  # tiles that all lows have
            both = own[:, :parts], others[bank][:, :parts]
            made[bank] = *both, (first.scenes, second.scenes), rising
    return made


def _told(test: tuple[Any, ...]) -> Told:
    return two_sample_test(*test)


def require_classifier() -> None:
    """Refuse to begin without scikit-learn. Raises ConfigError."""
    needed("sklearn.ensemble", "the two-sample test needs scikit-learn", "realism")


def two_sample_test(
    first: FloatArray, second: FloatArray, scenes: tuple[IntArray, IntArray], rising: bool = True
) -> Told:
    """Return how accurately a classifier tells the lows of two groups apart.

    first, second: float arrays (N, F) and (M, F), NaN where an image has no such feature; or
    (N, P, F) and (M, P, F) of parts of each image, which are learned singly and tell together.
    scenes: two int arrays (N) and (M), the scene of each image; one scene is never learned on and
    judged.
    """
    labels, whose = np.repeat([0, 1], [len(first), len(second)]), np.concatenate(scenes)
    features = np.concatenate([first, second])
    features = _binned(features if features.ndim == 3 else features[:, None])
    count = min(len(first), len(second)) * (_FOLDS - 1) / _FOLDS
    curve, told = [], (0.5, 0.5, 0.5)
    for share, times in _SHARES[0 if rising else -1 :]:
        odds = np.sign(_odds(features, labels, whose, share, times))
        told = _interval((np.where(labels, odds, -odds) + 1) / 2, labels, whose)
        curve.append((round(share * count), told[0]))
    return Told(*told, tuple(curve))


def _binned(features: FloatArray) -> FloatArray:
    """Return the bins that values lie in, each with as many values of a feature; NaN stays.

    Trees ask for no more. The classifier would bin those of every fold by their weights, which
    takes ten times as long as all that it learns.
    """
    columns = features.reshape(-1, features.shape[2]).T.copy()
    for column in columns:
        known = np.isfinite(column)
        if known.any():
            column[known] = np.searchsorted(np.quantile(column[known], _EDGES), column[known])
        column[~known] = np.nan
    return columns.T.reshape(features.shape)


def _odds(
    features: FloatArray, labels: IntArray, scenes: IntArray, share: float, times: int
) -> FloatArray:
    """Return the log odds (times, N) of label 1 of each image, learned on other scenes alone.

    features: float array (N, P, F). labels: int array (N), 0 and 1. scenes: int array (N). share:
    of the other scenes that is learned from.

    Raises ConfigError when there are too few scenes.
    """
    require_classifier()
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    known = np.isfinite(features[:, 0])
    kept = np.all([known[labels == i].mean(axis=0) >= _KNOWN for i in (0, 1)], axis=0)
    features, parts = features[..., kept], features.shape[1]
    names, which = np.unique(scenes, return_inverse=True)
    if len(names) < FEWEST:
        raise ConfigError(
            f"{len(names)} scenes: a classifier learns nothing from fewer than {FEWEST}; add pairs"
        )
    odds = np.zeros((times, len(labels)))
    if not kept.any():
        return odds
    for time in range(times):
        order = np.random.default_rng(time).permutation(len(names))
        folds = order % _FOLDS
        for fold in range(_FOLDS):
            others = np.flatnonzero(folds != fold)
            others = others[np.argsort(order[others])][: round(share * len(others))]
            train, test = np.isin(which, others), (folds == fold)[which]
            learned = features[train].reshape(-1, features.shape[2])
            usable = np.isfinite(learned).sum(axis=0) >= 2
            if not usable.any() or len(np.unique(labels[train])) < 2:
                continue
            # Shallow trees of a part of the features: there are more of these than scenes.
            classifier = HistGradientBoostingClassifier(
                max_iter=80,
                max_depth=3,
                max_features=0.3,
                max_bins=_BINS,
                min_samples_leaf=5,
                early_stopping=False,
                class_weight="balanced",
                random_state=time,
            )
            # Of so few images threads only wait for each other.
            with threadpool_limits(1, "openmp"):
                classifier.fit(learned[:, usable], np.repeat(labels[train], parts))
                asked = features[test].reshape(-1, features.shape[2])[:, usable]
                found = classifier.decision_function(asked)
            odds[time, test] = found.reshape(-1, parts).mean(axis=1)
    return odds


def _interval(right: FloatArray, labels: IntArray, scenes: IntArray) -> tuple[float, float, float]:
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
    return float(accuracy), float(least), float(most)
