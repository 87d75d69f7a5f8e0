"""Deep verification: every low made again from its stored normal and its stored draw, and compared
pixel by pixel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...engines.forkserver import prepare_workers
from ...engines.local import count, ordered_map
from ...errors import ImageRefused, SetError
from ...manifests.images.decode import decode
from ...manifests.images.opening import first_line
from ...manifests.sets.pair_set import PairSet, Unit
from ...manifests.sets.sample import Pair
from ...manifests.sets.verify import Problem
from ..models import MODEL, parse_draw, render
from . import PRELOAD
from .request import OutputOptions
from .worker import encode_low

_MEND = (
    "its bytes are as they were written, so the machine or the gloam that made it erred; build the"
    " set anew, in another folder"
)


@dataclass(frozen=True)
class _Job:
    unit: Unit
    output: OutputOptions


def recheck_set(
    pairs: PairSet, workers: int = 1, tick: Callable[[int], None] = lambda done: None
) -> list[Problem]:
    """Make every low of a set again and compare.

    Parameters
    ----------
    pairs : PairSet
        With its normals, where they lie in another set.
    workers : int
        Processes.
    tick : function
        Called with the number of pairs compared so far.

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
            " verify it deeply with that gloam"
        )
    prepare_workers([PRELOAD], workers)
    output = OutputOptions.model_validate(pairs.info.build.request["output"])
    jobs = (_Job(unit, output) for unit in pairs.units())
    return [
        problem
        for problems in ordered_map(_recheck_unit, jobs, workers, tick)
        for problem in problems
    ]


def _recheck_unit(job: _Job) -> list[Problem]:
    problems = []
    try:
        for pair in job.unit.pairs():
            problem = _recheck_pair(pair, job.output)
            if problem:
                problems.append(Problem(f"{job.unit.name}: {pair.key}", problem, _MEND))
            count()
    except SetError as error:
        problems.append(Problem(job.unit.name, str(error)))
    return problems


def _recheck_pair(pair: Pair, output: OutputOptions) -> str:
    try:
        drawn = parse_draw(pair.record["draw"])
    except (ValueError, TypeError) as error:
        return f"the stored draw is damaged: {first_line(error)}"
    try:
        low, normal = pair.decoded()
        again = decode(encode_low(render(normal, drawn), output), output.low_codec)
    except ImageRefused as refusal:
        return f"cannot be decoded: {refusal.detail}"
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
