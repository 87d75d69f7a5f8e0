"""`gloam preview`, a look before building, and `studio`, a recipe found by eye."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path
from typing import Any

import click

from ..synth.measures import WIDTH
from ..synth.recipes import DEFAULT
from . import common


@click.command()
@click.argument("photos", metavar="[PHOTO|FOLDER]...", nargs=-1, type=common.PATH)
@click.option(
    "--recipe",
    "recipes",
    multiple=True,
    metavar="NAME|FILE",
    shell_complete=common.recipe_names,
    help="Recipe; may be repeated, for one row each. even:0.5,uneven:0.5 is a mixture."
    f"  [default: {DEFAULT}]",
)
@common.overrides_option("Change one value of the recipes, such as camera.iso=3200.")
@click.option(
    "--grid",
    nargs=2,
    metavar="KEY=A,B,.. KEY=C,D,..",
    help="Vary two values over rows and columns, such as camera.iso=400,1600 exposure.ev=4,6.",
)
@click.option(
    "--frames",
    type=click.IntRange(1),
    help="Show so many frames of the first four clips, from folders of frames or video files.",
)
@common.seed_option
@click.option(
    "--width", type=click.IntRange(64, 2000), default=WIDTH, help="Width of each picture, pixels."
)
@common.output_option("--out", ".png", default="sheet.png", help="Write the sheet to this PNG.")
def preview(photos: tuple[Path, ...], recipes: tuple[str, ...], out: Path, **options: Any) -> str:
    """Make a contact sheet of every PHOTO and recipe.

    For each it shows the normal, the low, the brightened low and a close-up at 1:1, with the drawn
    parameters. From a folder it takes the first few photographs, and without a PHOTO some of
    scikit-image's.

    The draw depends on the seed and the file's name. A set draws by the seed and the pair's key, so
    its low of the same photograph differs; gloam.darken(image, recipe, seed=, key=) makes either.
    """
    from ..synth.measures.contact_sheet import preview as make_sheet  # later than help is there

    pictures = make_sheet(photos, recipes or DEFAULT, **options)
    common.write_png(out, pictures)
    return f"{out}: {pictures.width} x {pictures.height} pixels"


@click.command()
@click.argument("photos", metavar="[PHOTO|FOLDER]...", nargs=-1, type=common.PATH)
@common.recipe_option(f"Begin with this recipe.  [default: {DEFAULT}]")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Begin with this random seed.")
@click.option(
    "--folder",
    type=common.FOLDER,
    default=Path(),
    show_default="this one",
    help="Save recipes in this folder.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default="any",
    help="Port to listen on.",
)
@click.option(
    "--open/--no-open",
    "opened",
    default=None,
    help="Open the page in a browser.  [default: if there is a screen]",
)
def studio(
    photos: tuple[Path, ...],
    recipe: str | None,
    *,
    seed: int,
    folder: Path,
    port: int,
    opened: bool | None,
) -> None:
    """Find a recipe on a page: every parameter as a control, the low beside the normal.

    The page is served to this machine only, under a secret address. Only its button Save writes
    files. From a folder it shows the first 24 photographs, and without a PHOTO some of
    scikit-image's. Ctrl-C ends it. Lows are those of gloam.darken with the key "image"; a set draws
    by each pair's own key, so its lows differ.
    """
    from ..synth.measures.contact_sheet import read_photographs  # later than help is there
    from ..synth.recipes.load import load_recipe
    from ..synth.studio.server import StudioServer
    from ..synth.studio.workbench import MOST, Photographs, Workbench

    named = recipe or DEFAULT
    held = Photographs(read_photographs(photos, 24 if len(photos) <= 1 else 4, MOST))
    bench = Workbench(held, load_recipe(named), named, folder, seed)
    with StudioServer(bench, port) as server:
        click.echo(f"{common.count_of(len(held), 'photograph')}; open {server.address}")
        click.echo("Ctrl-C ends it; recipes are saved by the page's button alone.")
        screen = sys.stdout.isatty() and (
            sys.platform == "darwin" or bool({"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys())
        )
        if opened or (opened is None and screen):
            webbrowser.open(server.address)
        server.serve_forever()
