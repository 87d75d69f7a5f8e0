"""Pairs that are none: lows that are brighter than their normals, and normals of other scenes.

Whether a low and a normal show one scene, in one place and the same way round, their correlation
says: it has a peak at no move, however dark and uneven a low is, if frequencies count by little
more than their phase (Kuglin and Hines, "The phase correlation image alignment method", 1975). If
noise or blur leaves no peak, thumbnails tell whether it is one scene.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np

from ...errors import GloamWarning, ImageRefused, SourceError
from ...manifests.images.decode import decode_at_depth, decode_small
from ...manifests.images.header import read_header
from ...manifests.images.npy import MAGIC, npy_as_png
from ...manifests.images.opening import byte_limit
from ...manifests.selection.duplicates import correlate, thumbnail
from ...manifests.selection.measures import SIDE
from ...manifests.sources.folders import evenly
from ...storage.untrusted import read_regular
from ..kernels.arrays import FloatImage, Pixels
from .pair_statistics import middle, residual

BRIGHTER = "brighter than their normals"
WAY_OUT = "name the lows first; --brighter-lows if they are over-exposed"
"""What to do about lows that are brighter than their normals."""
_BY = 1.2
"""Times its normal's mean (sRGB-encoded) that a low's is, from which on it is the brighter one."""
MOST_BRIGHTER = 0.1
"""Share of a set's pairs whose low may be brighter than its normal, as of black pictures."""
MOST_OF_AREA = 0.005
"""Share of a picture's area whose low may be brighter than its normal."""
_ABOVE, _BLURRED, _AROUND, _CLIPPED = 8, 9, 8, 250  # levels; pixels; pixels; level
_MEAN = np.full((1, 3), 1 / 3, np.float32)
_NAMED, _LISTED = 50, 5
_LOOKED_AT = 25  # pictures of each of two lists
_DECODED = 3  # the same, whose depth is looked at


def brightness(low: Pixels, normal: Pixels) -> tuple[float, float]:
    """Return the mean levels of a low and its normal, uint8 arrays (H, W, 3)."""
    low_mean, normal_mean = (float(np.mean(cv2.mean(image)[:3])) for image in (low, normal))
    return low_mean, normal_mean


def mean_level(picture: Path | str | bytes) -> float:
    """Return the mean level of a picture, decoded roughly reduced.

    Raises ImageRefused when it cannot be decoded, OSError when its file cannot be read.
    """
    held = picture if isinstance(picture, bytes) else read_regular(picture, byte_limit())
    data = npy_as_png(held)
    return float(np.mean(cv2.mean(decode_small(data, read_header(data), SIDE))[:3]))


def brighter(means: Any) -> Any:
    """Return which lows are brighter than their normals: bool array (N).

    means: float array (N, 2), of each low and its normal, in any unit.
    """
    low, normal = np.asarray(means, np.float64).reshape(-1, 2).T
    return low > _BY * normal


def brighter_area(low: Pixels, normal: Pixels) -> float:
    """Return the share of a picture's area where its low is brighter than its normal.

    By more than 8 levels, of means of 9 x 9 pixels; what the normal clips may be brighter, and what
    lies within 8 pixels of it.

    low, normal: uint8 arrays (H, W, 3) of equal size.
    """

    def smooth(image: Pixels) -> Pixels:
        return np.asarray(cv2.blur(cv2.transform(image, _MEAN), (_BLURRED, _BLURRED)), np.uint8)

    # Of each colour, whose means take longer, and less what is rounded.
    if cv2.blur(cv2.subtract(low, normal), (_BLURRED, _BLURRED)).max() < _ABOVE - 2:
        return 0.0
    dark, bright = smooth(low), smooth(normal)
    above = cv2.subtract(dark, bright) > _ABOVE
    if not above.any():
        return 0.0
    unclipped = cv2.inRange(normal, (0, 0, 0), (_CLIPPED - 1,) * 3)
    around = cv2.erode(unclipped, np.ones((2 * _AROUND + 1, 2 * _AROUND + 1), np.uint8))
    return float((above & (around > 0)).mean())


def are_swapped(means: Any) -> bool:
    """Return whether lows and normals are taken for one another: half of the lows are brighter."""
    found = brighter(means)
    return bool(len(found) and 2 * found.sum() >= len(found))


def refuse_swapped(
    where: object, means: Any, names: Sequence[object], said: str = BRIGHTER
) -> None:
    """Raise SourceError where lows and normals are taken for one another.

    where: what it is about. means: see `brighter`. names: of the lows. said: what the lows are.
    """
    if are_swapped(means):
        found = brighter(means)
        first = names[int(np.argmax(found))]
        raise SourceError.at(
            where, f"{found.sum()} of {len(found)} images are {said}, such as {first}: {WAY_OUT}"
        )


def refuse_swapped_lists(
    where: object,
    dark: Sequence[Path | str | bytes],
    bright: Sequence[Path | str | bytes],
    called: str,
) -> None:
    """Raise SourceError where dark and bright pictures, which are no pairs, are taken so.

    Some of each are looked at, evenly spread, and those of equal rank by brightness compared;
    damaged ones are passed over.

    called: the bright ones, as the message names them.
    """
    levels, others = ([*_levels(one)] for one in (dark, bright))
    if levels and others:
        levels.sort()
        ranks = np.quantile([level for level, _ in others], np.linspace(0, 1, len(levels)))
        means = [(level, other) for (level, _), other in zip(levels, ranks, strict=True)]
        names = [name for _, name in levels]
        refuse_swapped(where, means, names, f"brighter than {called}")


def _levels(pictures: Sequence[Path | str | bytes]) -> Iterator[tuple[float, str]]:
    """Yield the mean levels of some pictures, each with its name."""
    for one, name in _some_of(pictures, _LOOKED_AT):
        with suppress(ImageRefused, OSError):
            yield mean_level(one), name


def _some_of(pictures: Sequence[Any], count: int) -> Iterator[tuple[Any, str]]:
    """Yield so many pictures, evenly spread, each with its name."""
    for number in evenly(len(pictures), count):
        one = pictures[number]
        yield one, f"entry {number}" if isinstance(one, bytes) else str(one)


_HEADER = 128  # bytes of a .npy file that say its type


def warn_of_few_bits(where: object, lows: Sequence[Any], normals: Sequence[Any] = ()) -> None:
    """Warn where files of 16 bits seem to hold 12 or fewer, normals 14 or fewer: all is dark.

    Nothing in such files says so: TIFF's MaxSampleValue and PNG's sBIT are not about what is white.
    Some of the pictures are looked at, evenly spread, those of this machine.
    """
    for pictures, bits in ((normals, 14), ((*lows, *normals), 12)):
        deep = [*_deep(pictures)]
        most = max((level for level, _ in deep), default=1 << bits)
        if most < 1 << bits:
            held = next(fewer for fewer in (10, 12, 14) if most < 1 << fewer)
            warnings.warn(
                f"{where}: 16-bit pictures in which no sample is above {most:,} of 65,535, such as"
                f" {deep[0][1]}: if they hold {held} bits, multiply them by {1 << 16 - held}",
                GloamWarning,
                stacklevel=3,
            )
            return


def _deep(pictures: Sequence[Any]) -> Iterator[tuple[int, str]]:
    """Yield the highest sample of those of some pictures that have 16 bits, each with its name."""
    for one, name in _some_of(pictures, _DECODED):
        with suppress(ImageRefused, OSError, ValueError):  # what is damaged is told when it is read
            data = one if isinstance(one, bytes) else read_regular(name, byte_limit())
            array = data.startswith(MAGIC)  # of floats as of whole numbers
            if b"u2'" in data[:_HEADER] if array else read_header(data).convert == "16 bit":
                yield int(decode_at_depth(data).max()), name


def swapped_warning(where: object, means: Any) -> str:
    """Return what loaders say where lows and normals are taken for one another; else nothing."""
    if not are_swapped(means):
        return ""
    found = brighter(means)
    return (
        f"{where}: {found.sum()} of the first {len(found)} lows are {BRIGHTER}: are the two taken"
        " for one another? Name the lows first"
    )


def damage_line(damaged: Sequence[str]) -> str:
    """Name images that were passed over: each of `damaged` is a path with what is wrong."""
    more = f"; and {len(damaged) - _LISTED:,} more" if len(damaged) > _LISTED else ""
    return f"images left out, {len(damaged):,}: {'; '.join(damaged[:_LISTED])}{more}"


def mismatch_line(mismatched: Mapping[str, str], count: int) -> str:
    """Name the pairs that are none.

    mismatched: mapping of a pair's name to `mismatch`. count: of all pairs.
    """
    named = [f"{name} ({what})" for name, what in mismatched.items()]
    more = f" and {len(named) - _NAMED:,} more" if len(named) > _NAMED else ""
    said = "low and normal do not show the same"
    return f"{len(named):,} of {count:,} pairs: {said}: {', '.join(named[:_NAMED])}{more}"


_GLIMPSE, _SIDE = 256, 512
"""Pixels of the middle that are compared, the second where the first show too little."""
_GLANCE = 16.0
"""Peak, in deviations of the correlation, from which on few pixels are enough."""
_STILL, _ANYWHERE = 9.0, 14.0
"""Peaks that chance does not give: near no move, and at any."""
_STANDS_OUT = 1.2
"""Times the height at no move that another peak has."""
_TURNED = 1.3
"""Times the height as it lies that a turned normal's peak has; of mirrored real pairs it is 1.7."""
_REGISTERED = 2
"""Pixels, across or down, by which low and normal may be apart."""
_PHASE = 0.7
"""Power of its magnitude that a frequency is divided by: by 1, noise would count as edges do."""
_BAND = 0.02, 0.25
"""Cycles a pixel that scenes are compared in: below is light, above is noise."""
_LEAST = 32  # pixels of a side
_FLAT = 12  # levels, within which a border has one colour
_ALIKE = 7, 10
"""Least correlation of the thumbnails of one scene, as a fraction: lows of LOL and SICE have .7 and
more with their own normals, .5 with 99 of 100 others."""
_BLOCKS, _BLOCKS_ALIKE = 0.95, (1, 5)
"""Share of pixels that equal their neighbours, from which on JPEG left little but flat blocks of a
low, and what those of one scene correlate by: at quality 5 all but 2 of 30 lows of LOL do."""
_CELLS = 16
_SHOWN = 20
"""Variance of a picture's cells, over what its noise would give them, from which on it shows
something."""
_EXCHANGED = "red and blue exchanged, as OpenCV has them"
_OPPOSITE, _FEW = -0.4, 3
"""Correlation of red over blue, below which they are exchanged if half of the pairs, and so many,
say so: real pairs have -0.17 and more, the medians of all recipes .55."""
_LARGE = 2048  # pixels: of larger pictures the middle is looked at for noise
_WAYS: dict[str, tuple[int, ...]] = {
    "": (),
    "mirrored": (1,),
    "upside down": (0,),
    "turned by 180 degrees": (0, 1),
}
"""How a normal may lie against its low, and the axes that turn it back."""


class _Peak(NamedTuple):
    """A peak of a correlation, in its deviations.

    way: how the normal lay, see `_WAYS`.
    height, down, across: the highest one, and where it is.
    still, centre: the highest one up to 2 pixels from no move, and that at none.
    """

    way: str
    height: float
    down: int
    across: int
    still: float
    centre: float

    @property
    def pixels(self) -> float:
        return float(np.hypot(self.down, self.across))

    @property
    def moved(self) -> bool:
        return max(abs(self.down), abs(self.across)) > _REGISTERED

    def near(self, other: _Peak) -> bool:
        apart = abs(self.down - other.down), abs(self.across - other.across)
        return max(apart) <= 1


def mismatch(low: Pixels, normal: Pixels) -> str:
    """Return what is wrong with a pair; nothing where its low and its normal match.

    low, normal: uint8 arrays (H, W, 3) of one size.

    Returns "another scene", "mirrored" and the like, "moved by 3 pixels" and more, or what says
    something of many pairs alone (`those_told`); nothing where either picture shows nothing, as a
    black one does.
    """
    if low.shape != normal.shape:
        return ""
    return _place_apart(low, normal) or (_EXCHANGED if _are_exchanged(low, normal) else "")


def those_told(found: Mapping[str, str]) -> dict[str, str]:
    """Return the pairs of a set that are none, without what few pairs show by chance.

    found: mapping of the name of each pair that was compared to `mismatch`.
    """
    exchanged = sum(what == _EXCHANGED for what in found.values())
    chance = exchanged < max(_FEW, len(found) / 2)
    return {
        name: what for name, what in found.items() if what and (what != _EXCHANGED or not chance)
    }


def _are_exchanged(low: Pixels, normal: Pixels) -> bool:
    """Return whether red is above blue in a low where it is below in its normal."""
    red_over_blue = []
    for image in (low, normal):
        cells = np.log(
            cv2.resize(middle(image, _SIDE), (_CELLS, _CELLS), interpolation=cv2.INTER_AREA) + 2.0
        )
        red_over_blue.append(cells[..., 0] - cells[..., 2])
    one, other = (values - values.mean() for values in red_over_blue)
    return bool((one * other).sum() < _OPPOSITE * np.sqrt((one**2).sum() * (other**2).sum()))


def _place_apart(low: Pixels, normal: Pixels) -> str:
    for number, (side, scale) in enumerate(_views(max(low.shape[:2]))):
        if number == 1:
            low, normal = _without_borders(low, normal)
        if min(low.shape[:2]) < _LEAST:
            return ""
        view = [_view(image, side, scale) for image in (low, normal)]
        shape = view[0].shape[0], view[0].shape[1]
        spectra = [_spectrum(image) for image in view]
        own, mirrored = (_peak(spectra, shape, way) for way in ("", "mirrored"))
        moved = own.moved and own.height >= max(_ANYWHERE, _STANDS_OUT * own.centre)
        if not moved and own.still >= max(_STILL if number else _GLANCE, mirrored.height):
            return ""
        if not number:
            continue
        best = max((_peak(spectra, shape, way) for way in _WAYS), key=lambda peak: peak.height)
        if best.way and best.height >= max(_ANYWHERE, _TURNED * own.height):
            return best.way
        # What is blurred has its highest phase correlation beside its place, not its highest light.
        if moved and own.near(_peak(spectra, shape, "", phase=0)):
            return f"moved by {own.pixels / scale:.0f} pixels"
        if own.still >= _STILL:
            return ""
    return _by_thumbnails(low, normal)


def _views(longer: int) -> Iterator[tuple[int, float]]:
    """Yield what is looked at: the side of the middle, and its scale."""
    yield _GLIMPSE, 1.0
    yield _SIDE, 1.0
    if longer > _SIDE:
        yield _SIDE, _SIDE / longer


def _without_borders(low: Pixels, normal: Pixels) -> tuple[Pixels, Pixels]:
    """Return a pair without rows and columns at its edges of which the normal has one colour."""
    kept = []
    for axis in (0, 1):
        lines = normal.max(axis=1 - axis).astype(int) - normal.min(axis=1 - axis)
        shown = np.flatnonzero(lines.max(axis=1) > _FLAT)
        kept.append(slice(shown[0], shown[-1] + 1) if len(shown) else slice(0))
    return low[kept[0], kept[1]], normal[kept[0], kept[1]]


def _view(image: Pixels, side: int, scale: float) -> Pixels:
    if scale == 1:
        return middle(image, side)
    return np.asarray(
        cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA), np.uint8
    )


def _spectrum(image: Pixels) -> Any:
    """Return the spectrum of a picture on a scale on which a gain is a shift, without its edges."""
    values = np.log(_grey(image) + 2)
    return np.fft.rfft2((values - values.mean()) * _window(*values.shape))


def _peak(spectra: list[Any], shape: tuple[int, int], way: str, phase: float = _PHASE) -> _Peak:
    """Correlate two pictures of a shape, by their spectra, of which the second lies some way.

    The place of the peak says nothing if the second is turned back.
    """
    first, second = spectra
    if way in ("mirrored", "upside down"):
        second = np.roll(second[::-1], 1, axis=0)
    product = first * (np.conj(second) if way in ("", "upside down") else second)
    size = np.abs(product)
    product *= _band(*shape) / np.maximum(size, 1e-6 * size.max() + 1e-20) ** phase
    found = np.fft.irfft2(product, shape)
    deviation = max(float(found.std()), 1e-20)
    place = np.unravel_index(int(found.argmax()), shape)
    down, across = (
        int(at) - (length if 2 * at > length else 0)
        for at, length in zip(place, shape, strict=True)
    )
    still, centre = (
        float(found[np.ix_(near, near)].max()) / deviation
        for near in (np.arange(-most, most + 1) for most in (_REGISTERED, 0))
    )
    return _Peak(way, float(found.max()) / deviation, down, across, still, centre)


@lru_cache(maxsize=16)
def _window(height: int, width: int) -> FloatImage:
    """Return weights that fall to nothing at the edges."""
    down, across = (np.hanning(length + 2)[1:-1] for length in (height, width))
    return np.outer(down, across).astype(np.float32)


@lru_cache(maxsize=16)
def _band(height: int, width: int) -> FloatImage:
    """Return weights of the frequencies."""
    cycles = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None])
    lower, upper = ((cycles / bound) ** 2 for bound in _BAND)
    return (lower / (1 + lower) * np.exp(-upper)).astype(np.float32)


def _by_thumbnails(low: Pixels, normal: Pixels) -> str:
    """Return what is wrong with a pair of which no detail agrees."""
    if not all(map(_shows_something, (low, normal))):
        return ""
    own, grey = thumbnail(low), _grey(low)
    alike = _BLOCKS_ALIKE if np.mean(grey[:, 1:] == grey[:, :-1]) > _BLOCKS else _ALIKE
    for way, axes in _WAYS.items():
        if correlate(own, thumbnail(np.ascontiguousarray(np.flip(normal, axes))), alike):
            return way
    return "another scene"


def _shows_something(image: Pixels) -> bool:
    """Return whether a picture shows more than noise: its cells differ more than pixels do."""
    grey = _grey(middle(image, _LARGE))
    cells = cv2.resize(grey, (_CELLS, _CELLS), interpolation=cv2.INTER_AREA)
    by_chance = residual(grey).var() * _CELLS**2 / grey.size
    return bool(cells.var() > _SHOWN * by_chance)


def _grey(image: Pixels) -> FloatImage:
    return np.asarray(cv2.transform(image.astype(np.float32), _MEAN), np.float32)
