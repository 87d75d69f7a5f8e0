"""`gloam stats`: exposure, field and noise statistics beside those of real sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from ...engines.by_name import engine_named
from ...errors import ConfigError
from ...storage.atomic import write_bytes
from ...synth.analysis.all_statistics import ALL_LABELS
from ...synth.analysis.pair_statistics import LABELS, reference_statistics, summary
from ...synth.analysis.photon_transfer import by_sensor
from ...synth.analysis.references import read_reference, reference_yaml
from ...synth.analysis.set_statistics import Measured
from ...synth.analysis.set_statistics import stats as measure
from ..common import (
    Bars,
    engine_option,
    json_option,
    user_errors,
    workers_option,
)


@click.command()
@click.argument("lows", metavar="SET|LOW_DIR", type=click.Path(path_type=Path))
@click.argument(
    "normals", metavar="[SET|NORMAL_DIR]", required=False, type=click.Path(path_type=Path)
)
@click.option(
    "--pairs",
    type=click.IntRange(min=1),
    default=2000,
    help="Largest number of pairs to measure, evenly spread.",
)
@click.option(
    "--beside",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    help="Compare with this reference, which --save-reference wrote; may be repeated.",
)
@click.option("--full", is_flag=True, help="Also print noise and tone by level and channel.")
@json_option
@click.option(
    "--save-reference",
    "save",
    type=click.Path(path_type=Path),
    help="Also write what is measured to this YAML file, to compare others with.",
)
@workers_option()
@engine_option
@user_errors
def stats(
    lows: Path,
    normals: Path | None,
    pairs: int,
    as_json: bool,
    *,
    save: Path | None,
    beside: tuple[Path, ...],
    full: bool,
    workers: int,
    engine_name: str,
) -> None:
    """Measure how dark, uneven and noisy the pairs of a set are, beside LOL and DICM.

    Or the pairs of two folders (equal names). With LOW_DIR alone, what can be said without normals.
    A set of lows only wants the set beside it that it was made from.
    """
    if save is not None and save.suffix.lower() not in (".yaml", ".yml"):
        raise ConfigError(f"--save-reference {save}: must end in .yaml")
    references = {**reference_statistics(), **dict(read_reference(path) for path in beside)}
    engine = engine_named(engine_name, workers)
    with Bars() as bars:
        measured = measure(
            lows, normals, pairs=pairs, workers=workers, progress=bars, engine=engine
        )
    if save is not None:  # before what may be cut off by whoever reads it
        write_bytes(save, reference_yaml(measured, save.stem))
    if as_json:
        click.echo(json.dumps({**measured.as_json(), "reference": references}, indent=2))
    else:
        _show(measured, references, ALL_LABELS if full else LABELS)


def _show(
    measured: Measured, references: dict[str, dict[str, Any]], labels: dict[str, str]
) -> None:
    table = summary(measured.rows)
    width = 1 + max(len(labels[name]) for name in labels if name in table)
    of_pairs = any("exposure_ev" in row for row in measured.rows)
    what = "pairs" if of_pairs else "images"
    click.echo(f"{len(measured.rows):,} {what}; percentiles 5 / 50 / 95")
    click.echo(f"{'':{width}}{'here':>23}" + "".join(f"{name:>23}" for name in references))
    for name, label in labels.items():
        if name in table:
            columns = [
                _cell(table[name]),
                *(_cell(reference.get(name)) for reference in references.values()),
            ]
            click.echo(f"{label:{width}}" + "".join(f"{column:>23}" for column in columns))
    _show_components(measured)
    if measured.transfer:
        click.echo("photon transfer, variance of green measured over that of the camera file:")
        for (camera, iso), points in by_sensor(measured.transfer).items():
            weight = sum(point.pixels for point in points)
            ratio = sum(point.measured / point.expected * point.pixels for point in points) / weight
            click.echo(
                f"  {camera} ISO {iso:.0f}: {ratio:.2f} at levels {points[0].level:.0f} to"
                f" {points[-1].level:.0f}"
            )


def _show_components(measured: Measured) -> None:
    """Print the medians of each component of a mixture."""
    parts = measured.by_component()
    if not parts:
        return
    click.echo("\nmedians of each component:")
    click.echo(f"{'':46}" + "".join(f"{name:>16}" for name in parts))
    click.echo(f"{'pairs':46}" + "".join(f"{len(rows):>16,}" for rows in parts.values()))
    tables = [summary(rows) for rows in parts.values()]
    for name, label in LABELS.items():
        if any(name in table for table in tables):
            columns = [_cell(table[name][1] if name in table else None) for table in tables]
            click.echo(f"{label:46}" + "".join(f"{column:>16}" for column in columns))
    click.echo()


def _cell(values: Any) -> str:
    if values is None:
        return "-"
    numbers = [values] if isinstance(values, int | float) else list(values)
    texts = [f"{number:.3f}" if abs(number) < 1 else f"{number:.2f}" for number in numbers]
    return " / ".join(texts)
