"""The section `degradations` of recipes; all of it is off where a recipe says nothing."""

from __future__ import annotations

from typing import Annotated

from ..parameters.distributions import ZERO, Constant, Distribution
from ..parameters.schema import Added, Chance, OneOf, Section, Within, about

MOST_LENGTH, MOST_RADIUS = 64, 16


class Degradation(Section):
    """A degradation that a share of the images has."""

    probability: Annotated[
        Distribution, Within(0, 1), Chance(), about("share of the images that have it")
    ] = Constant(1.0)


class Motion(Degradation):
    """Blur by movement of the camera, along a straight line in a random direction."""

    length: Annotated[
        Distribution,
        Within(0, MOST_LENGTH, "pixels"),
        about("of the way that a point of the scene takes during the exposure"),
    ] = ZERO


class Defocus(Degradation):
    """Blur by focusing elsewhere: a point becomes a disc."""

    radius: Annotated[Distribution, Within(0, MOST_RADIUS, "pixels"), about("of the disc")] = ZERO


class Shift(Section):
    """Misregistration of the pair: the low lies beside its normal, in a random direction."""

    length: Annotated[
        Distribution, Within(0, 8, "pixels"), about("of the shift; may be parts of a pixel")
    ] = ZERO


class Banding(Degradation):
    """Bands across the picture: mains lamps flicker while its rows are read one after another."""

    depth: Annotated[
        Distribution, Within(0, 0.95), about("share of the light that comes and goes")
    ] = ZERO
    bands: Annotated[
        Distribution,
        Within(0.1, 100),
        about("over the picture's height: read-out time times twice the mains frequency"),
    ] = Constant(3.0)


class FixedPattern(Degradation):
    """A pattern that the sensor adds to every picture alike, and to all frames of a clip."""

    columns: Annotated[
        Distribution,
        Within(0, 1000, "electrons"),
        about("standard deviation of the offsets of its columns"),
    ] = ZERO
    hot_share: Annotated[
        Distribution, Within(0, 0.05), about("share of the sites that are hot")
    ] = ZERO
    hot: Annotated[
        Distribution,
        Within(0, 1_000_000, "electrons"),
        about("mean of what hot sites collect in the dark, exponentially distributed"),
    ] = Constant(100.0)


class Jpeg(Degradation):
    """JPEG compression of the low, the last step of all.

    gloam's own arithmetic: the error is that of libjpeg, the bytes are those of no library.
    """

    quality: Annotated[
        Distribution, Within(0, 100), about("1 to 100, rounded, of libjpeg's scale; 0 for none")
    ] = ZERO
    chroma: Annotated[
        Distribution,
        OneOf(("4:2:0", "4:4:4")),
        about("colour of 2 x 2 pixels together, or of each"),
    ] = Constant("4:2:0")


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
    shift: Annotated[Shift, Added()] = Shift()
    banding: Banding = Banding()
    fixed_pattern: FixedPattern = FixedPattern()
