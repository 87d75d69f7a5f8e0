"""`gloam fit`: a recipe from real lows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..storage.atomic import write_bytes
from ..synth.fitting.fit import fit as fit_recipe
from .common import PATH, check_suffix, user_errors, working


@click.command()
@click.argument("lows", metavar="LOW_DIR", type=PATH)
@click.argument("normals", metavar="[NORMAL_DIR]", required=False, type=PATH)
@click.option(
    "--photos",
    type=PATH,
    help="Darken these ordinary photographs where there is no NORMAL_DIR; like scenes serve best.",
)
@click.option(
    "--tries",
    type=click.IntRange(min=0),
    default=64,
    help="Number of recipes to try, some 20 for each step, from the nearest that gloam ships and"
    " again from one that is made up. 0 makes one up by moments alone.",
)
@click.option("--out", type=PATH, default="fitted.yaml", help="Write the recipe to this YAML file.")
@user_errors
@working(engine=False, help_text="Number of threads.")
def fit(lows: Path, normals: Path | None, photos: Path | None, *, out: Path, **options: Any) -> str:
    """Find a recipe whose lows have the statistics of real ones.

    LOW_DIR holds real low-light photographs, NORMAL_DIR their normals (equal names). It takes the
    nearest of gloam's own recipes, moves it as far as the lows give reason to, or makes one up; and
    says how near each statistic came, and what the lows cannot tell.
    """
    check_suffix("--out", out, ".yaml")
    found = fit_recipe(lows, normals, photos, **options)
    write_bytes(out, found.yaml(out.stem).encode())
    notes = (f"note: {warning}" for warning in found.warnings)
    last = f"{out}: look at it with gloam preview --recipe {out}"
    return "\n".join([*found.lines(), *notes, last])
