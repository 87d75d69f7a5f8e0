"""`gloam leaks`: pictures of one set that are in another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..errors import visible
from ..synth.measures.leaks import leaks as find_leaks
from .common import count_of, json_option, output_option, write_png
from .workers import working


@click.command()
@click.argument("sets", nargs=-1, required=True, metavar="SET|FOLDER|NAME=FOLDER...")
@output_option(
    "--out",
    ".png",
    metavar="FILE",
    help="Also write a sheet with the matches side by side to this PNG.",
)
@json_option
@working(engine=False)
def leaks(sets: tuple[str, ...], *, out: Path | None, **options: Any) -> tuple[Any, list[str]]:
    """Find pictures of one set that another also has, even at another exposure or slightly shifted.

    Mirrored pictures are found, too, those in flat frames or letterboxes, and those that were cut
    by a tenth of their sides. Pictures that were turned, or cut further, are not looked for; nor
    are dark ones with little but a lamp, unless their details agree.

    Give folders of images, gloam's sets, or real ones by name, such as lol-v1=LOLdataset. To keep
    the scenes of a benchmark out of a new set, use gloam build --exclude.
    """
    found = find_leaks(*sets, **options)
    if out is not None and found.pairs:
        write_png(out, found.sheet())
    held = ", ".join(f"{name} {number:,}" for name, number in found.counts.items())
    drawn = "sheet: {out}" if found.pairs else "{out} is not written: nothing to show"
    return found, [
        *(f"{one.distance:2} bits  {visible(one.a)}  {visible(one.b)}" for one in found.pairs),
        *(f"left out: {visible(line)}" for line in found.unreadable),
        f"{count_of(len(found.pairs), 'picture')} in two sets, of {held}",
        *(["bits: how many of 64 differ between their hashes"] if found.pairs else []),
        *([drawn.format(out=out)] if out is not None else []),
    ]
