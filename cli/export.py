"""`gloam export`: a set in the other layout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..manifests.sets.info import SetInfo
from ..synth.publishing.export import FORMS, TrainerFormat
from ..synth.publishing.export import export as write_export
from ..synth.publishing.video_files import FORMS as FORMS_OF_VIDEO
from .common import count_of, paths, sample_name
from .workers import working


@click.command()
@paths(origin="SET", root="NEW")
@click.option(
    "--layout",
    type=click.Choice(["files", "shards"]),
    help="Write a set of this layout.  [default: files]",
)
@click.option(
    "--for",
    "for_",
    type=click.Choice(list(FORMS)),
    help="Write the folder that this trainer's own loader reads, and print its settings.",
)
@click.option(
    "--video",
    type=click.Choice(list(FORMS_OF_VIDEO)),
    help="Write the clips of a set as video files. ffv1 is lossless; mp4 is small, for viewing:"
    " its coding destroys the noise.",
)
@click.option(
    "--low-codec",
    type=click.Choice(["png", "jpeg", "none"]),
    default="png",
    help="Codec of the lows made from a live SET; stored lows keep their bytes.",
)
@working()
def export(origin: Path, root: Path, **options: Any) -> str:
    """Write the pairs of SET to NEW, as files or as shards, byte for byte.

    Files are folders of lows and normals, with file lists. After an interruption, run the same
    command again to continue.
    """
    written = write_export(origin, root, **options)
    if isinstance(written, TrainerFormat):
        lines = (f"  {line.replace('{root}', str(root))}" for line in written.lines)
        return "\n".join([f"{root}: the pairs of {origin} for {written.about}", *lines])
    if isinstance(written, SetInfo):
        count = count_of(sum(written.units.values()), sample_name(written))
        return f"{root}: {count} of {origin} as {options['layout'] or 'files'}"
    about = FORMS_OF_VIDEO[options["video"]]
    return f"{root}: {count_of(written, 'clip')} of {origin} as {about}"
