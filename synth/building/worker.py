"""Making one unit: the pairs of a shard, from photographs to a published tar and its receipt.

It is what workers run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...engines.local import count
from ...errors import ImageRefused, Reason, SourceError
from ...manifests.images.encode import encode
from ...manifests.images.load_normal import load_normal
from ...manifests.sets.publish_unit import publish_unit
from ...manifests.sets.receipts import Receipt, RefusedPair
from ...manifests.sets.sample import LOW, NORMAL, Encoded, Origin, Sample, make_sample
from ...manifests.sources import Location, read
from ..kernels.arrays import Pixels
from ..kernels.png.file import encode_png
from ..models import Draw, draw, render
from ..recipes.load import Recipe
from .request import OutputOptions


@dataclass(frozen=True)
class PlannedPair:
    """A pair to be made: its key, source name, original path, and where the photograph lies."""

    key: str
    source: str
    path: str
    place: Location


@dataclass(frozen=True)
class UnitJob:
    """All that a worker needs to make one unit."""

    root: Path
    unit: str
    fingerprint: str
    planned: tuple[PlannedPair, ...]
    recipe: Recipe
    seed: int
    output: OutputOptions
    unmeasured: bool = False
    """Whether nobody has read the photographs before: those that cannot be read are refused
    then."""


def make_unit(job: UnitJob) -> Receipt:
    """Make a unit's pairs and publish them, then the receipt.

    Raises
    ------
    SourceError
        When a photograph that was measured cannot be read any more; nothing is published then.
    """
    refused: list[RefusedPair] = []
    samples = _samples(job, refused)
    layout = job.output.layout
    return publish_unit(job.root, layout, job.unit, job.fingerprint, samples, refused)


def _samples(job: UnitJob, refused: list[RefusedPair]) -> Iterator[Sample]:
    # All at once: between two photographs a CPU's caches forget how to draw, and it takes four
    # times as long.
    draws = [draw(job.recipe, job.seed, planned.key) for planned in job.planned]
    for planned, drawn in zip(job.planned, draws, strict=True):
        try:
            yield _make_sample(job, planned, drawn)
        except ImageRefused as refusal:
            if refusal.reason is Reason.UNREADABLE and not job.unmeasured:
                raise SourceError(
                    f"{planned.source}: {planned.path} could be read when the set was planned, but"
                    f" now: {refusal.detail}; make the source readable again and run the same"
                    " command to continue",
                    key=planned.key,
                ) from refusal
            refused.append(
                RefusedPair(
                    key=planned.key,
                    source=planned.source,
                    path=planned.path,
                    reason=refusal.reason,
                    detail=refusal.detail,
                )
            )
        count()


def _make_sample(job: UnitJob, planned: PlannedPair, drawn: Draw) -> Sample:
    output = job.output
    normal = load_normal(read(planned.place), output.max_side, output.max_pixels)
    members = {NORMAL: Encoded(normal.data, normal.suffix)}
    if output.low_codec != "none":
        members = {LOW: encode_low(render(normal.pixels, drawn), output), **members}
    height, width = normal.pixels.shape[:2]
    return make_sample(
        planned.key,
        Origin(planned.source, planned.path, width, height, normal.converted),
        drawn.model_dump(),
        members,
    )


def encode_low(low: Pixels, output: OutputOptions) -> Encoded:
    """Encode a low as its set stores it."""
    if output.low_codec == "png":
        return Encoded(encode_png(low), "png")
    data = encode(low, output.low_codec, output.low_quality, output.low_chroma)
    return Encoded(data, output.low_codec)
