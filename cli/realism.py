"""`gloam realism`: whether lows can be told from real ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..errors import needed
from ..storage.atomic import write_bytes
from ..synth.measures.realism import realism as find_realism
from .common import (
    brighter_lows_option,
    json_option,
    options_of,
    output_option,
    overrides_option,
    paths,
    recipe_option,
    seed_option,
)
from .workers import working


@click.command()
@paths(lows="REAL_LOW", normals="[REAL_NORMAL]")
@recipe_option("Darken the normals by this recipe, and tell the result from the real lows.")
@overrides_option("Change one value of the recipe, such as camera.iso=3200.")
@options_of(
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
@seed_option
@brighter_lows_option
@json_option
@output_option(
    "--figure",
    ".png",
    help="Also draw the result, with the patches that are easiest to tell, to this PNG.",
)
@working(engine=False)
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
