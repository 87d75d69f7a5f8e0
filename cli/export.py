"""`gloam export`: a set in the other layout."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from ..synth.building.regenerate import export as export_set
from .common import Bars, default_workers, user_errors


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
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=default_workers,
    show_default="all cores",
    help="Processes.",
)
@user_errors
def export(
    origin: Path, root: Path, layout: str, low_codec: Literal["png", "jpeg", "none"], workers: int
) -> None:
    """Write the pairs of SET to NEW, as files or as shards, byte for byte.

    Files are folders of lows and normals, with file lists.

    Run again, it continues where it was stopped.
    """
    with Bars() as bars:
        info = export_set(
            origin,
            root,
            layout,
            workers,
            bars,
            low_codec="jpg" if low_codec == "jpeg" else low_codec,
        )
    click.echo(f"{root}: {sum(info.units.values()):,} pairs of {origin} as {layout}")
