"""`gloam calibrate`: a camera's noise from its raw files."""

from __future__ import annotations

from pathlib import Path

import click

from ..progress import Bars
from ..storage.atomic import write_bytes
from ..synth.calibrating.calibrate import calibrate as calibrate_camera
from ..synth.calibrating.calibrate import draw_calibration
from .common import FOLDER, option_of, output_option


@click.command()
@click.argument("raws", metavar="RAWS", type=FOLDER)
@option_of(calibrate_camera, "name", "Name of the camera.", show_default="what the files say")
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
    with Bars() as bars:
        found = calibrate_camera(raws, name, progress=bars)
    write_bytes(out, found.yaml())
    if figure is not None:
        draw_calibration(found, figure)
    notes = (f"note: {finding}" for finding in found.findings)
    use = f"{out}: use it with gloam build --camera-file {out}"
    return "\n".join([*found.lines(), *notes, use])
