"""`gloam fit`: a recipe from real lows."""

from __future__ import annotations

from pathlib import Path

import click

from ...errors import ConfigError
from ...storage.atomic import write_bytes
from ...synth.fitting.fit import fit as fit_recipe
from ..common import Bars, user_errors, workers_option


@click.command()
@click.argument("lows", metavar="LOW_DIR", type=click.Path(path_type=Path))
@click.argument("normals", metavar="[NORMAL_DIR]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("fitted.yaml"),
    show_default=True,
    help="Write the recipe to this YAML file.",
)
@click.option(
    "--broad",
    is_flag=True,
    help="Make the recipe to train on: the pairs' tone, noise of 1 to 32 times the variance,"
    " demosaiced in all ways.",
)
@click.option(
    "--distributions",
    is_flag=True,
    help="Write settings, means and covariances in place of a table of the pairs.",
)
@workers_option()
@user_errors
def fit(
    lows: Path,
    normals: Path | None,
    *,
    out: Path,
    broad: bool,
    distributions: bool,
    workers: int,
) -> None:
    """Fit a recipe to real lows: their tone and noise, calibrated by simulation.

    LOW_DIR holds real low-light photographs, NORMAL_DIR their normals (equal names). Says how well
    a classifier tells the recipe's lows from the real ones, and what the lows cannot tell.
    """
    if out.suffix.lower() not in (".yaml", ".yml"):
        raise ConfigError(f"--out {out}: must end in .yaml")
    with Bars() as bars:
        found = fit_recipe(
            lows,
            normals,
            broad=broad,
            distributions=distributions,
            workers=workers,
            progress=bars,
        )
    write_bytes(out, found.yaml(out.stem).encode())
    for line in found.lines():
        click.echo(line)
    click.echo(f"{out}: look at it with gloam preview --recipe {out}")
