"""One image's own degradations, as `recipe.Degradations` has distributions."""

from __future__ import annotations

from typing import Annotated, Literal

from ..parameters.drawing import Drawn, Off


class MotionDraw(Drawn):
    """See `recipe.Motion`. angle: of its direction, in radians."""

    length: float
    angle: float


class DefocusDraw(Drawn):
    """See `recipe.Defocus`."""

    radius: float


class ShiftDraw(Drawn):
    """See `recipe.Shift`. angle: of its direction, in radians."""

    length: float
    angle: float


NO_SHIFT = ShiftDraw(length=0.0, angle=0.0)


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


NO_LAST_DEGRADATIONS = LastDegradationsDraw(jpeg=JpegDraw(quality=0, chroma="4:4:4"))


class DegradationsDraw(LastDegradationsDraw):
    """All degradations of one image; a part that it has not is 0, or None."""

    motion: MotionDraw
    defocus: DefocusDraw
    shift: Annotated[ShiftDraw | None, Off(NO_SHIFT)] = None
    banding: BandingDraw
    fixed_pattern: FixedPatternDraw


NO_DEGRADATIONS = DegradationsDraw(
    jpeg=NO_LAST_DEGRADATIONS.jpeg,
    motion=MotionDraw(length=0.0, angle=0.0),
    defocus=DefocusDraw(radius=0.0),
    banding=BandingDraw(depth=0.0, bands=0.0, phase=0.0),
    fixed_pattern=FixedPatternDraw(columns=0.0, hot_share=0.0, hot=0.0, seed=0),
)
