"""`gloam export`: a set in the other layout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..manifests.sets.info import SetInfo
from ..synth.publishing.export import TRAINERS, TrainerFormat
from ..synth.publishing.export import export as write_export
from ..synth.publishing.video_files import CODECS
from .common import count_of, option_of, options_of, paths, sample_name
from .workers import working


@click.command()
@paths(origin="SET", root="NEW")
@options_of(write_export, layout="Write a set of this layout.  [default: files]")
@option_of(
    write_export,
    "for_",
    "Write the folder that this trainer's own loader reads, and print its settings.",
    type=click.Choice(list(TRAINERS)),
)
@options_of(
    write_export,
    video="Write the clips of a set as video files. ffv1 is lossless; mp4 is small, for viewing:"
    " its coding destroys the noise.",
    low_codec="Codec of the lows made from a live SET; stored lows keep their bytes.",
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
    about = CODECS[options["video"]]
    return f"{root}: {count_of(written, 'clip')} of {origin} as {about}"
