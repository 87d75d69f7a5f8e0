"""`gloam cameras`: whose sensors lows can be made with."""

from __future__ import annotations

from pathlib import Path

import click

from ..errors import visible
from ..synth.camera.calibrated_sensors import (
    Calibration,
    iso_range,
    read_cameras,
    shipped_cameras,
)
from .common import PATH


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
    found = {} if file is None else read_cameras(file)
    own = {name: Calibration.model_validate(entry) for name, entry in found.items()}
    for name, camera in (shipped_cameras() | own).items():
        low, high = iso_range(name, own)
        isos = f"ISO {low:g} to {high:g}" + ("" if camera.rows else ", nominal")
        click.echo(visible(f"{name:18} {isos:26} {camera.source}"))
