"""One image's own degradations, as `recipe.Degradations` has distributions."""

from __future__ import annotations

from typing import Annotated, Literal

from ..parameters.drawing import Drawn, Off, nothing_of


class VectorDraw(Drawn):
    """See `recipe.Motion` and `recipe.Shift`. angle: of the direction, in radians."""

    length: float
    angle: float


class DefocusDraw(Drawn):
    """See `recipe.Defocus`."""

    radius: float


class BandingDraw(Drawn):
    """See `recipe.Banding`. phase: of the first row, in turns."""

    depth: float
    bands: float
    phase: float


class FixedPatternDraw(Drawn):
    """See `recipe.FixedPattern`. seed: 63 bits that key the pattern."""

    columns: float
    hot_share: float
    hot: float
    seed: int


class JpegDraw(Drawn):
    """See `recipe.Jpeg`. quality: 0 for none."""

    quality: int
    chroma: Literal["4:2:0", "4:4:4"]


class LastDegradationsDraw(Drawn):
    """Degradations of one low, without a model of a camera."""

    jpeg: JpegDraw


class DegradationsDraw(LastDegradationsDraw):
    """All degradations of one image; a part that it has not is 0, or None."""

    motion: VectorDraw
    defocus: DefocusDraw
    shift: Annotated[VectorDraw | None, Off(nothing_of(VectorDraw))] = None
    banding: BandingDraw
    fixed_pattern: FixedPatternDraw
