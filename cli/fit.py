"""`gloam fit`, a recipe from real lows."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Any

import click

from ..storage.atomic import write_bytes
from ..synth.fitting.fit import fit as fit_recipe
from . import common


@click.command()
@common.paths(lows="LOW_DIR", normals="[NORMAL_DIR]")
@common.output_option(
    "--out",
    ".yaml",
    default="fitted.yaml",
    help="Write the recipe to this YAML file; one that exists is replaced.",
)
@common.options_of(
    fit_recipe,
    broad="Make the recipe to train on: the pairs' tone, noise as at 1 to 32 times their ISO,"
    " demosaiced in all ways.",
    distributions="Write camera settings (as of ISO), means and covariances in place of a table of"
    " the pairs.",
)
@common.brighter_lows_option
@common.working(engine=False)
def fit(lows: Path, normals: Path | None, *, out: Path, **options: Any) -> str:
    """Fit a recipe to real lows: their tone and noise, calibrated by simulation.

    LOW_DIR holds real low-light photographs, NORMAL_DIR their normals (equal names). It prints how
    far real lows and lows made of the same normals differ (it is calibrated where they do not), how
    well a classifier tells the two apart, and what could not be fitted. Beside the recipe it draws
    a sheet of real and made lows, FILE.png.
    """
    found = fit_recipe(lows, normals, **options)
    write_bytes(out, found.yaml(out.stem).encode("utf-8", "backslashreplace"))
    look = f"{out}: look at it with gloam preview --recipe {quote(str(out))}"
    if found.sheet is not None:
        common.write_png(sheet := out.with_suffix(".png"), found.sheet)
        look += f"; real lows, and lows made of the same normals: {sheet}"
    return "\n".join([*found.lines(), look])
