"""Two groups of lows compared by all banks of features."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...engines.local import local_engine
from ..kernels.arrays import FloatArray, IntArray, Mask
from .columns import BANKS, columns
from .features import Patch
from .residuals import Residual, residual_lines
from .tells import Tell, find_tells
from .two_sample import FEWEST, Told, two_sample_test
from .wrong_pairs import damage_line

Rows = Sequence[dict[str, float]]
FILTERS = "random filters"
PROTOCOL = "(mean over pictures of the divergence of real noise from made, as papers give it)"
TONED = (
    "(lows were brought to the tones of their normals, and light and structure count as noise:"
    " papers' figures are of pairs of equal exposure)"
)
TELLS = "what gives them away, and how many it tells alone:"


@dataclass(frozen=True)
class Group:
    """Measured lows of one group."""

    rows: Rows  # sequence of dict, the `all_statistics` of each
    scenes: IntArray  # int array (N), the scene of each
    tiles: Sequence[Rows] = ()  # of each the statistics of its tiles, if there are any
    filters: FloatArray | None = None  # float array (N, F), the `filter_features` of each

    def banks(self) -> dict[str, FloatArray]:
        """Return the features (N, parts, F) of each bank that the lows have any of."""
        parts = [self.rows, *zip(*self.tiles, strict=True)]
        made = {
            bank: np.stack([columns(rows, names) for rows in parts], 1)
            for bank, names in BANKS.items()
        }
        if self.filters is not None:
            made[FILTERS] = self.filters
        return {bank: values for bank, values in made.items() if np.isfinite(values).any()}

    def halves(self) -> tuple[Group, Group]:
        """Return the lows of one half of the scenes, chosen by chance, and of the other."""
        names = np.unique(self.scenes)
        chosen = np.random.default_rng(0).permutation(names)[: len(names) // 2]
        here = np.isin(self.scenes, chosen)
        return self._of(here), self._of(~here)

    def _of(self, here: Mask) -> Group:
        chosen = np.flatnonzero(here).tolist()
        filters = None if self.filters is None else self.filters[here]
        tiles = [self.tiles[i] for i in chosen] if self.tiles else ()
        return Group([self.rows[i] for i in chosen], self.scenes[here], tiles, filters)


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
        return {
            "name": self.name,
            "real": len(self.real),
            "other": len(self.other),
            "scenes": self.scenes,
            "told": {bank: _as_json(one) for bank, one in self.told.items()},
            "control": {bank: _as_json(one) for bank, one in self.control.items()},
            "tells": [asdict(one) for one in self.tells],
            "protocols": {
                name: {"lows": lows, "control": None if np.isnan(control) else control}
                for name, (lows, control) in self.protocols.items()
            },
            **(
                {}
                if self.residuals is None
                else {"residuals": [asdict(one) for one in self.residuals]}
            ),
            **({"damaged": self.damaged} if self.damaged else {}),
        }


def compare_rows(name: str, real: Rows, other: Rows) -> Realism:
    """Compare statistics of lows with those of real ones, each of a scene of its own.

    Raises gloam.errors.ConfigError, see `compare_groups`.
    """
    edge = len(real)
    return compare_groups(
        name, Group(real, np.arange(edge)), Group(other, np.arange(edge, edge + len(other)))
    )


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
    lows, chance = _jobs(real, other), _jobs(one, two, rising=False) if enough else []
    made = iter([*local_engine(workers).map(_told, [*lows, *chance])])
    told, by_chance = ({job.bank: next(made) for job in jobs} for jobs in (lows, chance))
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


def _as_json(told: Told) -> dict[str, Any]:
    pairs = told.curve[-1][0]
    return {
        **asdict(told),
        "expected": {str(more): told.expected(more) for more in (2 * pairs, 4 * pairs)},
    }


class _Job(NamedTuple):
    """A two-sample test, by features of one bank; see `two_sample_test`."""

    bank: str
    first: FloatArray
    second: FloatArray
    scenes: tuple[IntArray, IntArray]
    rising: bool


def _jobs(first: Group, second: Group, *, rising: bool = True) -> list[_Job]:
    mine, others = first.banks(), second.banks()
    scenes = first.scenes, second.scenes
    return [_Job(bank, mine[bank], others[bank], scenes, rising) for bank in mine if bank in others]


def _told(job: _Job) -> Told:
    return two_sample_test(job.first, job.second, job.scenes, rising=job.rising)
