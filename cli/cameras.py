"""`gloam cameras`, whose sensors lows can be made with; `calibrate`, one more from raw files.

Neither loads what the other needs.
"""

from __future__ import annotations

from pathlib import Path

import click

from ..errors import visible
from ..progress import Bars
from ..storage.atomic import write_bytes
from .common import FOLDER, PATH, output_option


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
    from ..synth.camera.calibrated_sensors import iso_range, shipped_cameras
    from ..synth.camera.calibration import Calibration, read_cameras

    found = {} if file is None else read_cameras(file)
    own = {name: Calibration.model_validate(entry) for name, entry in found.items()}
    for name, camera in (shipped_cameras() | own).items():
        low, high = iso_range(name, own)
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
