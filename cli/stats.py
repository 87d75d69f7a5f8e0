"""`gloam stats`: exposure, field and noise statistics beside those of real sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..storage.atomic import write_bytes
from ..synth.measures.pair_statistics import reference_statistics
from ..synth.measures.set_statistics import read_reference, reference_yaml
from ..synth.measures.set_statistics import stats as measure
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
    lines = measured.lines(references, full=full)
    return {**measured.as_json(), "reference": references}, lines
