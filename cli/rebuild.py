"""`gloam rebuild`: a published set from one's own copies of its photographs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..synth.publishing.rebuild import rebuild as rebuild_set
from .common import count_of, paths, sample_name
from .workers import working


@click.command()
@paths(published="PUBLISHED", root="SET")
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="KIND=PATH",
    help="Path of a source of the set, given by its kind or its name; may be repeated.",
)
@working()
def rebuild(published: Path, root: Path, sources: tuple[str, ...], **options: Any) -> str:
    """Rebuild the PUBLISHED set as SET, byte for byte, from your own copies of its photographs.

    After an interruption, run the same command again to continue.
    """
    info = rebuild_set(published, root, sources, **options).info
    count = count_of(sum(info.units.values()), sample_name(info))
    return f"{root}: {count}, every byte as it was published"
