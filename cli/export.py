"""`gloam export`: a set in the other layout."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from ..engines.by_name import engine_named
from ..synth.building.regenerate import export as export_set
from ..synth.renderers import Device
from .common import Bars, device_option, engine_option, user_errors, workers_option


@click.command()
@click.argument("origin", metavar="SET", type=click.Path(path_type=Path))
@click.argument("root", metavar="NEW", type=click.Path(path_type=Path))
@click.option("--layout", type=click.Choice(["files", "shards"]), default="files", help="Of NEW.")
@click.option(
    "--low-codec",
    type=click.Choice(["png", "jpeg", "none"]),
    default="png",
    help="Of the lows of a live SET, which are made; stored ones stay as they are.",
)
@workers_option("Processes.")
@engine_option
@device_option
@user_errors
def export(
    origin: Path,
    root: Path,
    layout: str,
    low_codec: Literal["png", "jpeg", "none"],
    workers: int,
    engine_name: str,
    device: Device,
) -> None:
    """Write the pairs of SET to NEW, as files or as shards, byte for byte.

    Files are folders of lows and normals, with file lists.

    Run again, it continues where it was stopped.
    """
    engine = engine_named(engine_name, workers)
    with Bars() as bars:
        info = export_set(
            origin,
            root,
            layout,
            workers,
            bars,
            low_codec="jpg" if low_codec == "jpeg" else low_codec,
            device=device,
            engine=engine,
        )
    click.echo(f"{root}: {sum(info.units.values()):,} pairs of {origin} as {layout}")
