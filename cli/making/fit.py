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
    "--photos",
    type=click.Path(path_type=Path),
    help="Without normals: ordinary photographs to darken, of scenes like those of the lows.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("fitted.yaml"),
    show_default=True,
    help="The recipe to write.",
)
@click.option(
    "--tries",
    type=click.IntRange(min=0),
    default=64,
    show_default=True,
    help="Recipes that are tried to move all parameters at once, some 20 for each step: of the"
    " nearest that gloam ships, and again of one that is made up. 0 makes one up by moments alone.",
)
@workers_option("Threads.")
@user_errors
def fit(
    lows: Path, normals: Path | None, photos: Path | None, *, out: Path, tries: int, workers: int
) -> None:
    """Find a recipe whose lows have the statistics of real ones.

    LOW_DIR holds real low-light photographs, NORMAL_DIR their normals (equal names). It takes the
    nearest of gloam's own recipes, moves it as far as the lows give reason to, or makes one up; and
    says how near each statistic came, and what the lows cannot tell.
    """
    if out.suffix.lower() not in (".yaml", ".yml"):
        raise ConfigError(f"--out {out}: must end in .yaml")
    with Bars() as bars:
        found = fit_recipe(lows, normals, photos, workers=workers, tries=tries, progress=bars)
    write_bytes(out, found.yaml(out.stem).encode())
    for line in found.lines():
        click.echo(line)
    for warning in found.warnings:
        click.echo(f"note: {warning}")
    click.echo(f"{out}: look at it with gloam preview --recipe {out}")
