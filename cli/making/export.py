"""`gloam export`: a set in the other layout."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from ...engines.by_name import engine_named
from ...manifests.sets.info import SetInfo
from ...synth.publishing.export import export as write_export
from ...synth.publishing.trainers import FORMS, TrainerForm
from ...synth.publishing.video_files import FORMS as FORMS_OF_VIDEO
from ..common import (
    Bars,
    count_of,
    engine_option,
    sample_name,
    user_errors,
    workers_option,
)


@click.command()
@click.argument("origin", metavar="SET", type=click.Path(path_type=Path))
@click.argument("root", metavar="NEW", type=click.Path(path_type=Path))
@click.option(
    "--layout",
    type=click.Choice(["files", "shards"]),
    help="Write a set of this layout.  [default: files]",
)
@click.option(
    "--for",
    "trainer",
    type=click.Choice(list(FORMS)),
    help=("Write the folder that this trainer's own loader reads, and say what to tell it."),
)
@click.option(
    "--video",
    type=click.Choice(list(FORMS_OF_VIDEO)),
    help=(
        "Write the clips of a set as video files. ffv1 is lossless; mp4 is small and to look at:"
        " its coding destroys the noise."
    ),
)
@click.option(
    "--low-codec",
    type=click.Choice(["png", "jpeg", "none"]),
    default="png",
    help="Codec of the lows that are made of a live SET; stored lows keep their bytes.",
)
@workers_option()
@engine_option
@user_errors
def export(
    origin: Path,
    root: Path,
    layout: Literal["files", "shards"] | None,
    trainer: str | None,
    video: Literal["ffv1", "mp4"] | None,
    low_codec: Literal["png", "jpeg", "none"],
    workers: int,
    *,
    engine_name: str,
) -> None:
    """Write the pairs of SET to NEW, as files or as shards, byte for byte.

    Files are folders of lows and normals, with file lists.

    Run again, it continues where it was stopped.
    """
    engine = engine_named(engine_name, workers)
    with Bars() as bars:
        written = write_export(
            origin,
            root,
            layout=layout,
            for_=trainer,
            video=video,
            low_codec=low_codec,
            workers=workers,
            progress=bars,
            engine=engine,
        )
    if isinstance(written, TrainerForm):
        click.echo(f"{root}: the pairs of {origin} for {written.about}")
        for line in written.lines:
            click.echo("  " + line.replace("{root}", str(root)))
    elif video is not None and isinstance(written, int):
        click.echo(f"{root}: {count_of(written, 'clip')} of {origin} as {FORMS_OF_VIDEO[video]}")
    elif isinstance(written, SetInfo):
        count = count_of(sum(written.units.values()), sample_name(written))
        click.echo(f"{root}: {count} of {origin} as {layout or 'files'}")
