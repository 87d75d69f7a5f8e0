"""Functions of the C library for whole arrays, with the bits of Python's `math` and `statistics`.

NumPy's own differ from them in last bits, and between CPUs. Drawing one image calls Python's, and
drawing many must give the same numbers.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ..compiling.compile import kernel, scalar

Floats = npt.NDArray[np.float64]


@kernel
def exp(x: Floats) -> Floats:
    """Return `math.exp` of each number of an array (N)."""
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        out[i] = math.exp(x[i])
    return out


@kernel
def log(x: Floats) -> Floats:
    """Return `math.log` of each number of an array (N), all above 0."""
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        out[i] = math.log(x[i])
    return out


@kernel
def power(base: float, x: Floats) -> Floats:
    """Return `base**x` of each number of an array (N)."""
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        out[i] = math.pow(base, x[i])
    return out


@kernel
def sine_and_cosine(x: Floats) -> tuple[Floats, Floats]:
    """Return `math.sin` and `math.cos` of each number of an array (N)."""
    sine, cosine = np.empty_like(x), np.empty_like(x)
    for i in range(x.shape[0]):
        sine[i] = math.sin(x[i])
        cosine[i] = math.cos(x[i])
    return sine, cosine


@scalar
def _ratio(r, above, below):
    """Return the ratio of two polynomials of degree 7, highest coefficients first."""
    numerator, denominator = above[0], below[0]
    for i in range(1, 8):
        numerator = numerator * r + above[i]
        denominator = denominator * r + below[i]
    return numerator, denominator


@kernel
def _normal_quantile(p, mean, deviation, middle, tail, far, out):
    for i in range(p.shape[0]):
        q = p[i] - 0.5
        if abs(q) <= 0.425:
            above, below = _ratio(0.180625 - q * q, middle[0], middle[1])
            x = above * q / below
        else:
            r = math.sqrt(-math.log(p[i] if q <= 0.0 else 1.0 - p[i]))
            if r <= 5.0:
                above, below = _ratio(r - 1.6, tail[0], tail[1])
            else:
                above, below = _ratio(r - 5.0, far[0], far[1])
            x = above / below
            if q < 0.0:
                x = -x
        out[i] = mean + x * deviation


def _coefficients(text: str) -> Floats:
    """Return numerator and denominator (2, 8), highest powers first, of sixteen numbers."""
    return np.array(text.split(), np.float64).reshape(2, 8)


# Wichura, algorithm AS 241, PPND16 (Applied Statistics 37, 1988, pages 477 to 484): numerator and
# denominator about the middle, in the tails, and far out in them.
_MIDDLE = _coefficients("""
    2509.0809287301226727 33430.575583588128105 67265.770927008700853 45921.953931549871457
    13731.693765509461125 1971.5909503065514427 133.14166789178437745 3.3871328727963666080
    5226.4952788528545610 28729.085735721942674 39307.895800092710610 21213.794301586595867
    5394.1960214247511077 687.18700749205790830 42.313330701600911252 1.0
""")
_TAIL = _coefficients("""
    7.74545014278341407640e-4 0.0227238449892691845833 0.241780725177450611770
    1.27045825245236838258 3.64784832476320460504 5.76949722146069140550 4.63033784615654529590
    1.42343711074968357734 1.05075007164441684324e-9 5.47593808499534494600e-4
    0.0151986665636164571966 0.148103976427480074590 0.689767334985100004550 1.67638483018380384940
    2.05319162663775882187 1.0
""")
_FAR = _coefficients("""
    2.01033439929228813265e-7 2.71155556874348757815e-5 0.00124266094738807843860
    0.0265321895265761230930 0.296560571828504891230 1.78482653991729133580 5.46378491116411436990
    6.65790464350110377720 2.04426310338993978564e-15 1.42151175831644588870e-7
    1.84631831751005468180e-5 7.86869131145613259100e-4 0.0148753612908506148525
    0.136929880922735805310 0.599832206555887937690 1.0
""")


def normal_quantile(p: Floats, mean: float = 0.0, deviation: float = 1.0) -> Floats:
    """Return `NormalDist(mean, deviation).inv_cdf(p)` of numbers (N) between 0 and 1."""
    out = np.empty_like(p)
    _normal_quantile(p, float(mean), float(deviation), _MIDDLE, _TAIL, _FAR, out)
    return out
