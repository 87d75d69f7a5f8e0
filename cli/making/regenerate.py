"""`gloam regenerate`: the same pairs with new noise."""

from __future__ import annotations

from pathlib import Path

import click

from ...engines.by_name import engine_named
from ...manifests.selection.plan import SPLITS
from ...synth.building.regenerate import regenerate as regenerate_set
from ..common import (
    Bars,
    count_of,
    engine_option,
    overrides_option,
    recipe_option,
    sample_name,
    user_errors,
    workers_option,
)


@click.command()
@click.argument("origin", metavar="SET", type=click.Path(path_type=Path))
@click.argument("root", metavar="NEW", type=click.Path(path_type=Path))
@recipe_option("Make lows by another recipe; see gloam recipes.  [default: the set's own]")
@overrides_option("Change one value of the recipe, such as camera.iso=6400.")
@click.option(
    "--seed", type=click.IntRange(min=0), help="Random seed of the lows.  [default: the set's own]"
)
@click.option(
    "--val",
    type=click.IntRange(min=0),
    help="Pairs for validation; with nothing else changed, lows stay.  [default: the set's own]",
)
@click.option(
    "--test", type=click.IntRange(min=0), help="Pairs for testing.  [default: the set's own]"
)
@click.option(
    "--low-only",
    is_flag=True,
    help=(
        "Write no normals, to save disk; loaders take them from SET: PairLoader(NEW, normals=SET)."
    ),
)
@workers_option()
@engine_option
@user_errors
def regenerate(
    origin: Path,
    root: Path,
    recipe: str | None,
    overrides: tuple[str, ...],
    seed: int | None,
    val: int | None,
    test: int | None,
    *,
    low_only: bool,
    workers: int,
    engine_name: str,
) -> None:
    """Make NEW with the pairs of SET, but other lows, or other splits (--val, --test).

    Keys, order and normals are the same, and what is not asked for. The sources are not needed.

    Run again with the same options, it continues where it was stopped.
    """
    engine = engine_named(engine_name, workers)
    with Bars() as bars:
        info = regenerate_set(
            origin,
            root,
            recipe,
            overrides,
            seed,
            workers,
            bars,
            val=val,
            test=test,
            lows_only=low_only,
            engine=engine,
        )
    changed = info.build.origin["changed"] if info.build.origin else []
    for line in changed[:10]:
        click.echo(f"  {line}")
    count = count_of(sum(info.units.values()), "low" if low_only else sample_name(info))
    what = (
        f"{count_of(len(changed), 'value')} changed"
        if changed
        else "nothing was changed, so their bytes are those of the set"
    )
    counts = ", ".join(f"{s} {info.counts[s]:,}" for s in SPLITS if s in info.counts)
    click.echo(f"{root}: {count} of {origin} ({counts}); {what}")
