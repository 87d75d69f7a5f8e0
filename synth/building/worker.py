"""Making one unit: the pairs of a shard, from photographs to a published tar and its receipt. What
workers run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...engines.local import count
from ...errors import ImageRefused, SourceError
from ...manifests.images.encode import encode
from ...manifests.images.normal import load_normal
from ...manifests.sets.layout import writer
from ...manifests.sets.receipts import Receipt, RefusedPair, write_receipt
from ...manifests.sets.sample import FORMAT, Pair, make_pair
from ...manifests.sources import Location, read
from ..kernels.arrays import Pixels
from ..models import Draw, draw, render
from ..recipes.load import Recipe
from .request import OutputOptions


@dataclass(frozen=True)
class Planned:
    """A pair to be made: its key, source name, original path, and where the photograph lies."""

    key: str
    source: str
    path: str
    place: Location


@dataclass(frozen=True)
class UnitTask:
    """All that a worker needs to make one unit."""

    root: Path
    unit: str
    fingerprint: str
    planned: tuple[Planned, ...]
    recipe: Recipe
    seed: int
    output: OutputOptions
    unmeasured: bool = False
    """Whether nobody has read the photographs before: those that cannot be read are refused
    then."""


def make_unit(task: UnitTask) -> Receipt:
    """Make a unit's pairs and publish them, then the receipt.

    Raises
    ------
    SourceError
        When a photograph that was measured cannot be read any more; nothing is published then.
    """
    refused: list[RefusedPair] = []
    made = 0
    with writer(task.output.layout, task.root, task.unit) as out:
        for pair in _pairs(task, refused):
            out.add(pair)
            made += 1
        files = out.close() if made else {}
    receipt = Receipt.model_validate(
        {
            "format": FORMAT,
            "unit": task.unit,
            "fingerprint": task.fingerprint,
            "pairs": made,
            "refused": refused,
            "files": [{"path": path, **facts} for path, facts in files.items()],
        }
    )
    write_receipt(task.root, receipt)
    return receipt


def _pairs(task: UnitTask, refused: list[RefusedPair]) -> Iterator[Pair]:
    # All at once: between two photographs a CPU's caches forget how to draw, and it takes four
    # times as long.
    draws = [draw(task.recipe, task.seed, planned.key) for planned in task.planned]
    for planned, drawn in zip(task.planned, draws, strict=True):
        try:
            yield _make_pair(task, planned, drawn)
        except ImageRefused as refusal:
            if refusal.reason == "unreadable" and not task.unmeasured:
                raise SourceError(
                    f"{planned.source}: {planned.path} could be read when the set was planned, but"
                    f" now: {refusal.detail}; make the source readable again and run the same"
                    " command to continue"
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


def _make_pair(task: UnitTask, planned: Planned, drawn: Draw) -> Pair:
    output = task.output
    normal = load_normal(read(planned.place), output.max_side, output.max_pixels)
    low = encode_low(render(normal.pixels, drawn), output)
    height, width = normal.pixels.shape[:2]
    return make_pair(
        planned.key,
        {"source": planned.source, "path": planned.path},
        (width, height),
        normal.converted,
        drawn.model_dump(),
        (low, output.low_codec),
        (normal.data, normal.suffix),
    )


def encode_low(low: Pixels, output: OutputOptions) -> bytes:
    """A low as its set stores it."""
    return encode(low, output.low_codec, output.low_quality, output.low_chroma)
