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
    help="Darken these ordinary photographs where there is no NORMAL_DIR; like scenes serve best.",
)
@click.option(
    "--tries",
    type=click.IntRange(min=0),
    default=64,
    show_default=True,
    help="Number of recipes to try, some 20 for each step, from the nearest that gloam ships and"
    " again from one that is made up. 0 makes one up by moments alone.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("fitted.yaml"),
    show_default=True,
    help="Write the recipe to this YAML file.",
)
@workers_option("Number of threads.")
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
