"""`gloam calibrate`: a camera's noise from its raw files."""

from __future__ import annotations

from pathlib import Path

import click

from ...errors import ConfigError
from ...storage.atomic import write_bytes
from ...synth.calibrating.calibrate import calibrate as calibrate_camera
from ...synth.calibrating.figure import draw_calibration
from ..common import Bars, check_png, user_errors


@click.command()
@click.argument(
    "raws", metavar="RAWS", type=click.Path(path_type=Path, exists=True, file_okay=False)
)
@click.option("--name", default="", show_default="what the files say", help="Name of the camera.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("camera.yaml"),
    show_default=True,
    help="Write the camera to this YAML file.",
)
@click.option(
    "--figure",
    type=click.Path(path_type=Path),
    help="Also draw photon transfer and read noise, PNG; needs matplotlib.",
)
@user_errors
def calibrate(raws: Path, out: Path, name: str, figure: Path | None) -> None:
    """Measure a camera's gain and noise from raw files of the dark and of flat light.

    RAWS is a folder. For each ISO take ten darks (cap on, 1/1000 s) and two flats of each of five
    exposures, from dark to nearly white, of a defocused, evenly lit surface. Which is which is seen
    in the files. Needs: pip install 'gloam[raw]'
    """
    if out.suffix.lower() not in (".yaml", ".yml"):
        raise ConfigError(f"--out {out}: must end in .yaml")
    if figure is not None:
        check_png("--figure", figure)
    with Bars() as bars:
        found = calibrate_camera(raws, name, progress=bars)
    write_bytes(out, found.yaml())
    if figure is not None:
        draw_calibration(found, figure)
    for line in found.lines():
        click.echo(line)
    for finding in found.findings:
        click.echo(f"note: {finding}")
    click.echo(f"{out}: --camera-file {out} of gloam build takes it")
