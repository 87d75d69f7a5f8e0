"""`gloam stats`, statistics beside those of real sets, and `report`, a set as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..errors import ConfigError
from ..storage.atomic import write_bytes
from ..synth.measures.checks import Check
from ..synth.measures.pair_statistics import reference_statistics
from ..synth.measures.report import report as write_report
from ..synth.measures.set_statistics import read_reference, reference_yaml
from ..synth.measures.set_statistics import stats as measure
from . import common


@click.command()
@common.paths(lows="SET|LOW_DIR", normals="[SET|NORMAL_DIR]")
@common.options_of(measure, pairs="Largest number of pairs to measure, evenly spread.")
@click.option(
    "--beside",
    multiple=True,
    type=common.EXISTING,
    help="Compare with this file, written by --save-reference; may be repeated.",
)
@common.brighter_lows_option
@click.option("--full", is_flag=True, help="Also print noise and tone by level and channel.")
@common.json_option
@common.output_option(
    "--save-reference",
    ".yaml",
    help="Also write the statistics to this YAML file, as a reference for --beside.",
)
@common.working()
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


@click.command()
@common.paths(first="SET|LOW_DIR|MIX.yaml", second="[SET|NORMAL_DIR]")
@common.options_of(
    write_report,
    normals="For sets of lows only: the set that holds their normals.",
    pairs="Largest number of pairs to measure of each, evenly spread.",
)
@common.brighter_lows_option
@click.option(
    "--beside",
    multiple=True,
    type=common.EXISTING,
    metavar="FILE|FOLDER",
    help="Compare with this reference, which gloam stats --save-reference wrote; or tell the lows"
    " from those of this folder of real lows, or of low/ and normal/. May be repeated.",
)
@common.output_option("--out", default="report.html", help="Write the page to this file.")
@common.working()
def report(first: Path, second: Path | None, out: Path, **options: Any) -> str:
    """Write a page about a set: facts, checks, statistics, pictures.

    The page is one HTML file that loads nothing else. Give one set, two sets to compare, or two
    folders of images with equal names. For a mixture (a YAML file) the page measures pairs as
    training gets them, with medians of each component.
    """
    if first.suffix in (".yaml", ".yml"):
        checks = _on_mixture(first, second, out, options)
    else:
        checks = write_report(first, second, out=out, **options)
    failed = [f"{check.name}: {check.found}" for check in checks if not check.passed]
    said = "all passed" if not failed else f"{len(failed)} to look at"
    size = out.stat().st_size / 1e6
    return "\n".join([*failed, f"{out}: {size:.1f} MB; {len(checks)} checks, {said}"])


def _on_mixture(path: Path, second: Path | None, out: Path, options: dict[str, Any]) -> list[Check]:
    if second is not None or options.pop("normals") is not None:
        raise ConfigError(f"{path}: a mixture is reported on alone; leave out what else is given")
    try:
        from ..loaders.mixture_report import report_mixture
    except ImportError as error:
        what = f"gloam report of a mixture needs PyTorch: {error}; pip install 'gloam[torch]'"
        raise ConfigError(what) from error
    return report_mixture(path, out=out, **options)
