"""`gloam build`, photographs to a finished set, and `regenerate`, the same pairs with new noise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ..engines.engine import Engine
from ..errors import ConfigError
from ..manifests.recorded_request import OutputOptions
from ..manifests.selection.plan import SPARE, SPLITS, PlanOptions
from ..manifests.sources import KINDS, Source, format_counts
from ..progress import Bars
from ..synth.building.build import Report, Task, build_request, build_task, make_request
from ..synth.building.regenerate import regenerate as regenerate_set
from ..synth.building.request import Request
from ..synth.measures.leaks import EXCLUDED
from ..synth.recipes.load import DEFAULT
from . import common
from .common import count_of, sample_name


@click.command()
@click.argument("root", metavar="SET", type=common.PATH)
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="KIND=PATH[@LIST][:LIMIT]",
    # Shells complete the path behind the kind by themselves.
    shell_complete=lambda context, option, begun: [f"{k}=" for k in KINDS if k.startswith(begun)],
    help=f"Source of photographs; may be repeated. Kinds: {', '.join(KINDS)}. LIST is an image list"
    " inside a voc or coco source, LIMIT the largest number of its pairs. 'sample' needs no path. "
    " [default: sample]",
)
@click.option(
    "--config",
    type=common.PATH,
    help="Read all options from this YAML file; options given here override it.",
)
@common.field_option(PlanOptions, "pairs")
@common.field_option(PlanOptions, "val", shown=False)
@common.field_option(PlanOptions, "test")
@common.recipe_option(f"Make lows by this recipe; see gloam recipes.  [default: {DEFAULT}]")
@common.overrides_option(
    "Change one value of the recipe, such as camera.iso=3200 or 'exposure.ev=uniform(3,8)'."
)
@common.camera_file_option
@common.field_option(PlanOptions, "seed")
@common.field_option(OutputOptions, "layout")
@common.field_option(PlanOptions, "shard_size")
@common.field_option(
    OutputOptions,
    "low_codec",
    type=click.Choice(["png", "jpeg", "jpg", "none"]),
    metavar="[png|jpeg|none]",
)
@common.field_option(OutputOptions, "low_quality")
@common.field_option(OutputOptions, "low_chroma")
@common.field_option(OutputOptions, "max_side")
@common.field_option(OutputOptions, "max_pixels")
@click.option(
    "--profile",
    type=common.PATH,
    help="YAML file with the bounds on suitable photographs.  [default: gloam's own]",
)
@common.field_option(Source, "frames", shown=False, type=click.IntRange(min=1))
@common.field_option(Source, "stride")
@common.field_option(Source, "step", shown=False, type=click.IntRange(min=1))
@common.field_option(OutputOptions, "labels")
@click.option(
    "--exclude",
    "--not-like",
    multiple=True,
    metavar="SET|FOLDER|NAME=FOLDER",
    help="Leave out photographs of this set's scenes, such as a benchmark's; may be repeated."
    " Photographs in frames, or of which its pictures are smaller parts, are not looked for.",
)
@click.option("--no-select", is_flag=True, help="Take every photograph that can be read.")
@click.option(
    "--cache",
    type=common.PATH,
    help="Keep measurements of photographs in this folder, for later builds.",
)
@common.field_option(OutputOptions, "name")
@click.option(
    "--max-refused",
    default="100%",
    metavar="SHARE",
    callback=lambda context, option, value: _parse_share(value),
    help="Largest share of pairs that may fail, such as 1%; with more the set is left unfinished.",
)
@click.option(
    "--task-index",
    type=click.IntRange(min=0),
    help="Make only the shards of this task, 0 to N-1; see --task-count.",
)
@click.option(
    "--task-count",
    type=click.IntRange(min=1),
    help="Number of tasks, N, that share the build on one file system; to finish the set, run"
    " without both options.",
)
@common.working()
def build(
    root: Path,
    sources: tuple[str, ...],
    *,
    progress: Bars,
    engine: Engine,
    workers: int,
    cache: Path | None,
    max_refused: float,
    task_index: int | None,
    task_count: int | None,
    camera_file: Path | None,
    overrides: tuple[str, ...],
    no_select: bool,
    **options: Any,
) -> str:
    """Make SET, a folder of low/normal pairs, from photographs.

    After an interruption, run the same command again to continue; the result is the same.
    """
    options["overrides"] = (*common.camera_overrides(camera_file), *overrides)
    request = make_request(sources, **options, select=False if no_select else None)
    if (task_index is None) != (task_count is None):
        raise ConfigError("--task-index and --task-count go together")
    run = request, root
    if task_index is not None and task_count is not None:
        task = Task(task_index, task_count)
        made, left = build_task(*run, task, workers, cache, progress, engine=engine)
        rest = (
            f"{left} of other tasks are missing"
            if left
            else "all are there: gloam build without --task-index closes the set"
        )
        return f"{root}: task {task_index} of {task_count} made {count_of(made, 'shard')}; {rest}"
    report = build_request(*run, workers, cache, progress, max_refused, engine=engine)
    return "\n".join(_report_lines(report, request))


def _parse_share(text: str) -> float:
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise click.BadParameter(f"{text}: give a share such as 1% or 0.01")
    return share


def _report_lines(report: Report, request: Request) -> Iterator[str]:
    info = report.info
    total = sum(info.units.values())
    counts = ", ".join(f"{s} {info.counts[s]:,}" for s in SPLITS if s in info.counts)
    made, of = sample_name(info), "clip" if sample_name(info) == "clip" else "photograph"
    yield f"{count_of(report.candidates, of)}, {count_of(total, made)}: {counts}"
    planned = {"val": info.build.request.plan.val or 0, "test": request.plan.test}
    if request.plan.val is None and report.made:
        yield (
            f"  val: {planned['val']:,}, as --val was not given; gloam regenerate {report.root} NEW"
            " --val N splits the set anew"
        )
    for split, wanted in planned.items():
        have = info.counts.get(split, 0)
        if have < wanted:
            yield (
                f"  {split}: {have:,} of {wanted:,}; the others were refused when they were to be"
                " made, as --no-select looks at none before"
            )
    for source, reasons in report.reasons.items():
        spare = reasons.get(SPARE, 0)
        refused = [f"{reason} {n:,}" for reason, n in reasons.most_common() if reason != SPARE]
        if refused:
            yield f"  {source}: refused {', '.join(refused)}"
        if spare:
            yield f"  {source}: {count_of(spare, 'suitable one')} not needed"
    if request.not_like and not any(EXCLUDED in reasons for reasons in report.reasons.values()):
        yield f"  --exclude: no {of} shows any of its scenes"
    for source, passed in report.passed.items():
        yield f"  {source}: passed over {format_counts(passed)}"
    for source, left_out in report.left_out.items():
        kinds = format_counts(Counter(reason for reason, _ in left_out))
        yield f"  {source}: annotations left out: {kinds}; such as {left_out[0][1]}"
    if info.counts["refused"] or report.left_out:
        yield f"  each with its reason in {report.root / 'refused.parquet'}"
    done = (
        "complete"
        if report.made
        else "was complete already, so no source was looked at (other photographs: another folder)"
    )
    yield f"{report.root}: {done}; gloam verify {report.root} checks it"


@click.command()
@common.paths(origin="SET", root="NEW")
@common.recipe_option("Make lows by another recipe; see gloam recipes.  [default: the set's own]")
@common.overrides_option("Change one value of the recipe, such as camera.iso=6400.")
@common.field_option(PlanOptions, "seed", help="Random seed of the lows.  [default: the set's own]")
@common.field_option(
    PlanOptions,
    "val",
    help="Pairs for validation; with nothing else changed, lows stay.  [default: the set's own]",
)
@common.field_option(PlanOptions, "test", help="Pairs for testing.  [default: the set's own]")
@click.option(
    "--lows-only",
    "--low-only",
    is_flag=True,
    help="Write no normals, to save disk space; loaders take them from SET: PairLoader(NEW,"
    " normals=SET).",
)
@common.working()
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
    # Another recipe's name says enough, whose values gloam recipes shows, and what was asked for.
    of_recipe = [line for line in changed if line.startswith("recipe.")]
    asked = ("recipe.name", *(one.partition("=")[0] for one in options["overrides"]))
    named = [line for line in of_recipe if line.partition(": ")[0].endswith(asked)]
    shown = [line for line in changed if line not in of_recipe] + (named or of_recipe)
    lines = [f"  {line}" for line in shown[:10]]
    if len(shown) > 10:
        lines.append(f"  and {len(shown) - 10:,} more")
    return "\n".join([*lines, f"{root}: {count} of {origin} ({counts}); {what}"])
