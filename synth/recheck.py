"""Deep verification: every low made again from its stored normal and its stored draw, and compared pixel by pixel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..manifests.decoding import first_line
from ..manifests.errors import ImageRefused, SetError
from ..manifests.images import decode
from ..manifests.layouts import read_pairs
from ..manifests.pairs import Pair
from ..manifests.receipts import read_receipt
from ..manifests.setfile import SetInfo
from ..manifests.verify import Problem
from ..manifests.workers import count, ordered_map
from .making import encode_low
from .models import parse_draw, render
from .request import OutputOptions


@dataclass(frozen=True)
class _Task:
    root: Path
    unit: str
    output: OutputOptions


def recheck_set(root: Path, info: SetInfo, workers: int = 1, tick: Callable[[int], None] = lambda done: None) -> list[Problem]:
    """Make every low of a set again and compare.

    Parameters
    ----------
    root : Path
    info : SetInfo
        Of `gloam.manifests.setfile.read_set`.
    workers : int
        Processes.
    tick : function
        Called with the number of pairs compared so far.

    Returns
    -------
    list of Problem
        Pairs whose stored low is not what normal and draw make.
    """
    output = OutputOptions.model_validate(info.build.request["output"])
    tasks = (_Task(root, unit, output) for unit in info.units)
    return [problem for problems in ordered_map(_recheck_unit, tasks, workers, tick) for problem in problems]


def _recheck_unit(task: _Task) -> list[Problem]:
    problems = []
    try:
        receipt = read_receipt(task.root, task.unit)
        if not receipt.pairs:
            return []
        for pair in read_pairs(task.output.layout, task.root, task.unit, receipt.file_dicts()):
            problem = _recheck_pair(pair, task.output)
            if problem:
                problems.append(Problem(f"{task.unit}: {pair.key}", problem))
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
