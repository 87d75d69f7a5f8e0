"""`gloam recipes`, `sets` and `cameras` list what is known; `calibrate` makes one camera more.

None of them loads what another needs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..errors import visible
from ..progress import Bars
from ..storage.atomic import write_bytes
from .common import FOLDER, PATH, json_option, output_option, overrides_option, recipe_names


class _Recipes(click.Group):
    """Take the name of a recipe alone for `show` and it."""

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands and not args[0].startswith("-"):
            args = ["show", *args]
        return super().resolve_command(context, args)


@click.group(cls=_Recipes, invoke_without_command=True)
@click.pass_context
def recipes(context: click.Context) -> None:
    """List the recipes, or show one: gloam recipes show NAME, or gloam recipes NAME."""
    if context.invoked_subcommand is None:
        from ..synth.recipes.load import DEFAULT, shipped_recipes

        for name, about in shipped_recipes().items():
            marked = name == DEFAULT and "default" not in about
            click.echo(f"{name:15} {about}" + (" [default]" if marked else ""))


@recipes.command()
@click.argument("name", shell_complete=recipe_names)
@overrides_option("Change one value of the recipe, such as camera.iso=3200.")
def show(name: str, overrides: tuple[str, ...]) -> str:
    """Print the recipe NAME with all its values, and what each is and may be.

    NAME is a shipped recipe, or a YAML file.

    The output is a recipe, too: gloam recipes show night-lights > mine.yaml, change it, and gloam
    build --recipe mine.yaml.
    """
    from ..synth.recipes.annotated import annotated_yaml
    from ..synth.recipes.load import load_recipe

    return annotated_yaml(load_recipe(name, overrides)).removesuffix("\n")


_WIDTH, _INDENT = 100, " " * 18


@click.command()
@click.argument("name", required=False)
@json_option
def sets(name: str | None) -> tuple[Any, list[str]]:
    """List the known real sets, or show one: its authors, splits and folder layout.

    gloam.real(NAME, FOLDER, SPLIT) lists their pairs for the loaders.
    """
    from ..manifests.real.real import sets as find_sets
    from ..manifests.real.rules import load_rules

    found = find_sets()
    if name is not None:
        load_rules(name)  # refuses a name that no set has
        found = [one for one in found if one["name"] == name]
    lines = []
    for one in found:
        lines.append(f"{one['name']:18}{one['title']}: {', '.join(one['splits'])}")
        lines.append(click.wrap_text(one["holds"], _WIDTH, _INDENT, _INDENT))
        if name is not None:
            lines += (f"{key:18}{one[key]}" for key in ("paper", "terms", "url", "source"))
            lines += (
                f"{'' if number else 'looks like':18}{path}"
                for number, path in enumerate(one["looks"])
            )
            lines.append(f"""{"load it":18}gloam.real("{name}", FOLDER, "{one["splits"][0]}")""")
    if name is None:
        lines.append("gloam sets NAME: its paper, terms, where it is offered, how its folder looks")
    return found, lines


@click.command()
@click.option(
    "--file", type=PATH, help="Also list the cameras of this file (the format of camera.file)."
)
def cameras(file: Path | None) -> None:
    """List the calibrated cameras, their ISOs, and the source of each calibration.

    A recipe names one by camera.name; camera.iso must be in the listed range. Write your own
    cameras to a YAML file like gloam's (gloam/synth/camera/sensors.yaml of the installed package),
    and use them with --set camera.file=FILE --set camera.name=NAME.
    """
    from ..synth.camera import calibrated_sensors as sensors

    found = {} if file is None else sensors.read_cameras(file)
    own = {name: sensors.Calibration.model_validate(entry) for name, entry in found.items()}
    for name, camera in (sensors.shipped_cameras() | own).items():
        low, high = sensors.iso_range(name, own)
        isos = f"ISO {low:g} to {high:g}" + ("" if camera.rows else ", nominal")
        click.echo(visible(f"{name:18} {isos:26} {camera.source}"))


@click.command()
@click.argument("raws", metavar="RAWS", type=FOLDER)
@click.option("--name", default="", help="Name of the camera.", show_default="what the files say")
@output_option("--out", ".yaml", default="camera.yaml", help="Write the camera to this YAML file.")
@output_option(
    "--figure", ".png", help="Also draw photon transfer and read noise, PNG; needs matplotlib."
)
def calibrate(raws: Path, out: Path, name: str, figure: Path | None) -> str:
    """Measure a camera's gain and noise from raw dark frames and flat fields.

    RAWS is a folder. For each ISO take ten darks (cap on, 1/1000 s) and two flats of each of five
    exposures, from dark to nearly white, of a defocused, evenly lit surface; the files are told
    apart by their contents. Needs: pip install 'gloam[raw]'
    """
    from ..synth.calibrating.calibrate import calibrate as calibrate_camera
    from ..synth.calibrating.calibrate import draw_calibration

    with Bars() as bars:
        found = calibrate_camera(raws, name, progress=bars)
    write_bytes(out, found.yaml())
    if figure is not None:
        draw_calibration(found, figure)
    notes = (f"note: {finding}" for finding in found.findings)
    use = f"{out}: use it with gloam build --camera-file {out}"
    return "\n".join([*found.lines(), *notes, use])
