"""The section `degradations` of recipes; all of it is off where a recipe says nothing."""

from __future__ import annotations

from typing import Annotated, ClassVar

from ..parameters.distributions import Distribution
from ..parameters.schema import Added, Section, number, one_of

MOST_LENGTH, MOST_RADIUS = 64, 16
ANGLE = {"angle": (float, ...)}  # of a direction, in radians


class Degradation(Section):
    """A degradation that a share of the images has."""

    probability: Distribution = number(
        (0, 1), "share of the images that have it", default=1.0, chance=True
    )


class Motion(Degradation):
    """Blur by movement of the camera, along a straight line in a random direction."""

    beside = ANGLE
    length: Distribution = number(
        (0, MOST_LENGTH, "pixels"), "of the way that a point of the scene takes during the exposure"
    )


class Defocus(Degradation):
    """Blur by focusing elsewhere: a point becomes a disc."""

    radius: Distribution = number((0, MOST_RADIUS, "pixels"), "of the disc")


class Shift(Section):
    """Misregistration of the pair: the low lies beside its normal, in a random direction."""

    beside = ANGLE
    length: Distribution = number((0, 8, "pixels"), "of the shift; may be parts of a pixel")


class Banding(Degradation):
    """Bands across the picture: mains lamps flicker while its rows are read one after another."""

    beside: ClassVar = {"phase": (float, ...)}  # of the first row, in turns
    depth: Distribution = number((0, 0.95), "share of the light that comes and goes")
    bands: Distribution = number(
        (0.1, 100),
        "over the picture's height: read-out time times twice the mains frequency",
        default=3.0,
    )


class FixedPattern(Degradation):
    """A pattern that the sensor adds to every picture alike, and to all frames of a clip."""

    beside: ClassVar = {"seed": (int, ...)}  # 63 bits that key the pattern
    columns: Distribution = number(
        (0, 1000, "electrons"), "standard deviation of the offsets of its columns"
    )
    hot_share: Distribution = number((0, 0.05), "share of the sites that are hot")
    hot: Distribution = number(
        (0, 1_000_000, "electrons"),
        "mean of what hot sites collect in the dark, exponentially distributed",
        default=100.0,
    )


class Jpeg(Degradation):
    """JPEG compression of the low, the last step of all.

    gloam's own arithmetic: the error is that of libjpeg, the bytes are those of no library.
    """

    beside: ClassVar = {"quality": (int, ...)}
    quality: Distribution = number((0, 100), "1 to 100, rounded, of libjpeg's scale; 0 for none")
    chroma: Distribution = one_of(
        ("4:2:0", "4:4:4"), "colour of 2 x 2 pixels together, or of each", default="4:2:0"
    )


class LastDegradations(Section):
    """Degradations besides darkness, without a model of a camera: JPEG."""

    jpeg: Jpeg = Jpeg()


class Degradations(LastDegradations):
    """Degradations of a low besides darkness.

    Blur, shift and bands are of the light before the sensor, the fixed pattern is the sensor's own,
    JPEG comes last.
    """

    motion: Motion = Motion()
    defocus: Defocus = Defocus()
    shift: Annotated[Shift, Added(none=True)] = Shift()
    banding: Banding = Banding()
    fixed_pattern: FixedPattern = FixedPattern()
