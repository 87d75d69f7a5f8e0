"""Make a unit of a set from the same unit of another set.

With new draws and lows, or the lows that its draws make, or as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

from ...engines.local import count
from ...errors import ImageRefused, SetError, first_line
from ...manifests.request import OutputOptions
from ...manifests.sets.pair_set import Unit
from ...manifests.sets.publish_unit import publish_unit
from ...manifests.sets.sample import LOW, NORMAL, Sample, is_normal, make_sample, origin_of
from ..clips import frame_name, frame_names, is_clip, render_clip
from ..decode import decode_image
from ..kernels.arrays import Pixels
from ..models import Draw, draw_many, parse_draw, render
from ..recipes.load import Recipe
from .worker import encode_low

_DRAWN = 16  # samples that are read, and their parameters drawn, at once


@dataclass(frozen=True)
class Job:
    """One unit to be made from a unit of another set. Without a recipe its lows are kept.

    name and keys: what the new unit is called, and which pairs it has of the old one; None for all.
    """

    unit: Unit
    root: Path
    fingerprint: str
    recipe: Recipe | None
    seed: int
    output: OutputOptions
    lows_only: bool
    name: str = ""
    keys: frozenset[str] | None = None

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
        job.name or job.unit.name,
        job.fingerprint,
        _samples(job, wanted),
        refused,
        left_out=[one for one in before.left_out if job.has(one.key)],
    )


def _samples(job: Job, wanted: int) -> Iterator[Sample]:
    """Make the unit's samples again.

    Raises SetError when there is another number of them than its receipt says.
    """
    made = 0
    pairs: Iterator[Sample] = (pair for pair in job.unit.pairs() if job.has(pair.key))
    first = next(pairs, None)
    pairs = iter(()) if first is None else chain([first], pairs)
    if first is not None and is_clip(first.record["members"]):
        for clip in pairs:
            yield _clip(job, clip)
            made += 1
            count()
        pairs = iter(())
    for sample, drawn in _all_drawn(job, pairs):
        yield _remade(job, sample, drawn)
        made += 1
        count()
    if made != wanted:
        raise SetError(
            f"{job.unit.root}: {job.unit.name} holds {made} pairs, its receipt says {wanted};"
            " gloam verify it",
            path=job.unit.root,
        )


def sample_with_low(unit: Unit) -> Iterator[Sample]:
    """Yield the samples of a unit; those of a live set with the lows that their draws make.

    Raises SetError when one cannot be read.
    """
    output = OutputOptions()
    job = Job(unit, unit.root, "", None, 0, output, False)
    return _samples(job, unit.count)


def _all_drawn(job: Job, samples: Iterator[Sample]) -> Iterator[tuple[Sample, Draw | None]]:
    """Yield samples with the draws that they are made again with; None for those that are kept."""
    live = job.output.low_codec == "none"
    # Some at once: between two photographs a CPU's caches forget how to draw.
    while some := list(islice(samples, _DRAWN)):
        kept = [job.recipe is None and (live or LOW in sample.members) for sample in some]
        draws = iter(_drawn(job, [one for one, keep in zip(some, kept, strict=True) if not keep]))
        for sample, keep in zip(some, kept, strict=True):
            yield sample, None if keep else next(draws)


def _drawn(job: Job, samples: Sequence[Sample]) -> list[Draw]:
    """Return new draws of some samples, or their own."""
    if job.recipe is None:
        return [draw_of(job.unit, sample) for sample in samples]
    return draw_many(job.recipe, job.seed, [sample.key for sample in samples])


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


def _clip(job: Job, sample: Sample) -> Sample:
    """Make a clip again: with a new draw, or the lows that its draw makes, or as it is."""
    live = job.output.low_codec == "none"
    held = bool(frame_names(sample.members, LOW))
    if job.recipe is None and (live or held):
        return _kept(job, sample)
    (drawn,) = _drawn(job, [sample])
    names = frame_names(sample.members, NORMAL)
    members = {name: sample.members[name] for name in names}
    if not live:
        normals = [_normal(job, sample, name) for name in names]
        lows = render_clip(normals, drawn)
        made = {frame_name(LOW, i): encode_low(low, job.output) for i, low in enumerate(lows)}
        members = made | members
    origin = origin_of(sample.record)
    return _kept(job, make_sample(sample.key, origin, drawn.model_dump(), members))


def _kept(job: Job, sample: Sample) -> Sample:
    """Leave out the normals where they stay in the set that they are from."""
    if not job.lows_only:
        return sample
    members = {name: member for name, member in sample.members.items() if not is_normal(name)}
    return replace(sample, members=members)


def _remade(job: Job, sample: Sample, drawn: Draw | None) -> Sample:
    """Make a sample again, with the low of its draw unless the set is live."""
    if drawn is not None:
        members = dict(sample.members)
        if job.output.low_codec != "none":
            low = encode_low(render(_normal(job, sample), drawn), job.output)
            members = {LOW: low, **{name: one for name, one in members.items() if name != LOW}}
        sample = make_sample(
            sample.key,
            origin_of(sample.record),
            drawn.model_dump(),
            members,
            sample.record.get("labels"),
        )
    return _kept(job, sample)


def _normal(job: Job, sample: Sample, name: str = NORMAL) -> Pixels:
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
