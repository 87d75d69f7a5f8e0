"""`gloam stats`: exposure, field and noise statistics beside those of real sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..storage.atomic import write_bytes
from ..synth.analysis.all_statistics import ALL_LABELS
from ..synth.analysis.pair_statistics import LABELS, reference_statistics, summary
from ..synth.analysis.photon_transfer import by_sensor, transfer_ratio
from ..synth.analysis.set_statistics import Measured, read_reference, reference_yaml
from ..synth.analysis.set_statistics import stats as measure
from ..synth.analysis.wrong_pairs import damage_line, mismatch_line
from .common import EXISTING, brighter_lows_option, json_option, options_of, output_option, paths
from .workers import working


@click.command()
@paths(lows="SET|LOW_DIR", normals="[SET|NORMAL_DIR]")
@options_of(measure, pairs="Largest number of pairs to measure, evenly spread.")
@click.option(
    "--beside",
    multiple=True,
    type=EXISTING,
    help="Compare with this file, written by --save-reference; may be repeated.",
)
@brighter_lows_option
@click.option("--full", is_flag=True, help="Also print noise and tone by level and channel.")
@json_option
@output_option(
    "--save-reference",
    ".yaml",
    help="Also write the statistics to this YAML file, as a reference for --beside.",
)
@working()
def stats(
    lows: Path,
    normals: Path | None,
    *,
    save_reference: Path | None,
    beside: tuple[Path, ...],
    full: bool,
    **options: Any,
) -> tuple[Any, list[str]]:
    """Measure how dark, uneven and noisy the pairs of a set are, and compare with LOL and DICM.

    Give a set, or two folders of images with equal names. LOW_DIR alone gives what can be measured
    without normals. For a set of lows only, give the set that holds its normals as well.
    """
    references = {**reference_statistics(), **dict(read_reference(path) for path in beside)}
    measured = measure(lows, normals, **options)
    if save_reference is not None:  # before what may be cut off by whoever reads it
        write_bytes(save_reference, reference_yaml(measured, save_reference.stem))
    lines = _lines(measured, references, ALL_LABELS if full else LABELS)
    return {**measured.as_json(), "reference": references}, lines


def _lines(
    measured: Measured, references: dict[str, dict[str, Any]], labels: dict[str, str]
) -> list[str]:
    table = summary(measured.rows)
    width = 1 + max(len(labels[name]) for name in labels if name in table)
    of_pairs = any("exposure_ev" in row for row in measured.rows)
    lines = [
        f"{len(measured.rows):,} {'pairs' if of_pairs else 'images'}; percentiles 5 / 50 / 95",
        f"{'':{width}}{'here':>25}" + "".join(f"{name:>25}" for name in references),
    ]
    for name, label in labels.items():
        if name in table:
            columns = [table[name], *(reference.get(name) for reference in references.values())]
            lines.append(f"{label:{width}}" + "".join(f"{_cell(one):>25}" for one in columns))
    if measured.mismatched:
        lines.append(mismatch_line(measured.mismatched, len(measured.rows)))
    if measured.damaged:
        lines.append(damage_line(measured.damaged))
    lines += _components(measured)
    if measured.transfer:
        lines.append("photon transfer, variance of green measured over that of the camera file:")
    for (camera, iso), points in by_sensor(measured.transfer).items():
        lines.append(
            f"  {camera} ISO {iso:.0f}: {transfer_ratio(points):.2f} at levels"
            f" {points[0].level:.0f} to {points[-1].level:.0f}"
        )
    return lines


def _components(measured: Measured) -> list[str]:
    """Return the medians of each component of a mixture, in lines."""
    parts = measured.by_component()
    if not parts:
        return []
    tables = [summary(rows) for rows in parts.values()]
    return [
        "\nmedians of each component:",
        f"{'':46}" + "".join(f"{name:>16}" for name in parts),
        f"{'pairs':46}" + "".join(f"{len(rows):>16,}" for rows in parts.values()),
        *(
            f"{label:46}"
            + "".join(f"{_cell(one[name][1] if name in one else None):>16}" for one in tables)
            for name, label in LABELS.items()
            if any(name in one for one in tables)
        ),
        "",
    ]


def _cell(values: Any) -> str:
    if values is None:
        return "-"
    numbers = [values] if isinstance(values, int | float) else list(values)
    texts = [f"{number:.3f}" if abs(number) < 1 else f"{number:.2f}" for number in numbers]
    return " / ".join(texts)
