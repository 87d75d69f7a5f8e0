"""The section `noise` of recipes: a camera that is known by its pictures alone, not by a sensor.

It is what pictures show after demosaicing, white balance and colour matrix, and takes the place of
the sensor's noise. Its unit is one 8-bit level of the straight, darkest part of the curve
(`tone.toe`), in linear light: of sRGB 1 / (255 x 12.92) of white.
"""

from __future__ import annotations

from typing import Annotated

from ..kernels.channel_noise import NODES
from ..parameters.distributions import ZERO, Constant, Distribution, Listed
from ..parameters.schema import Added, Each, Section, Within, about

_Offset = Annotated[Distribution, Within(-8, 8, "levels"), about("that black is off by")]
_Shot = Annotated[
    Distribution, Within(0, 64, "levels"), about("gain K: variance for each level of light")
]
_Read = Annotated[
    Distribution, Within(0, 64, "levels"), about("standard deviation, without the tail")
]
_Share = Annotated[Distribution, Within(0, 0.5), about("of the samples that have a tail")]
_Tail = Annotated[Distribution, Within(0, 8), about("its mean, times the read noise")]
_Rows = Annotated[Distribution, Within(0, 2), about("times a sample's own deviation")]
_Correlation = Annotated[Distribution, Within(-0.98, 0.98), about("between their noise")]


class Offset(Section):
    """Error of the black level."""

    red: _Offset = ZERO
    green: _Offset = ZERO
    blue: _Offset = ZERO


class Shot(Section):
    """Shot noise, with the skewness of Poisson's."""

    red: _Shot = ZERO
    green: _Shot = ZERO
    blue: _Shot = ZERO


class Read(Section):
    """Read noise, Gaussian."""

    red: _Read = ZERO
    green: _Read = ZERO
    blue: _Read = ZERO


class TailShare(Section):
    """Share of samples with more read noise, from hot pixels and telegraph noise."""

    red: _Share = ZERO
    green: _Share = ZERO
    blue: _Share = ZERO


class Tail(Section):
    """Exponential tail of the read noise: positive, less its mean over all samples."""

    red: _Tail = ZERO
    green: _Tail = ZERO
    blue: _Tail = ZERO


class RowsSection(Section):
    """Noise that a row shares."""

    red: _Rows = ZERO
    green: _Rows = ZERO
    blue: _Rows = ZERO


_Grain = Annotated[
    Distribution, Within(-0.3, 1), about("weight of each neighbour's noise, of a sample's own")
]


class OwnGrain(Section):
    """Grain of one of the three noises that correlations mix.

    They are red's, what green has beside red's, and what blue has beside both: where channels
    correlate, the first is brightness and the others are colour.
    """

    across: _Grain = ZERO
    down: _Grain = ZERO
    coarse: Annotated[
        Distribution, Within(0, 1), about("share of its variance that is in patches of `size`")
    ] = ZERO


class GrainSection(Section):
    """Noise that neighbours share, as demosaicing and noise reduction of a camera's JPEGs leave it.

    Weights b give neighbours a correlation of 2 b / (1 + 2 b^2); below 0, as sharpening does. Those
    of a channel are added to those of all.
    """

    across: _Grain = ZERO
    down: _Grain = ZERO
    red: Annotated[OwnGrain, Added()] = OwnGrain()
    green: Annotated[OwnGrain, Added()] = OwnGrain()
    blue: Annotated[OwnGrain, Added()] = OwnGrain()
    size: Annotated[
        Distribution, Added(), Within(2, 16, "pixels", whole=True), about("of coarse patches")
    ] = Constant(2.0)


_Curve = Annotated[
    Distribution, Within(-3, 3), Each(NODES, fewer=True), about("log of the factor at each node")
]


class NoiseCurve(Section):
    """A factor on all noise that goes with light: what shot and read noise miss of a camera.

    Between nodes its log is linear over light (with its offset), beyond them it is flat.
    """

    light: Annotated[
        Distribution,
        Within(0, 4096, "levels"),
        Each(NODES, fewer=True),
        about("the nodes, from dark to bright"),
    ] = Listed((0.0, 1.0, 2.0, 3.0, 4.5, 6.5, 9.0, 14.0, 25.0, 45.0, 90.0, 180.0))
    red: _Curve = ZERO
    green: _Curve = ZERO
    blue: _Curve = ZERO


class Correlation(Section):
    """Correlations of the channels' noise, as white balance and colour matrix leave them."""

    red_green: _Correlation = ZERO
    green_blue: _Correlation = ZERO
    red_blue: _Correlation = ZERO


class NoiseSection(Section):
    """Noise of developed light by channel, in place of the sensor's own; off unless given."""

    offset: Offset = Offset()
    shot: Shot = Shot()
    read: Read = Read()
    tail_share: TailShare = TailShare()
    tail: Tail = Tail()
    rows: RowsSection = RowsSection()
    correlation: Correlation = Correlation()
    grain: Annotated[GrainSection, Added()] = GrainSection()
    curve: Annotated[NoiseCurve, Added()] = NoiseCurve()
    kurtosis: Annotated[
        Distribution,
        Within(0, 2.9),
        about("excess kurtosis of shot and read noise: each sample is of one of two widths"),
    ] = ZERO
