"""`gloam stage`: a set into memory or onto a local disk."""

from __future__ import annotations

from pathlib import Path

import click

from ..manifests.selection.plan import SPLITS
from ..manifests.sets.stage import stage as stage_set
from ..progress import Bars
from .common import count_of, paths


@click.command()
@paths(root="SET", target="FOLDER")
@click.option(
    "--split", type=click.Choice(SPLITS), help="Copy the shards of this split only.  [default: all]"
)
def stage(root: Path, target: Path, split: str | None) -> str:
    """Copy SET to FOLDER, such as /dev/shm/set, checking every byte by its receipts.

    After an interruption, run the same command again to continue. It fails if FOLDER has too little
    space or holds something else.
    """
    with Bars() as bars:
        copied, kept = stage_set(root, target, split, bars)
    return (
        f"{target}: {count_of(copied, 'file')} copied, {kept} were there already, every byte as it"
        " was built"
    )
