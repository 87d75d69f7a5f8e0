"""Figures of methods on a test set, as tables of text, Markdown, CSV and JSON.

Intervals are of scenes that are drawn anew: pictures of one scene are not independent.
"""

from __future__ import annotations

import csv
import io
import math
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import visible
from ...synth.building.readme import escape_markdown

Floats = npt.NDArray[np.float64]
CONVENTIONS = (
    "sRGB-encoded R, G, B from 0 to 1, at the files' own depth; nothing is resized, no border cut.",
    "PSNR in dB of the mean square error over all pixels and channels, at most 100; SSIM by an"
    " 11 x 11 Gaussian window (sigma 1.5) for each channel, K 0.01 and 0.03, without the 5 pixels"
    " at borders: scikit-image's functions with data_range=1, gaussian_weights=True,"
    " use_sample_covariance=False.",
    "Means are over pictures; in brackets the 95 % interval, by resampling scenes (the set's own,"
    " and normals that look alike).",
    "* uses the normal to set the output's brightness: one gain in linear light by least squares;"
    " GT-mean scales encoded values to the normal's mean grey. Neither can be had without the"
    " normal: do not set such a figure beside another paper's plain one.",
)
RANKS = (
    "rank: by mean PSNR among the outputs of a set, 1 the best; agreement: Kendall's tau and"
    " Spearman's rho of the ranks by two sets, 1 the same order, 0 none"
)
IDENTITY, BLIND, ENCODED = "the low as it is", "blind gain", "blind gain, encoded"
Row = tuple[str, list[str]]
Figures = tuple[str, Floats, Floats, Floats]
"""A method, its means (C,), and their lower and upper bounds."""
_CONFIDENCE = 0.95
_DRAWS = 2000


class Tables:
    """Figures of methods as tables of text, Markdown and HTML."""

    name: str
    notes: tuple[str, ...]

    @property
    def about(self) -> str:
        """Numbers of what was judged, as text."""
        raise NotImplementedError

    def tables(self) -> Iterator[tuple[str, Sequence[str], list[Row]]]:
        """Yield (what its rows are, columns, (name, cells) of each row) of each table."""
        raise NotImplementedError

    def markdown(self) -> str:
        """Return the tables and their explanation as Markdown."""
        lines = [f"{escape_markdown(self.name)}: {self.about}", ""]
        for head, columns, rows in self.tables():
            lines.append(f"| {head} | " + " | ".join(map(escape_markdown, columns)) + " |")
            lines.append("| --- |" + " --- |" * len(columns))
            lines += [f"| {escape_markdown(name)} | {' | '.join(cells)} |" for name, cells in rows]
            lines.append("")
        said = (*CONVENTIONS, *map(escape_markdown, self.notes))
        return "\n".join([*lines, *(f"- {line}" for line in said), ""])

    def text(self) -> str:
        """Return the same for a terminal: a block for each way to set the brightness, or set."""
        tables = list(self.tables())
        width = max(len(visible(name)) for _, _, rows in tables for name, _ in rows)
        blocks: dict[str, list[str]] = {}
        for _, columns, rows in tables:
            places: dict[str, list[int]] = {}
            for number, column in enumerate(columns):
                places.setdefault(column.partition(", ")[2], []).append(number)
            for how, numbers in places.items():
                heads = [column.partition(",")[0] for column in columns]
                head = [] if how in blocks else [(how or "as they are", heads)]
                blocks.setdefault(how, []).extend(
                    f"{visible(name):{width}}" + "".join(f"  {cells[i]:>25}" for i in numbers)
                    for name, cells in [*head, *rows]
                )
        lines = [line for block in blocks.values() for line in (*block, "")]
        said = (*CONVENTIONS, *map(visible, self.notes))
        return "\n".join(
            [f"{visible(self.name)}: {self.about}", "", *lines, *(f"- {line}" for line in said)]
        )


@dataclass(frozen=True)
class Judged(Tables):
    """Figures of methods on one test set.

    name: that of the test set.
    values: dict of a method to a float64 array (P, C); of each picture; the first two methods are
      the low as it is, and a blind gain; the third is `ENCODED` where it was asked for.
    scenes: int array (P,).
    files: list of dicts of "low", "normal" and methods to paths.
    notes: what was not measured, and which files of the outputs were not asked for.
    """

    name: str
    columns: tuple[str, ...]
    values: dict[str, Floats]
    pictures: list[str]
    scenes: npt.NDArray[np.int64]
    files: list[dict[str, Path]]
    notes: tuple[str, ...] = ()

    def _figures(self, name: str, values: Floats) -> Figures:
        return (name, values.mean(axis=0), *interval(values, self.scenes))

    def rows(self) -> list[Figures]:
        """Return the figures of each method."""
        return [self._figures(*one) for one in self.values.items()]

    def differences(self) -> list[Figures]:
        """Return those of each output less the first one, on the same pictures."""
        return self.less(*self.outputs[:1])

    def less(self, first: str = "") -> list[Figures]:
        """Return those of each output less one of them; nothing where it is not there."""
        return [
            self._figures(f"{name} less {first}", self.values[name] - self.values[first])
            for name in self.outputs
            if first in self.values and name != first
        ]

    def as_json(self) -> dict[str, Any]:
        """Return all figures as JSON's types."""
        return {
            "set": self.name,
            "scenes": len(set(self.scenes.tolist())),
            "columns": list(self.columns),
            "methods": {name: _bounds_as_json(*rest) for name, *rest in self.rows()},
            "differences": {name: _bounds_as_json(*rest) for name, *rest in self.differences()},
            "pictures": {
                picture: {name: values[i].tolist() for name, values in self.values.items()}
                for i, picture in enumerate(self.pictures)
            },
            "conventions": [*CONVENTIONS, *self.notes],
        }

    def tables(self) -> Iterator[tuple[str, Sequence[str], list[Row]]]:
        """Yield the methods' table, and that of their differences where there are any."""
        for head, rows in (("method", self.rows()), ("difference", self.differences())):
            if rows:
                yield head, self.columns, [(name, self.cells(*rest)) for name, *rest in rows]

    @property
    def outputs(self) -> list[str]:
        """The methods but for the low and blind gains."""
        return list(self.values)[3 if ENCODED in self.values else 2 :]

    @property
    def plain(self) -> list[int]:
        """Places of the columns of outputs as they are."""
        return [i for i, column in enumerate(self.columns) if ", " not in column]

    @property
    def about(self) -> str:
        """Numbers of pictures and scenes, as text."""
        return f"{len(self.pictures):,} pictures of {len(set(self.scenes.tolist())):,} scenes"

    def cells(self, mean: Floats, lower: Floats, upper: Floats) -> list[str]:
        """Return a row's figures as text."""
        found = []
        for column, *numbers in zip(self.columns, mean, lower, upper, strict=True):
            digits = 2 if column.startswith(("PSNR", "NIQE")) else 3
            one, low, high = (f"{number:.{digits}f}" for number in numbers)
            found.append(f"{one} ({low} to {high})" if np.isfinite(numbers[1]) else one)
        return found

    def csv(self) -> str:
        """Return a line for each picture and method; names that begin as formulas do get a '."""
        return _csv_text(["picture", "scene", "method", *self.columns], self.csv_rows())

    def csv_rows(self) -> Iterator[list[Any]]:
        """Yield the cells of those lines."""
        for i, picture in enumerate(self.pictures):
            for name, values in self.values.items():
                figures = (f"{v:.6f}" for v in values[i])
                yield [_cell(picture), self.scenes[i], _cell(name), *figures]


@dataclass(frozen=True)
class Board(Tables):
    """Figures of methods on several test sets.

    sets: dict of a set's name to Judged, of those methods that have outputs for it.
    outputs: the methods; rows of the tables, beside the low as it is and blind gains.
    """

    sets: dict[str, Judged]
    outputs: list[str]
    name: str = "board"

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Notes of all sets, and what the tables' figures are."""
        every = (note for one in self.sets.values() for note in one.notes)
        return (*dict.fromkeys(every), RANKS)

    @property
    def about(self) -> str:
        """Numbers of methods, of cells that are empty, and of pictures, as text."""
        lacking = sum(name not in one.values for one in self.sets.values() for name in self.outputs)
        sets = "; ".join(f"{name}: {one.about}" for name, one in self.sets.items())
        return f"{len(self.outputs):,} methods, {lacking:,} of their sets lacking; {sets}"

    def means(self, column: str) -> dict[str, dict[str, float]]:
        """Return the mean of each output by set."""
        return {
            name: {
                method: float(one.values[method][:, one.columns.index(column)].mean())
                for method in one.outputs
            }
            for name, one in self.sets.items()
        }

    def ranks(self) -> dict[str, dict[str, float]]:
        """Return the rank of each output by its mean PSNR, 1 the best, by set."""
        from scipy.stats import rankdata  # it takes half a second to load

        return {
            name: dict(zip(means, rankdata([-v for v in means.values()]).tolist(), strict=True))
            for name, means in self.means("PSNR").items()
        }

    def agreement(self) -> list[tuple[str, list[float]]]:
        """Return how far each two sets rank the outputs of both alike.

        Kendall's tau-b and Spearman's rho by PSNR, and by SSIM, from -1 to 1, and the number of
        outputs; nothing of fewer than three.
        """
        from scipy.stats import kendalltau, spearmanr

        found, every = [], (self.means("PSNR"), self.means("SSIM"))
        for one, other in combinations(self.sets, 2):
            both = [name for name in every[0][one] if name in every[0][other]]
            if len(both) < 3:
                continue
            pairs = [[[of[name] for name in both] for of in (m[one], m[other])] for m in every]
            figures = [float(f(*two).statistic) for two in pairs for f in (kendalltau, spearmanr)]
            found.append((f"{one} and {other}", [*figures, float(len(both))]))
        return found

    def tables(self) -> Iterator[tuple[str, Sequence[str], list[Row]]]:
        """Yield the table of all methods and sets, of their differences, and of agreement."""
        ranks, columns = self.ranks(), self._columns()
        found = self._rows(Judged.rows, [IDENTITY, BLIND, ENCODED, *self.outputs])
        for name, cells in found:
            own = [of.get(name) for of in ranks.values()]
            known = [rank for rank in own if rank is not None]
            cells += ["" if rank is None else f"{rank:g}" for rank in own]
            cells += [f"{np.mean(known):.1f}", f"{len(known)} of {len(own)}"] if known else ["", ""]
        more = [*(f"rank, {of}" for of in ranks), "mean rank, all sets", "sets, all sets"]
        yield "method", [*columns, *more], found
        first, *others = self.outputs
        if others:
            names = [f"{name} less {first}" for name in others]
            yield "difference", columns, self._rows(lambda one: one.less(first), names)
        if agreement := self.agreement():
            heads = ["Kendall", "Spearman", "Kendall by SSIM", "Spearman by SSIM", "methods"]
            yield (
                "ranks of two sets",
                [f"{head}, agreement" for head in heads],
                [(said, [*(f"{v:.2f}" for v in own), f"{n:.0f}"]) for said, (*own, n) in agreement],
            )

    def _columns(self) -> list[str]:
        """Return the measures of the sets, of outputs as they are."""
        sets = self.sets.items()
        return [f"{one.columns[i]}, {name}" for name, one in sets for i in one.plain]

    def _rows(self, rows: Callable[[Judged], list[Figures]], names: Sequence[str]) -> list[Row]:
        """Return rows with cells of `_columns`, empty ones of sets without them."""
        found: dict[str, list[str]] = {name: [] for name in names}
        for one in self.sets.values():
            cells = {name: one.cells(*rest) for name, *rest in rows(one)}
            for name, row in found.items():
                row += [cells[name][i] if name in cells else "" for i in one.plain]
        return list(found.items())

    def as_json(self) -> dict[str, Any]:
        """Return all figures as JSON's types."""
        return {
            "sets": {name: one.as_json() for name, one in self.sets.items()},
            "ranks": self.ranks(),
            "agreement": dict(self.agreement()),
            "lacking": {
                name: [of for of, one in self.sets.items() if name not in one.values]
                for name in self.outputs
            },
        }

    def csv(self) -> str:
        """Return a line for each set, picture and method."""
        columns = next(iter(self.sets.values())).columns
        rows = ([_cell(name), *row] for name, one in self.sets.items() for row in one.csv_rows())
        return _csv_text(["set", "picture", "scene", "method", *columns], rows)


def _csv_text(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([head, *rows])
    return text.getvalue()


def _cell(name: str) -> str:
    """Return a name that spreadsheets show, where one of a formula would be computed: with a '.

    They skip blanks before it, read full-width signs as the others, and may split at semicolons.
    """
    made = []
    for part in name.split(";"):
        first = unicodedata.normalize("NFKC", part.lstrip()[:1])
        formula = first in {*"=+-@"} or part[:1].isspace()
        made.append("'" * formula + visible(part))
    return ";".join(made)


def _bounds_as_json(mean: Floats, lower: Floats, upper: Floats) -> dict[str, list[float | None]]:
    sides = {"mean": mean, "lower": lower, "upper": upper}
    return {
        name: [float(v) if np.isfinite(v) else None for v in values]
        for name, values in sides.items()
    }


def interval(values: Floats, scenes: npt.NDArray[np.int64], seed: int = 0) -> tuple[Floats, Floats]:
    """Return the 95 % interval of the mean over pictures, by the bootstrap over scenes.

    Whole scenes are drawn. A percentile interval of few scenes is too narrow, by the missing
    n / (n - 1) and by Student's t: its percentiles are moved outwards for both (Hesterberg, "What
    teachers should know about the bootstrap", The American Statistician 69 (2015), "expanded
    percentile").

    values: float array (P,) or (P, C); of each picture; or differences of two methods' values, for
      their paired interval.
    scenes: int array (P,); what each picture shows.

    Returns (low, high): arrays (C,), or numbers; NaN with one scene.
    """
    from scipy.special import stdtrit

    names, places = np.unique(scenes, return_inverse=True)
    count, nothing = len(names), np.full(values.shape[1:], np.nan)
    if count < 2:
        return nothing, nothing
    sums = np.zeros((count, *values.shape[1:]))
    np.add.at(sums, places, values)
    chosen = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), _DRAWS)
    pictures = chosen @ np.bincount(places)
    means = (chosen @ sums) / (pictures if values.ndim == 1 else pictures[:, None])
    student = float(stdtrit(count - 1, (1 + _CONFIDENCE) / 2))
    tail = NormalDist().cdf(-math.sqrt(count / (count - 1)) * student)
    low, high = np.quantile(means, (tail, 1 - tail), axis=0)
    return low, high
