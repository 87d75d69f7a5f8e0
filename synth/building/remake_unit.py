"""Make a unit of a set from the same unit of another set.

With new draws and lows, or the lows that its draws make, or as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

from ...engines.local import count
from ...errors import ImageRefused, SetError, first_line
from ...manifests.recorded_request import OutputOptions
from ...manifests.sets.close import publish_unit
from ...manifests.sets.pair_set import Unit
from ...manifests.sets.sample import LOW, NORMAL, Sample, is_low, is_normal, make_sample, origin_of
from ..clips import each_low, frame_names, is_clip, named_frames
from ..input_images import decode_image
from ..kernels.arrays import Pixels
from ..models import Draw, LowMaker, draw_columns, parse_draw, records_in
from ..recipes.load import Recipe
from .worker import encode_low

_DRAWN = 16  # samples that are read, and their parameters drawn, at once


@dataclass(frozen=True)
class Job:
    """One unit to be made from a unit of another set. Without a recipe its lows are kept.

    name and keys: what the new unit is called, and which pairs it has of the old one; None for all.
    form: of new draws, see `models.form_of`.
    """

    name: str
    unit: Unit
    root: Path
    fingerprint: str
    recipe: Recipe | None
    seed: int
    output: OutputOptions
    lows_only: bool = False
    keys: frozenset[str] | None = None
    form: str = ""

    def has(self, key: str) -> bool:
        """Return True if the new unit has this pair of the old one."""
        return self.keys is None or key in self.keys


def remake_unit(job: Job) -> None:
    """Make a unit and publish it."""
    before = job.unit.receipt
    refused = [one for one in before.refused if job.has(one.key)]
    wanted = before.pairs if job.keys is None else len(job.keys) - len(refused)
    publish_unit(
        job.root,
        job.output.layout,
        job.name,
        job.fingerprint,
        _samples(job, wanted),
        refused,
        left_out=[one for one in before.left_out if job.has(one.key)],
    )


def _samples(job: Job, wanted: int) -> Iterator[Sample]:
    """Make the unit's samples again.

    Raises SetError when there is another number of them than its receipt says.
    """
    made, at_once = 0, 1
    samples = (sample for sample in job.unit.pairs() if job.has(sample.key))
    while some := list(islice(samples, at_once)):
        draws, maker = _drawn(job, some)
        for number, (sample, drawn) in enumerate(zip(some, draws, strict=True)):
            yield _remade(job, sample, drawn, partial(maker.low, number))
            made += 1
            count()
        # Some at once: between two photographs a CPU's caches forget how to draw. Clips are large.
        at_once = 1 if is_clip(some[0].record["members"]) else _DRAWN
    if made != wanted:
        raise SetError.at(
            job.unit.root,
            f"{job.unit.name} holds {made} pairs, its receipt says {wanted}; gloam verify it",
        )


def sample_with_low(unit: Unit) -> Iterator[Sample]:
    """Yield the samples of a unit; those of a live set with the lows that their draws make.

    Raises SetError when one cannot be read.
    """
    return _samples(Job(unit.name, unit, unit.root, "", None, 0, OutputOptions()), unit.count)


def _drawn(job: Job, samples: Sequence[Sample]) -> tuple[Sequence[Draw | None], LowMaker]:
    """Return the draws that samples are made again by, None where kept, and the maker of lows."""
    live = job.output.low_codec == "none"
    if job.recipe is not None:
        keys = [sample.key for sample in samples]
        columns = [*draw_columns(job.recipe, job.seed, keys, job.form)]
        return records_in(columns), LowMaker.of_columns(() if live else columns)
    draws = [
        None if live or any(map(is_low, sample.members)) else draw_of(job.unit, sample)
        for sample in samples
    ]
    return draws, LowMaker(draws)


def draw_of(unit: Unit, sample: Sample) -> Draw:
    """Return the draw that a unit's sample has stored. Raises SetError when it is damaged."""
    try:
        return parse_draw(sample.record["draw"])
    except ValueError as error:
        raise SetError(
            f"{unit.root}: {unit.name}: {sample.key}: the stored draw is damaged:"
            f" {first_line(error)}",
            path=unit.root,
            key=sample.key,
        ) from error


def _remade(job: Job, sample: Sample, drawn: Draw | None, low: Callable[..., Pixels]) -> Sample:
    """Make a sample again, with the lows of its draw unless the set is live."""
    if drawn is not None:
        members = {name: one for name, one in sample.members.items() if not is_low(name)}
        if job.output.low_codec != "none":
            clip = is_clip(members)
            names = frame_names(members, NORMAL) if clip else [NORMAL]
            normals = [_normal(job, sample, name) for name in names]
            lows = each_low(normals, drawn) if clip else map(low, normals)
            encoded = [encode_low(low, job.output) for low in lows]
            members = named_frames(LOW, encoded, clip) | members
        sample = make_sample(
            sample.key,
            origin_of(sample.record),
            drawn.model_dump(),
            members,
            sample.record.get("labels"),
        )
    if job.lows_only:  # normals stay in the set that they are from
        kept = {name: one for name, one in sample.members.items() if not is_normal(name)}
        sample = replace(sample, members=kept)
    return sample


def _normal(job: Job, sample: Sample, name: str) -> Pixels:
    """Decode the stored normal, or a frame of it."""
    try:
        return sample.decoded(name, decode_image)
    except ImageRefused as refusal:
        raise SetError(
            f"{job.unit.root}: {job.unit.name}: {sample.key}.{name}: {refusal.detail}; gloam"
            " build mends the set",
            path=job.unit.root,
            key=sample.key,
        ) from refusal
