"""`gloam export`: a set in the other layout."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from ...engines.by_name import engine_named
from ...errors import ConfigError
from ...synth.building.regenerate import export as export_set
from ...synth.publishing.export_for import export_for
from ...synth.publishing.trainers import FORMS
from ...synth.publishing.video_files import FORMS as FORMS_OF_VIDEO
from ...synth.publishing.video_files import export_videos
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
@click.option("--layout", type=click.Choice(["files", "shards"]), help="Of NEW.  [default: files]")
@click.option(
    "--for",
    "trainer",
    type=click.Choice(list(FORMS)),
    help=(
        "Write what a trainer's own loader reads, instead of a set; what to tell it is said at the"
        " end."
    ),
)
@click.option(
    "--video",
    type=click.Choice(list(FORMS_OF_VIDEO)),
    help=(
        "Of a set of clips: video files instead of a set. ffv1 is lossless; mp4 is small and to"
        " look at: its coding destroys the noise."
    ),
)
@click.option(
    "--low-codec",
    type=click.Choice(["png", "jpeg", "none"]),
    default="png",
    help="Of the lows of a live SET, which are made; stored ones stay as they are.",
)
@workers_option("Processes.")
@engine_option
@user_errors
def export(
    origin: Path,
    root: Path,
    layout: str | None,
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
    if sum(one is not None for one in (trainer, layout, video)) > 1:
        raise ConfigError("--for, --video and --layout exclude each other: give one of them")
    if video is not None:
        with Bars() as bars:
            clips = export_videos(origin, root, video, workers, bars, engine=engine)
        click.echo(f"{root}: {count_of(clips, 'clip')} of {origin} as {FORMS_OF_VIDEO[video]}")
        return
    if trainer is not None:
        with Bars() as bars:
            form = export_for(origin, root, trainer, workers, bars, engine=engine)
        click.echo(f"{root}: the pairs of {origin} for {form.about}")
        for line in form.lines:
            click.echo("  " + line.replace("{root}", str(root)))
        return
    with Bars() as bars:
        info = export_set(
            origin,
            root,
            layout or "files",
            workers,
            bars,
            low_codec="jpg" if low_codec == "jpeg" else low_codec,
            engine=engine,
        )
    count = count_of(sum(info.units.values()), sample_name(info))
    click.echo(f"{root}: {count} of {origin} as {layout or 'files'}")
