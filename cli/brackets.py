"""`gloam brackets`: real pairs from exposure brackets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..synth.brackets.brackets import brackets as make_pairs
from .common import FOLDER, count_of, json_option, option_of, options_of, write_png
from .workers import working


@click.command()
@click.argument("folder", metavar="DIR", type=FOLDER)
@option_of(make_pairs, "out", "Write to this new folder.", metavar="PAIRS", required=True)
@options_of(
    make_pairs,
    normal="Fuse the frames to the normal, or take the one whose mean level is nearest .45.",
    lows="Dark frames of each bracket that become lows.",
)
@json_option
@working(engine=False)
def brackets(folder: Path, *, out: Path, **options: Any) -> tuple[Any, list[str]]:
    """Make real pairs of the exposure brackets in DIR, for fit, mix and judge.

    Take them from a tripod, with your camera's bracketing: three frames and more, from dark to
    bright. Frames are grouped by likeness, time and exposure, and aligned; those in which something
    moved are left out. PAIRS gets low/, normal/, brackets.csv (what became of each frame) and
    brackets.png, a sheet to look at.
    """
    found = make_pairs(folder, out, **options)
    write_png(out / "brackets.png", found.sheet())
    number = len({one.bracket for one in found.uses if one.role != "left out"})
    return found, [
        f"{count_of(len(found.pairs), 'pair')} of {count_of(number, 'bracket')} in {out}",
        *(f"left out: {count_of(n, 'frame')}: {why}" for why, n in found.left_out().items()),
        f"what became of each frame: {out / 'brackets.csv'}; look at {out / 'brackets.png'}",
    ]
