"""`gloam brackets`, real pairs from exposure brackets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..synth.brackets.brackets import brackets as make_pairs
from . import common


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
