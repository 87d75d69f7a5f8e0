"""Deep verification: every low made again from its stored normal and its stored draw, and compared pixel by pixel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...engines.local import count, ordered_map, prepare_workers
from ...errors import ImageRefused, SetError
from ...manifests.images.decode import decode
from ...manifests.images.opening import first_line
from ...manifests.sets.info import SetInfo, check_normals
from ...manifests.sets.joined import joined_pairs
from ...manifests.sets.sample import Pair
from ...manifests.sets.verify import Problem
from ..models import MODEL, parse_draw, render
from . import PRELOAD
from .request import OutputOptions
from .worker import encode_low

_MEND = (
    "its bytes are as they were written, so the machine or the gloam that made it erred; build the set anew, in another folder"
)


@dataclass(frozen=True)
class _Task:
    root: Path
    unit: str
    output: OutputOptions
    normals: Path | None


def recheck_set(
    root: Path,
    info: SetInfo,
    workers: int = 1,
    tick: Callable[[int], None] = lambda done: None,
    normals: Path | None = None,
) -> list[Problem]:
    """Make every low of a set again and compare.

    Parameters
    ----------
    root : Path
    info : SetInfo
        Of `gloam.manifests.sets.info.read_set`.
    workers : int
        Processes.
    tick : function
        Called with the number of pairs compared so far.
    normals : Path, optional
        Of a set of lows only: the set that holds its normals.

    Returns
    -------
    list of Problem
        Pairs whose stored low is not what normal and draw make.

    Raises
    ------
    SetError
        When the set holds lows only and `normals` is not the set that it was made from, or when its lows are of another model.
    """
    check_normals(root, info, normals)
    model = info.build.versions.get("model", "1")
    if model != str(MODEL):
        raise SetError(
            f"{root}: its lows were made by model {model}, this gloam has model {MODEL}; verify it deeply with that gloam"
        )
    prepare_workers([PRELOAD], workers)
    output = OutputOptions.model_validate(info.build.request["output"])
    tasks = (_Task(root, unit, output, normals) for unit in info.units)
    return [problem for problems in ordered_map(_recheck_unit, tasks, workers, tick) for problem in problems]


def _recheck_unit(task: _Task) -> list[Problem]:
    problems = []
    try:
        for pair in joined_pairs(task.root, task.output.layout, task.unit, task.normals):
            problem = _recheck_pair(pair, task.output)
            if problem:
                problems.append(Problem(f"{task.unit}: {pair.key}", problem, _MEND))
            count()
    except SetError as error:
        problems.append(Problem(task.unit, str(error)))
    return problems


def _recheck_pair(pair: Pair, output: OutputOptions) -> str:
    try:
        drawn = parse_draw(pair.record["draw"])
    except (ValueError, TypeError) as error:
        return f"the stored draw is damaged: {first_line(error)}"
    try:
        normal = decode(pair.normal, pair.normal_suffix)
        low = decode(pair.low, pair.low_suffix)
        again = decode(encode_low(render(normal, drawn), output), output.low_codec)
    except ImageRefused as refusal:
        return f"cannot be decoded: {refusal.detail}"
    if low.shape != again.shape:
        return f"the low is {low.shape[1]} x {low.shape[0]}, its normal {again.shape[1]} x {again.shape[0]}"
    different = int(np.count_nonzero(low != again))
    return f"{different} of {low.size} samples of the low are not what its normal and draw make" if different else ""
