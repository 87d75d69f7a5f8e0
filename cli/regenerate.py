"""`gloam regenerate`: the same pairs with new noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..manifests.selection.plan import SPLITS, PlanOptions
from ..synth.building.regenerate import regenerate as regenerate_set
from .common import count_of, field_option, overrides_option, paths, recipe_option, sample_name
from .workers import working


@click.command()
@paths(origin="SET", root="NEW")
@recipe_option("Make lows by another recipe; see gloam recipes.  [default: the set's own]")
@overrides_option("Change one value of the recipe, such as camera.iso=6400.")
@field_option(PlanOptions, "seed", help="Random seed of the lows.  [default: the set's own]")
@field_option(
    PlanOptions,
    "val",
    help="Pairs for validation; with nothing else changed, lows stay.  [default: the set's own]",
)
@field_option(PlanOptions, "test", help="Pairs for testing.  [default: the set's own]")
@click.option(
    "--lows-only",
    "--low-only",
    is_flag=True,
    help="Write no normals, to save disk space; loaders take them from SET: PairLoader(NEW,"
    " normals=SET).",
)
@working()
def regenerate(origin: Path, root: Path, lows_only: bool, **options: Any) -> str:
    """Make NEW from the pairs of SET, with other lows or other splits (--val, --test).

    Keys, order and normals stay, and so does everything that no option changes. The sources are not
    needed. After an interruption, run the same command again to continue.
    """
    info = regenerate_set(origin, root, lows_only=lows_only, **options)
    changed = info.build.origin["changed"] if info.build.origin else []
    count = count_of(sum(info.units.values()), "low" if lows_only else sample_name(info))
    what = (
        f"{count_of(len(changed), 'value')} changed"
        if changed
        else "nothing was changed, so their bytes are those of the set"
    )
    counts = ", ".join(f"{s} {info.counts[s]:,}" for s in SPLITS if s in info.counts)
    # Another recipe's name says enough, whose values gloam recipes shows.
    of_recipe = [line for line in changed if line.startswith("recipe.")]
    named = [line for line in of_recipe if line.startswith("recipe.name: ")]
    shown = [line for line in changed if line not in of_recipe] + (named or of_recipe)
    lines = [f"  {line}" for line in shown[:10]]
    if len(shown) > 10:
        lines.append(f"  and {len(shown) - 10:,} more")
    return "\n".join([*lines, f"{root}: {count} of {origin} ({counts}); {what}"])
