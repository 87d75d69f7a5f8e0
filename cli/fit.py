"""`gloam fit`, a recipe from real lows, and `brackets`, real pairs from exposure brackets."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Any

import click

from ..storage.atomic import write_bytes
from ..synth.brackets.brackets import brackets as make_pairs
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


@click.command()
@click.argument("folder", metavar="DIR", type=common.FOLDER)
@common.option_of(make_pairs, "out", "Write to this new folder.", metavar="PAIRS", required=True)
@common.options_of(
    make_pairs,
    normal="Fuse the frames to the normal, or take the one whose mean level is nearest .45.",
    lows="Dark frames of each bracket that become lows.",
)
@common.json_option
@common.working(engine=False)
def brackets(folder: Path, *, out: Path, **options: Any) -> tuple[Any, list[str]]:
    """Make real pairs of the exposure brackets in DIR, for fit, mix and judge.

    Take them from a tripod, with your camera's bracketing: three frames and more, from dark to
    bright. Frames are grouped by likeness, time and exposure, and aligned; those in which something
    moved are left out. PAIRS gets low/, normal/, brackets.csv (what became of each frame) and
    brackets.png, a sheet to look at.
    """
    found = make_pairs(folder, out, **options)
    common.write_png(out / "brackets.png", found.sheet())
    number = len({one.bracket for one in found.uses if one.role != "left out"})
    return found, [
        f"{common.count_of(len(found.pairs), 'pair')} of {common.count_of(number, 'bracket')}"
        f" in {out}",
        *(f"left out: {common.count_of(n, 'frame')}: {why}" for why, n in found.left_out().items()),
        f"what became of each frame: {out / 'brackets.csv'}; look at {out / 'brackets.png'}",
    ]
