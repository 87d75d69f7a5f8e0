"""`gloam verify`, whether a set is still what was built, and `stage`, a checked copy of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from ..errors import visible
from ..manifests.selection.plan import SPLITS
from ..manifests.sets.info import EDITABLE
from ..manifests.sets.pair_set import open_set
from ..manifests.sets.stage import stage as stage_set
from ..progress import Bars
from ..synth.building.verify import verify as find_problems
from ..synth.publishing.unit_by_unit import MARK, verify_export
from .common import PATH, count_of, option_of, options_of, paths, sample_name, working
from .ending import USER_ERROR


@click.command()
@click.argument("root", metavar="SET", type=PATH)
@options_of(
    find_problems,
    quick="Compare sizes only, not checksums.",
    deep="Also make every low again from its normal and its draw, and compare pixels.",
    strict="Count foreign files as damage, not as remarks.",
)
@option_of(
    find_problems,
    "normals",
    "With --deep, for a set of lows only: the set that holds its normals.",
    metavar="SET",
)
@working()
def verify(root: Path, normals: Path | None, *, progress: Bars, **options: Any) -> str:
    """Check that SET is complete and unchanged: receipts, checksums, indexes, every pair.

    Every problem is named, with its remedy. The exit code is 0 if there is none.
    """
    if (root / MARK).is_file():  # what gloam export --for or gloam publish wrote
        progress.stage("checking", None)
        damage, others = verify_export(root, progress.at, options["strict"])
        _print_problems(root, damage, progress, [f"remark: {root}/{one}" for one in others])
        return f"{root}: an export; every byte is as it was written"
    pairs = open_set(root, normals)
    problems = find_problems(pairs, progress=progress, **options)
    remarks = [f"remark: {root}/{one}" for one in problems if one.remark]
    _print_problems(root, [str(one) for one in problems if not one.remark], progress, remarks)
    how = "sizes agree" if options["quick"] else "every byte is as it was written"
    if options["deep"]:
        how += (
            ", every draw is that of recipe, seed and key"
            if pairs.live
            else ", every low is what its normal and draw make"
        )
    edited = (name for name in EDITABLE if (pairs.root / name).is_file())
    how += "".join(f" ({name} may be edited)" for name in edited)
    shards = count_of(len(pairs.info.units), "shard")
    return f"{root}: {count_of(len(pairs), sample_name(pairs.info))} in {shards}: {how}"


def _print_problems(root: Path, damage: list[str], bars: Bars, remarks: list[str]) -> None:
    """Print what was found; damage ends the command."""
    bars.close()
    lines = [*(f"{root}/{one}" for one in damage), *remarks]
    if damage:
        lines.append(f"{root}: {count_of(len(damage), 'problem')}")
    for line in lines:
        click.echo(visible(line))
    if damage:
        sys.exit(USER_ERROR)


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
