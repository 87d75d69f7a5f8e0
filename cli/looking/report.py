"""`gloam report`: a set as one page to look at."""

from __future__ import annotations

from pathlib import Path

import click

from ...engines.by_name import engine_named
from ...synth.reporting.report import report as write_report
from ..common import Bars, engine_option, user_errors, workers_option


@click.command()
@click.argument("first", metavar="SET|LOW_DIR", type=click.Path(path_type=Path))
@click.argument(
    "second", metavar="[SET|NORMAL_DIR]", required=False, type=click.Path(path_type=Path)
)
@click.option(
    "--normals",
    type=click.Path(path_type=Path),
    help="Take the normals of sets of lows only from this set.",
)
@click.option(
    "--pairs",
    type=click.IntRange(min=1),
    default=600,
    show_default=True,
    help="Largest number of pairs to measure of each, evenly spread.",
)
@click.option(
    "--beside",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    metavar="FILE|FOLDER",
    help="Compare with this reference, which gloam stats --save-reference wrote; or tell the lows"
    " from those of this folder of real lows, or of low/ and normal/. May be repeated.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("report.html"),
    show_default=True,
    help="Write the page to this file.",
)
@workers_option()
@engine_option
@user_errors
def report(
    first: Path,
    second: Path | None,
    *,
    normals: Path | None,
    pairs: int,
    out: Path,
    beside: tuple[Path, ...],
    workers: int,
    engine_name: str,
) -> None:
    """Write a page about a set: what it is, checks, statistics, pictures.

    It is one file that asks for nothing from anywhere. Two sets are shown beside each other, as are
    the pairs of two folders (equal names).
    """
    engine = engine_named(engine_name, workers)
    with Bars() as bars:
        checks = write_report(
            first,
            second,
            out=out,
            normals=normals,
            pairs=pairs,
            beside=beside,
            workers=workers,
            progress=bars,
            engine=engine,
        )
    failed = sum(not check.passed for check in checks)
    said = "all passed" if not failed else f"{failed} to look at"
    click.echo(f"{out}: {out.stat().st_size / 1e6:.1f} MB; {len(checks)} checks, {said}")
