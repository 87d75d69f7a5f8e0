"""The section `emitters` of recipes: lamps that shine into the lens.

Their light is added to the scene's, whatever the illumination, before the sensor. Around a lamp it
glows: a lens and the air before it scatter a share of all light far beyond the picture of its
source. The tail is Moffat's (1 + (d / a)^2)^-3/2 (A. F. J. Moffat, Astronomy and Astrophysics 3,
1969), which falls with the cube of the distance, as the wide part of measured glare does (G.
Spencer et al., Physically-based glare effects for digital images, SIGGRAPH 1995); it ends at 16 a.
Streaks are what straight edges of an aperture diffract, a line at right angles to each.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ..kernels.arrays import FloatArray
from ..kernels.curves import LUMINANCE
from ..kernels.emitters import MOST_EMITTERS
from ..kernels.numbers.library import exp
from ..parameters.distributions import Constant, Distribution
from ..parameters.schema import Section, Within, about

MOST_LINES = 4
_DAYLIGHT = 6500.0
_PRIMARIES = np.array([611.0, 549.0, 464.0])
"""Dominant wavelengths of sRGB's red, green and blue, nm."""
_C2 = 1.438777e7
"""Second radiation constant, nm K."""


class Glow(Section):
    """Light that spreads far around each lamp."""

    share: Annotated[Distribution, Within(0, 0.6), about("of a lamp's light")] = Constant(0.0)
    radius: Annotated[
        Distribution,
        Within(0.001, 0.2, "of the longer side"),
        about("a of (1 + (d / a)^2)^-3/2; half of the glow lies within 1.6 a"),
    ] = Constant(0.02)


class Streaks(Section):
    """Lines of light through each lamp, at even angles; one turn for all of a picture."""

    lines: Annotated[
        Distribution,
        Within(0, MOST_LINES, whole=True),
        about("how many: half the blades of an aperture with an even number of them"),
    ] = Constant(0.0)
    share: Annotated[Distribution, Within(0, 0.3), about("of a lamp's light")] = Constant(0.1)
    length: Annotated[
        Distribution, Within(0.01, 1, "of the longer side"), about("from a lamp to their ends")
    ] = Constant(0.1)


class Emitters(Section):
    """Lamps that shine into the lens, where the photograph is brightest."""

    repeated = True
    count: Annotated[Distribution, Within(0, MOST_EMITTERS, whole=True), about("how many")] = (
        Constant(0.0)
    )
    ev: Annotated[
        Distribution, Within(-4, 16, "EV"), about("above the photograph's white, of a lamp's disc")
    ] = Constant(7.0)
    radius: Annotated[
        Distribution,
        Within(0.0005, 0.1, "of the longer side"),
        about("of the disc; at least 1.5 pixels"),
    ] = Constant(0.01)
    temperature: Annotated[
        Distribution,
        Within(1000, 20000, "K"),
        about("of a black body of that colour; 6500 is white"),
    ] = Constant(_DAYLIGHT)
    glow: Glow = Glow()
    streaks: Streaks = Streaks()


def black_body_tints(kelvin: FloatArray) -> FloatArray:
    """Return factors on R, G and B (N, 3) of the light of black bodies, of luminance 1.

    6500 K is white. They are Planck's law at the dominant wavelengths of sRGB's primaries.
    """
    hot, day = (
        exp((_C2 / (_PRIMARIES * one)).reshape(-1)).reshape(-1, 3) - 1
        for one in (kelvin[:, None], np.array([[_DAYLIGHT]]))
    )
    tints: FloatArray = day / hot
    red, green, blue = (LUMINANCE * tints).T
    return tints / (red + green + blue)[:, None]
