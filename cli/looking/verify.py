"""`gloam verify`: whether a set is still what was built."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ...engines.by_name import engine_named
from ...manifests.sets.info import EDITABLE
from ...manifests.sets.pair_set import open_set
from ...manifests.sets.verify import Problem, verify_set
from ...storage.stores import as_path
from ...synth.publishing.unit_by_unit import MARK, verify_export
from ..common import (
    USER_ERROR,
    Bars,
    count_of,
    engine_option,
    sample_name,
    user_errors,
    workers_option,
)


@click.command()
@click.argument("root", metavar="SET", type=click.Path(path_type=Path))
@click.option("--quick", is_flag=True, help="Compare sizes only, not checksums.")
@click.option(
    "--deep",
    is_flag=True,
    help="Also make every low again from its normal and its draw, and compare pixels.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Count files that are not of the set as damage, too, not as remarks.",
)
@click.option(
    "--normals",
    metavar="SET",
    type=click.Path(path_type=Path),
    help="Take the normals of a set of lows only from this set, for --deep.",
)
@workers_option()
@engine_option
@user_errors
def verify(
    root: Path,
    quick: bool,
    deep: bool,
    *,
    strict: bool,
    normals: Path | None,
    workers: int,
    engine_name: str,
) -> None:
    """Check that SET is complete and unchanged: receipts, checksums, indexes, every pair.

    Every problem is named, and what mends it. Exits with 0 only when there is none.
    """
    if (as_path(root) / MARK).is_file():
        _verify_export(as_path(root))
        return
    engine = engine_named(engine_name, workers)
    with Bars() as bars:
        pairs = open_set(root, normals)
        bars.stage("checking", len(pairs.info.units))
        problems = verify_set(pairs, quick, bars.at, strict, engine=engine)
        if deep and not _damage(problems):
            from ...synth.building.deep_verify import recheck_set

            bars.stage("comparing", len(pairs))
            problems += recheck_set(pairs, workers, bars.at, engine=engine)
    for problem in problems:
        click.echo(("remark: " if problem.remark else "") + f"{root}/{problem}")
    damage = _damage(problems)
    if damage:
        click.echo(f"{root}: {count_of(damage, 'problem')}")
        sys.exit(USER_ERROR)
    how = "sizes agree" if quick else "every byte is as it was written"
    if deep:
        how += (
            ", every draw is that of recipe, seed and key"
            if pairs.live
            else ", every low is what its normal and draw make"
        )
    how += "".join(
        f" ({name} is anybody's to edit)" for name in EDITABLE if (pairs.root / name).is_file()
    )
    shards = count_of(len(pairs.info.units), "shard")
    click.echo(f"{root}: {count_of(len(pairs), sample_name(pairs.info))} in {shards}: {how}")


def _verify_export(root: Path) -> None:
    """Check what `gloam export --for` wrote."""
    with Bars() as bars:
        bars.stage("checking", None)
        problems = list(verify_export(root, bars.at))
    for problem in problems:
        click.echo(f"{root}/{problem}")
    if problems:
        click.echo(f"{root}: {count_of(len(problems), 'problem')}")
        sys.exit(USER_ERROR)
    click.echo(f"{root}: an export; every byte is as it was written")


def _damage(problems: list[Problem]) -> int:
    return sum(not problem.remark for problem in problems)
