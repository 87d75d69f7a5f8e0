"""Making one unit: the pairs of a shard, from photographs to a published tar and its receipt.

Or from the same unit of another set: with new draws and lows, or the lows that its draws make, or
as it is. It is what workers run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from ...engines.local import begin_part, count
from ...errors import ImageRefused, Reason, SourceError, first_line
from ...manifests.clips.listing import locates_clip
from ...manifests.clips.load_clip import load_clip
from ...manifests.images.normals import Normal, encode, load_normal
from ...manifests.labels.label_table import read_unit
from ...manifests.labels.photo_labels import record_of
from ...manifests.recorded_request import OutputOptions
from ...manifests.selection.candidates import ENDS_PROCESS, NO_MEMORY
from ...manifests.sets.close import publish_unit
from ...manifests.sets.receipts import Receipt, RefusedPair
from ...manifests.sets.sample import (
    LOW,
    NORMAL,
    Encoded,
    Origin,
    Sample,
    is_low,
    is_normal,
    make_sample,
    origin_of,
)
from ...manifests.sets.stored_labels import members_of
from ...manifests.sets.units import Unit
from ...manifests.sources import Location, read
from ..clips import each_low, frame_names, is_clip, named_frames
from ..input_images import decode_image
from ..kernels.arrays import Pixels
from ..kernels.png.file import encode_png
from ..models import Draw, LowMaker, draw_columns, parse_draw, records_in
from ..recipes.load import Recipe


@dataclass(frozen=True)
class PlannedPair:
    """A pair to be made: its key, source name, original path, and where the photograph lies."""

    key: str
    source: str
    path: str
    place: Location


@dataclass(frozen=True)
class Making:
    """How units are made, of photographs or of another set.

    root, fingerprint: of the set that gets them, and of its build.
    recipe: draws are made by it; None keeps those of another set, and its lows.
    form: of the draws, see `models.form_of`.
    lows_only: whether normals stay in the set that they are from.
    """

    root: Path
    fingerprint: str
    recipe: Recipe | None
    seed: int
    output: OutputOptions
    form: str = ""
    lows_only: bool = False

    @property
    def live(self) -> bool:
        """True if lows are not stored."""
        return self.output.low_codec == "none"

    def draw(self, keys: Sequence[str]) -> tuple[Sequence[Draw], LowMaker]:
        """Make the draws of samples, and what makes their lows unless these are not stored."""
        assert self.recipe is not None
        columns = [*draw_columns(self.recipe, self.seed, keys, self.form)]
        return records_in(columns), LowMaker.of_columns(() if self.live else columns)

    def lows(
        self, normals: Sequence[Pixels], drawn: Draw, low: Callable[[Pixels], Pixels], clip: bool
    ) -> dict[str, Encoded]:
        """Make the low of a sample by `low`, or those of a clip's frames: members, encoded."""
        lows = each_low(normals, drawn) if clip else map(low, normals)
        return named_frames(LOW, [encode_low(one, self.output) for one in lows], clip)


@dataclass(frozen=True)
class UnitJob:
    """All that a worker needs to make one unit of photographs."""

    how: Making
    unit: str
    planned: tuple[PlannedPair, ...]
    unmeasured: bool = False
    """Whether nobody has read the photographs before: those that cannot be read are refused
    then."""
    labels: int | None = None
    """Number of the unit's row group in `labels.parquet`, of a set with labels."""
    deadly: frozenset[str] = frozenset()
    """Keys of photographs that ended the process at work on them; they are refused."""

    def check(self, part: int) -> None:
        """Read and decode one photograph or clip, which may end this process."""
        _load(self, self.planned[part])

    def without(self, part: int) -> UnitJob:
        """Return the job that refuses a photograph or clip."""
        return replace(self, deadly=self.deadly | {self.planned[part].key})


def make_unit(job: UnitJob) -> Receipt:
    """Make a unit's pairs and publish them, then the receipt.

    Raises SourceError when a photograph that was measured cannot be read any more; nothing is
    published then.
    """
    refused: list[RefusedPair] = []
    left_out: list[RefusedPair] = []
    how, samples = job.how, _samples(job, refused, left_out)
    layout = how.output.layout
    return publish_unit(how.root, layout, job.unit, how.fingerprint, samples, refused, left_out)


def _samples(
    job: UnitJob, refused: list[RefusedPair], left_out: list[RefusedPair]
) -> Iterator[Sample]:
    draws, maker = job.how.draw([one.key for one in job.planned])
    labels = None if job.labels is None else read_unit(job.how.root, job.labels)
    for number, (planned, drawn) in enumerate(zip(job.planned, draws, strict=True)):
        begin_part(number)
        record: dict[str, Any] | None = None
        marks: dict[str, Encoded] = {}
        try:
            if planned.key in job.deadly:
                raise ImageRefused(Reason.DAMAGED, ENDS_PROCESS)
            data, frames = _load(job, planned)
            height, width = frames[0].size
            if labels is not None:
                found, others = labels.of(planned.key, data, (width, height))
                left_out += (_noted(planned, one.reason, one.detail) for one in others)
                record = record_of(found, labels.classes)
                marks = members_of(found, record, labels.roles)
        except ImageRefused as refusal:
            _refuse(job, planned, refusal, refused)
            continue
        except MemoryError:
            _refuse(job, planned, ImageRefused(Reason.TOO_LARGE, NO_MEMORY), refused)
            continue
        clip = locates_clip(planned.place)
        members: dict[str, Encoded] = {}
        if not job.how.live:
            normals = [frame.pixels for frame in frames]
            members = job.how.lows(normals, drawn, partial(maker.low, number), clip)
        stored = [Encoded(frame.data, frame.suffix) for frame in frames]
        members |= named_frames(NORMAL, stored, clip) | marks
        converted = next((frame.converted for frame in frames if frame.converted), "")
        origin = Origin(planned.source, planned.path, width, height, converted)
        yield make_sample(planned.key, origin, drawn.model_dump(), members, record)
        count()


def _load(job: UnitJob, planned: PlannedPair) -> tuple[bytes, Sequence[Normal]]:
    """Read a photograph, and make its normal; or the frames of a clip, which has no bytes."""
    limits = job.how.output.max_side, job.how.output.max_pixels
    if locates_clip(planned.place):
        return b"", load_clip(planned.place, *limits)
    data = read(planned.place)
    return data, [load_normal(data, *limits, decoded=not job.how.live)]


def _refuse(
    job: UnitJob, planned: PlannedPair, refusal: ImageRefused, refused: list[RefusedPair]
) -> None:
    """Note a photograph or clip that cannot be used; raise SourceError if it could be before."""
    if refusal.reason is Reason.UNREADABLE and not job.unmeasured:
        raise SourceError(
            f"{planned.source}: {planned.path} could be read when the set was planned, but"
            f" now: {refusal.detail}; make the source readable again and run the same"
            " command to continue",
            key=planned.key,
        ) from refusal
    refused.append(_noted(planned, refusal.reason, refusal.detail))
    count()


def _noted(planned: PlannedPair, reason: str, detail: str) -> RefusedPair:
    return RefusedPair(
        key=planned.key, source=planned.source, path=planned.path, reason=reason, detail=detail
    )


def encode_low(low: Pixels, output: OutputOptions) -> Encoded:
    """Encode a low as its set stores it."""
    if output.low_codec == "png":
        return Encoded(encode_png(low), "png")
    data = encode(low, output.low_codec, output.low_quality, output.low_chroma)
    return Encoded(data, output.low_codec)


_DRAWN = 16  # samples that are read, and their parameters drawn, at once


def remake_unit(how: Making, unit: Unit) -> None:
    """Make a unit of one of another set, or of a part of it, and publish it."""
    refused, left_out = (
        [one for one in noted if unit.has(one.key)]
        for noted in (unit.receipt.refused, unit.receipt.left_out)
    )
    samples = _remade_samples(how, unit)
    layout = how.output.layout
    publish_unit(how.root, layout, unit.into, how.fingerprint, samples, refused, left_out)


def _remade_samples(how: Making, unit: Unit) -> Iterator[Sample]:
    """Make the unit's samples again. Raises SetError as `Unit.pairs`."""
    at_once, samples = 1, unit.pairs()
    while some := list(islice(samples, at_once)):
        draws, maker = _drawn(how, unit, some)
        for number, (sample, drawn) in enumerate(zip(some, draws, strict=True)):
            yield _remade(how, unit, sample, drawn, partial(maker.low, number))
        # Some at once: between two photographs a CPU's caches forget how to draw. Clips are large.
        at_once = 1 if is_clip(some[0].record["members"]) else _DRAWN


def pairs_with_lows(unit: Unit) -> Iterator[Sample]:
    """Yield a unit's pairs, with lows where a live set has draws; see `Unit.pairs`."""
    return _remade_samples(Making(unit.root, "", None, 0, OutputOptions()), unit)


def _drawn(
    how: Making, unit: Unit, samples: Sequence[Sample]
) -> tuple[Sequence[Draw | None], LowMaker]:
    """Return the draws that samples are made again by, None where kept, and the maker of lows."""
    if how.recipe is not None:
        return how.draw([sample.key for sample in samples])
    draws = [
        None if how.live or any(map(is_low, sample.members)) else draw_of(unit, sample)
        for sample in samples
    ]
    return draws, LowMaker(draws)


def draw_of(unit: Unit, sample: Sample) -> Draw:
    """Return the draw that a unit's sample has stored. Raises SetError when it is damaged."""
    try:
        return parse_draw(sample.record["draw"])
    except ValueError as error:
        what = f"the stored draw is damaged: {first_line(error)}"
        raise unit.fault(sample.key, what) from error


def _remade(
    how: Making, unit: Unit, sample: Sample, drawn: Draw | None, low: Callable[..., Pixels]
) -> Sample:
    """Make a sample again, with the lows of its draw unless the set is live."""
    if drawn is not None:
        members = {name: one for name, one in sample.members.items() if not is_low(name)}
        if not how.live:
            clip = is_clip(members)
            names = frame_names(members, NORMAL) if clip else [NORMAL]
            normals = [_normal(unit, sample, name) for name in names]
            members = how.lows(normals, drawn, low, clip) | members
        sample = make_sample(
            sample.key,
            origin_of(sample.record),
            drawn.model_dump(),
            members,
            sample.record.get("labels"),
        )
    if how.lows_only:  # normals stay in the set that they are from
        kept = {name: one for name, one in sample.members.items() if not is_normal(name)}
        sample = replace(sample, members=kept)
    return sample


def _normal(unit: Unit, sample: Sample, name: str) -> Pixels:
    """Decode the stored normal, or a frame of it."""
    try:
        return sample.decoded(name, decode_image)
    except ImageRefused as refusal:
        what = f"{refusal.detail}; gloam build mends the set"
        raise unit.fault(sample.key, what, name) from refusal
