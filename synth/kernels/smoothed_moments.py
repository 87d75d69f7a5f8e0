"""Moments of levels whose chroma is smoothed, from those of the pixels around, in float32."""

from __future__ import annotations

from .compiling.compile import kernel, scalar
from .curves import LUMA
from .moments import pixel_at, scattered
from .types import f32

_ZERO, _ONE, _TWO = f32(0), f32(1), f32(2)
_RED, _GREEN, _BLUE = f32(LUMA[0]), f32(LUMA[1]), f32(LUMA[2])


@scalar
def _total(i, j, by_source, slopes, shares, shared):
    """Return the covariance of two levels: what follows the sites, and what does not.

    shared: see `_both`.
    """
    following = _ZERO
    for a in range(5):
        following += by_source[a] * shares[a, i, j]
    pair = 3 if i + j == 1 else (4 if i + j == 3 else 5)
    own = shared[i] if i == j else shared[pair]
    return following * slopes[i] * slopes[j] + shares[5, i, j] * own


@scalar
def _mixed(c, strength):
    """Return what a level takes of a share of its difference to brightness."""
    red, green, blue = -strength * _RED, -strength * _GREEN, -strength * _BLUE
    return (
        red + (strength if c == 0 else _ZERO),
        green + (strength if c == 1 else _ZERO),
        blue + (strength if c == 2 else _ZERO),
    )


@scalar
def _unmixed(c, strength):
    """Return what a level takes of the channels beside `_mixed`."""
    taken = _mixed(c, strength)
    return (
        (_ONE if c == 0 else _ZERO) - taken[0],
        (_ONE if c == 1 else _ZERO) - taken[1],
        (_ONE if c == 2 else _ZERO) - taken[2],
    )


@scalar
def smoothed_parts(part, by_source, moments, taken, strength):
    """Return variances of three levels after chroma noise reduction.

    part: 0 of what is not blurred, 1 of that with the blur, 2 of the blur alone. by_source: see
    `scattered`. moments: of `moments_of`, from the fifth on. taken: float32 array (3, 6, 3, 3) of
    `kernels.site_noise`.
    """
    rests, covariances, slopes = moments
    shared = (*rests, *covariances)
    shares = taken[part]
    total = (
        (
            _total(0, 0, by_source, slopes, shares, shared),
            _total(0, 1, by_source, slopes, shares, shared),
            _total(0, 2, by_source, slopes, shares, shared),
        ),
        (
            _total(1, 0, by_source, slopes, shares, shared),
            _total(1, 1, by_source, slopes, shares, shared),
            _total(1, 2, by_source, slopes, shares, shared),
        ),
        (
            _total(2, 0, by_source, slopes, shares, shared),
            _total(2, 1, by_source, slopes, shares, shared),
            _total(2, 2, by_source, slopes, shares, shared),
        ),
    )
    return (
        _part(0, part, total, strength),
        _part(1, part, total, strength),
        _part(2, part, total, strength),
    )


@scalar
def _part(c, part, total, strength):
    one = _unmixed(c, strength) if part < 2 else _mixed(c, strength)
    other = _mixed(c, strength) if part > 0 else _unmixed(c, strength)
    variance = _ZERO
    for i in range(3):
        for j in range(3):
            variance += one[i] * other[j] * total[i][j]
    return _TWO * variance if part == 1 else variance


@kernel
def smoothed_variances(counts, site, moments, taken, strength, out):
    """Fill `smoothed_parts` of pixels.

    moments: float32 arrays (3, h, w) of `pixel_moments`, from the fifth on. taken: float32 array
    (2, 2, 3, 6, 3, 3). out: float32 array (3, 3, h, w), by part and channel.
    """
    rests, covariances, slopes = moments
    for y in range(counts.shape[1]):
        for x in range(counts.shape[2]):
            by_source = scattered(pixel_at(counts, y, x), site)
            own = pixel_at(rests, y, x), pixel_at(covariances, y, x), pixel_at(slopes, y, x)
            for part in range(3):
                found = smoothed_parts(part, by_source, own, taken[y & 1, x & 1], strength)
                for c in range(3):
                    out[part, c, y, x] = found[c]
