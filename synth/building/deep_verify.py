"""Deep verification: every low made again and compared pixel by pixel.

Each is made from its stored normal and its stored draw; and normals are to be the same pixels to
the libraries that loaders and trainers read with.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...engines.engine import Engine, check_paths, ignored
from ...engines.local import LocalEngine, count
from ...errors import ImageRefused, SetError
from ...manifests.images.decode import decode, shown_otherwise
from ...manifests.images.opening import first_line
from ...manifests.sets.pair_set import PairSet, Unit
from ...manifests.sets.sample import LOW, NORMAL, Sample
from ...manifests.sets.verify import Kind, Problem
from ..clips import frame_name, frame_names, is_clip, render_clip_on
from ..kernels.arrays import Pixels
from ..models import MODEL, Draw, draw, parse_draw
from ..recipes.load import Recipe, recipe_of
from ..renderers import Device, Renderer
from ..served.start import Renderers, renderers_on
from . import WARM
from .request import OutputOptions
from .worker import encode_low, gathered

_MEND = (
    "its bytes are as they were written, so the machine or the gloam that made it erred; build the"
    " set anew, in another folder"
)


@dataclass(frozen=True)
class _Job:
    unit: Unit
    output: OutputOptions
    renderers: Renderers
    recipe: Recipe | None = None
    seed: int = 0


def recheck_set(
    pairs: PairSet,
    workers: int = 1,
    at: Callable[[int], None] = ignored,
    *,
    device: Device = "cpu",
    engine: Engine | None = None,
) -> list[Problem]:
    """Make every low of a set again and compare; of a live set, every draw.

    Parameters
    ----------
    pairs : PairSet
        With its normals, where they lie in another set.
    workers : int
        Processes of this machine.
    at : function
        Called with the number of pairs compared so far.
    device : str
        Where lows are made: "cpu", "cuda" for the GPUs of this machine, or "auto" for them if there
        are any.
    engine : Engine, optional
        Where the work is done, instead.

    Returns
    -------
    list of Problem
        Pairs whose stored low is not what normal and draw make.

    Raises
    ------
    SetError
        When the set holds lows only and was opened without the set that it was made from, or when
        its lows are of another model.
    """
    pairs.check_normals()
    model = pairs.info.build.versions.get("model", "1")
    if model != str(MODEL):
        raise SetError(
            f"{pairs.root}: its lows were made by model {model}, this gloam has model {MODEL};"
            " verify it deeply with that gloam",
            path=pairs.root,
        )
    engine = engine or LocalEngine(workers)
    check_paths(engine, pairs.root, pairs.normals)
    engine.warm(WARM)
    output = OutputOptions.model_validate(pairs.info.build.request["output"])
    # A live set holds draws alone: they are to be those of its recipe, seed and keys.
    request = deepcopy(pairs.info.build.request["recipe"])
    recipe = recipe_of(request, (), f"recipe of {pairs.root}") if pairs.live else None
    with renderers_on("cpu" if pairs.live else device, engine) as starting:
        common = output, starting.ready(), recipe, pairs.info.seed
        jobs = (_Job(unit, *common) for unit in pairs.units())
        return [problem for problems in engine.map(_recheck_unit, jobs, at) for problem in problems]


class _Pair(NamedTuple):
    """A pair that is to be compared."""

    key: str
    low: Pixels
    normal: Pixels
    drawn: Draw


def _recheck_unit(job: _Job) -> list[Problem]:
    problems: list[Problem] = []
    renderer = job.renderers.of(job.unit.name)
    try:
        read = (
            one for pair in job.unit.pairs() for one in _read_all(pair, job, renderer, problems)
        )
        for some in gathered(read, lambda pair: pair.normal.size, job.renderers.many):
            lows = renderer.render([pair.normal for pair in some], [pair.drawn for pair in some])
            for pair, low in zip(some, lows, strict=True):
                problem = _difference(pair.low, low, job.output)
                if problem:
                    problems.append(_problem(job, pair.key, problem))
    except SetError as error:
        problems.append(Problem(job.unit.name, str(error)))
    return problems


def _problem(job: _Job, key: str, problem: str) -> Problem:
    return Problem(f"{job.unit.name}: {key}", problem, _MEND, Kind.LOW)


def _read_all(pair: Sample, job: _Job, renderer: Renderer, problems: list[Problem]) -> list[_Pair]:
    """Read a pair; of a clip all frames, whose lows are compared at once."""
    if not is_clip(pair.record["members"]):
        read = _read(pair, job, problems)
        return [] if read is None else [read]
    problem = ""
    try:
        problem = _problem_of_clip(pair, job, renderer)
    except ImageRefused as refusal:
        problem = f"cannot be decoded: {refusal.detail}"
    except (ValueError, TypeError) as error:
        problem = f"the stored draw is damaged: {first_line(error)}"
    if problem:
        problems.append(_problem(job, pair.key, problem))
    count()
    return []


def _problem_of_clip(pair: Sample, job: _Job, renderer: Renderer) -> str:
    drawn = parse_draw(pair.record["draw"])
    normals = [pair.decoded(name) for name in frame_names(pair.members, NORMAL)]
    if job.recipe is not None:
        wrong = draw(job.recipe, job.seed, pair.key) != drawn
        return "the stored draw is not that of the recipe, the seed and its key" if wrong else ""
    for name, normal in zip(frame_names(pair.members, NORMAL), normals, strict=True):
        problem = shown_otherwise(pair.members[name].data, normal)
        if problem:
            return f"{name}: {problem}"
    for number, made in enumerate(render_clip_on(renderer, normals, drawn)):
        problem = _difference(pair.decoded(frame_name(LOW, number)), made, job.output)
        if problem:
            return f"frame {number}: {problem}"
    return ""


def _read(pair: Sample, job: _Job, problems: list[Problem]) -> _Pair | None:
    """Read what is to be compared of a pair; None where it is damaged, or live and compared."""
    problem, read = "", None
    try:
        drawn = parse_draw(pair.record["draw"])
        normal = pair.decoded(NORMAL)
        problem = shown_otherwise(pair.normal.data, normal)
        if problem:
            problem = f"low and normal are out of step for some readers: of the normal, {problem}"
        elif job.recipe is None:
            read = _Pair(pair.key, pair.decoded(LOW), normal, drawn)
        elif draw(job.recipe, job.seed, pair.key) != drawn:
            problem = "the stored draw is not that of the recipe, the seed and its key"
    except ImageRefused as refusal:
        problem = f"cannot be decoded: {refusal.detail}"
    except (ValueError, TypeError) as error:
        problem = f"the stored draw is damaged: {first_line(error)}"
    if problem:
        problems.append(_problem(job, pair.key, problem))
    count()
    return read


def _difference(low: Pixels, made: Pixels, output: OutputOptions) -> str:
    """Compare a stored low with the one that is made again."""
    encoded = encode_low(made, output)
    again = decode(encoded.data, encoded.suffix)
    if low.shape != again.shape:
        return (
            f"the low is {low.shape[1]} x {low.shape[0]}, its normal {again.shape[1]} x"
            f" {again.shape[0]}"
        )
    different = int(np.count_nonzero(low != again))
    return (
        f"{different} of {low.size} samples of the low are not what its normal and draw make"
        if different
        else ""
    )
