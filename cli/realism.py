"""`gloam realism`, whether lows are told from real ones; `leaks`, pictures that two sets have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..errors import needed, visible
from ..storage.atomic import write_bytes
from ..synth.measures.leaks import leaks as find_leaks
from ..synth.measures.realism import realism as find_realism
from . import common


@click.command()
@common.paths(lows="REAL_LOW", normals="[REAL_NORMAL]")
@common.recipe_option("Darken the normals by this recipe, and tell the result from the real lows.")
@common.overrides_option("Change one value of the recipe, such as camera.iso=3200.")
@common.options_of(
    find_realism,
    against="Compare the lows of this folder, not a recipe's; REAL_NORMAL has equal names.",
    photos="Without REAL_NORMAL: darken these ordinary photographs; similar scenes serve best.",
    pairs="Largest number of pairs to compare, evenly spread.",
)
@click.option(
    "--protocol",
    multiple=True,
    type=click.Choice(["noiseflow", "naflow", "nmflow", "akld", "gans"]),
    help="Also compare noise as these papers do: of pairs of equal exposure.",
)
@common.seed_option
@common.brighter_lows_option
@common.json_option
@common.output_option(
    "--figure",
    ".png",
    help="Also draw the result, with the patches that are easiest to tell, to this PNG.",
)
@common.working(engine=False)
def realism(
    lows: Path, normals: Path | None, *, figure: Path | None, **options: Any
) -> tuple[Any, list[str]]:
    """Measure how well a classifier tells a recipe's lows from real ones, and by what.

    REAL_LOW holds real low-light photographs, REAL_NORMAL their normals (equal names), which the
    recipe darkens. The classifier is trained on two thirds of the scenes, with features of noise,
    tone and random filters, and tested on the last third; 50 % correct means that they cannot be
    told apart. The figure rises with the pairs that are learned from: figures of a quarter, half
    and all of them are given. With normals, differences between real lows and the recipe's come
    first. Needs: pip install 'gloam[realism]'
    """
    if figure is not None:
        plotted = needed("gloam.synth.measures.figure", "--figure needs matplotlib", "figures")
    found = find_realism(lows, normals, **options)
    if figure is not None:
        write_bytes(figure, plotted.realism_figure(found))
    return found, [*found.lines(), *([] if figure is None else [f"figure: {figure}"])]


@click.command()
@click.argument("sets", nargs=-1, required=True, metavar="SET|FOLDER|NAME=FOLDER...")
@common.output_option(
    "--out",
    ".png",
    metavar="FILE",
    help="Also write a sheet with the matches side by side to this PNG.",
)
@common.json_option
@common.working(engine=False)
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
        common.write_png(out, found.sheet())
    held = ", ".join(f"{name} {number:,}" for name, number in found.counts.items())
    drawn = "sheet: {out}" if found.pairs else "{out} is not written: nothing to show"
    return found, [
        *(f"{one.distance:2} bits  {visible(one.a)}  {visible(one.b)}" for one in found.pairs),
        *(f"left out: {visible(line)}" for line in found.unreadable),
        f"{common.count_of(len(found.pairs), 'picture')} in two sets, of {held}",
        *(["bits: how many of 64 differ between their hashes"] if found.pairs else []),
        *([drawn.format(out=out)] if out is not None else []),
    ]
