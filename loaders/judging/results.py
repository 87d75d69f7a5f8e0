"""Figures of methods on a test set, as tables of text, Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import visible
from ...synth.building.readme import escape_markdown
from .intervals import interval

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


@dataclass(frozen=True)
class Judged:
    """Figures of methods on one test set.

    name: that of the test set.
    values: dict of a method to a float64 array (P, C); of each picture; the first two methods are
      the low as it is, and a blind gain.
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

    def rows(self) -> list[tuple[str, Floats, Floats, Floats]]:
        """Return (method, mean, lower, upper) with arrays (C,) of each method."""
        return [
            (name, values.mean(axis=0), *interval(values, self.scenes))
            for name, values in self.values.items()
        ]

    def differences(self) -> list[tuple[str, Floats, Floats, Floats]]:
        """Return the same of each output less the first one, on the same pictures."""
        first, *others = list(self.values)[2:] or [""]
        found = []
        for name in others:
            apart = self.values[name] - self.values[first]
            bounds = interval(apart, self.scenes)
            found.append((f"{name} less {first}", apart.mean(axis=0), *bounds))
        return found

    def as_json(self) -> dict[str, Any]:
        """Return all figures as JSON's types."""
        return {
            "set": self.name,
            "scenes": len(set(self.scenes.tolist())),
            "columns": list(self.columns),
            "methods": {name: _figures(*rest) for name, *rest in self.rows()},
            "differences": {name: _figures(*rest) for name, *rest in self.differences()},
            "pictures": {
                picture: {name: values[i].tolist() for name, values in self.values.items()}
                for i, picture in enumerate(self.pictures)
            },
            "conventions": [*CONVENTIONS, *self.notes],
        }

    def markdown(self) -> str:
        """Return the tables and their explanation as Markdown."""
        lines = [f"{escape_markdown(self.name)}: {self.about}", ""]
        for head, rows in (("method", self.rows()), ("difference", self.differences())):
            if rows:
                lines.append(f"| {head} | " + " | ".join(self.columns) + " |")
                lines.append("| --- |" + " --- |" * len(self.columns))
                lines += [
                    f"| {escape_markdown(name)} | " + " | ".join(self.cells(*rest)) + " |"
                    for name, *rest in rows
                ]
                lines.append("")
        said = (*CONVENTIONS, *map(escape_markdown, self.notes))
        return "\n".join([*lines, *(f"- {line}" for line in said), ""])

    def text(self) -> str:
        """Return the same for a terminal: a block for each way to set the brightness."""
        every = (*self.rows(), *self.differences())
        rows = [(visible(name), self.cells(*rest)) for name, *rest in every]
        width = max(len(name) for name, _ in rows)
        blocks: dict[str, list[int]] = {}
        for number, column in enumerate(self.columns):
            blocks.setdefault(column.partition(", ")[2], []).append(number)
        lines = [f"{visible(self.name)}: {self.about}", ""]
        for how, numbers in blocks.items():
            heads = [column.partition(",")[0] for column in self.columns]
            for name, cells in [(how or "as they are", heads), *rows]:
                shown = "".join(f"  {cells[number]:>25}" for number in numbers)
                lines.append(f"{name:{width}}{shown}")
            lines.append("")
        said = (*CONVENTIONS, *map(visible, self.notes))
        return "\n".join([*lines, *(f"- {line}" for line in said)])

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
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["picture", "scene", "method", *self.columns])
        for i, picture in enumerate(self.pictures):
            for name, values in self.values.items():
                figures = (f"{v:.6f}" for v in values[i])
                writer.writerow([_cell(picture), self.scenes[i], _cell(name), *figures])
        return text.getvalue()


def _cell(name: str) -> str:
    """Return a name that spreadsheets show, where one of a formula would be computed: with a '.

    They skip blanks before it, and read full-width signs as the others.
    """
    first = unicodedata.normalize("NFKC", name.lstrip()[:1])
    return f"'{visible(name)}" if first in {*"=+-@"} or name[:1].isspace() else visible(name)


def _figures(mean: Floats, lower: Floats, upper: Floats) -> dict[str, list[float | None]]:
    sides = {"mean": mean, "lower": lower, "upper": upper}
    return {
        name: [float(v) if np.isfinite(v) else None for v in values]
        for name, values in sides.items()
    }
