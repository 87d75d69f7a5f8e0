"""`gloam studio`: find a recipe by eye."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path

import click

from ..synth.measures.contact_sheet import read_photographs
from ..synth.recipes.load import DEFAULT, load_recipe
from ..synth.studio.server import StudioServer
from ..synth.studio.workbench import MOST, Photographs, Workbench
from .common import PATH, count_of, recipe_option


@click.command()
@click.argument("photos", metavar="[PHOTO|FOLDER]...", nargs=-1, type=PATH)
@recipe_option(f"Begin with this recipe.  [default: {DEFAULT}]")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Begin with this random seed.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
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
    named = recipe or DEFAULT
    held = Photographs(read_photographs(photos, 24 if len(photos) <= 1 else 4, MOST))
    bench = Workbench(held, load_recipe(named), named, folder, seed)
    with StudioServer(bench, port) as server:
        click.echo(f"{count_of(len(held), 'photograph')}; open {server.address}")
        click.echo("Ctrl-C ends it; recipes are saved by the page's button alone.")
        screen = sys.stdout.isatty() and (
            sys.platform == "darwin" or bool({"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys())
        )
        if opened or (opened is None and screen):
            webbrowser.open(server.address)
        server.serve_forever()
