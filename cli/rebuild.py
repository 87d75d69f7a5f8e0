"""`gloam rebuild`: a published set from one's own copies of its photographs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..synth.publishing.rebuild import rebuild as rebuild_set
from .common import count_of, paths, sample_name, working
from .errors import user_errors


@click.command()
@paths(published="PUBLISHED", root="SET")
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="KIND=PATH",
    help="Read a source of the set, by its kind or its name, from this path; may be repeated.",
)
@user_errors
@working()
def rebuild(published: Path, root: Path, sources: tuple[str, ...], **options: Any) -> str:
    """Make SET again as it was PUBLISHED, byte for byte, of one's own copies of the photographs.

    Run again, it continues where it was stopped.
    """
    info = rebuild_set(published, root, sources, **options).info
    count = count_of(sum(info.units.values()), sample_name(info))
    return f"{root}: {count}, every byte as it was published"
