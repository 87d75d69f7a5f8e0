"""`gloam preview`: look before building."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..synth.measures.contact_sheet import preview as make_sheet
from ..synth.recipes.load import DEFAULT
from .common import (
    PATH,
    option_of,
    options_of,
    output_option,
    overrides_option,
    recipe_names,
    seed_option,
    write_png,
)


@click.command()
@click.argument("photos", metavar="[PHOTO|FOLDER]...", nargs=-1, type=PATH)
@click.option(
    "--recipe",
    "recipes",
    multiple=True,
    metavar="NAME|FILE",
    shell_complete=recipe_names,
    help="Recipe; may be repeated, for one row each. even:0.5,uneven:0.5 is a mixture."
    f"  [default: {DEFAULT}]",
)
@overrides_option("Change one value of the recipes, such as camera.iso=3200.")
@click.option(
    "--grid",
    nargs=2,
    metavar="KEY=A,B,.. KEY=C,D,..",
    help="Vary two values over rows and columns, such as camera.iso=400,1600 exposure.ev=4,6.",
)
@options_of(
    make_sheet,
    frames="Show so many frames of the first four clips, from folders of frames or video files.",
)
@seed_option
@option_of(make_sheet, "width", "Width of each picture, pixels.", type=click.IntRange(64, 2000))
@output_option("--out", ".png", default="sheet.png", help="Write the sheet to this PNG.")
def preview(photos: tuple[Path, ...], recipes: tuple[str, ...], out: Path, **options: Any) -> str:
    """Make a contact sheet of every PHOTO and recipe.

    For each it shows the normal, the low, the brightened low and a close-up at 1:1, with the drawn
    parameters. From a folder it takes the first few photographs, and without a PHOTO some of
    scikit-image's.

    The draw depends on the seed and the file's name. A set draws by the seed and the pair's key, so
    its low of the same photograph differs; gloam.darken(image, recipe, seed=, key=) makes either.
    """
    pictures = make_sheet(photos, recipes or DEFAULT, **options)
    write_png(out, pictures)
    return f"{out}: {pictures.width} x {pictures.height} pixels"
