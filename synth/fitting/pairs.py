"""Real pairs to fit to, and what is measured of them, and of lows simulated from their normals.

Lows without normals get a brightened, denoised stand-in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import cv2
import numpy as np

from ...engines.engine import Counted
from ...engines.local import local_engine
from ...errors import SourceError
from ...manifests.images.decode import read_rgb
from ...manifests.images.jpeg_file import jpeg_quality
from ...manifests.sources.folders import image_pairs
from ...storage.untrusted import read_regular
from ..kernels.arrays import FloatArray, FloatImage, IntArray, Pixels
from ..kernels.curves import LEVEL_LIGHT, LUMINANCE, linear_to_srgb
from ..kernels.degradations.jpeg import COSINES, quantisers
from ..kernels.degradations.jpeg import SIDE as BLOCK
from ..measures import wrong_pairs
from ..measures.columns import all_statistics
from ..measures.pair_files import each_pair
from ..measures.pair_statistics import Scene, middle
from ..models import LowMaker, draw_columns, low_maker
from ..recipes.load import Recipe
from .fitted_recipe import Shared, recipe_of_columns

MOST = 200
"""Pairs that are read."""
SIDE = 512
"""Pixels: of larger images the middle is taken."""
_LEAST = 64
_GREY = 0.18
_BRIGHT = 64  # level: of daylight without normals, half of the samples are above it
_MOST_GAIN = 4096.0
_BLUR = 2.0
_NEAR = (-6, -5, -4, -3, 3, 4, 5, 6)  # of a quality: others that are compared with it
_ITS_OWN = 0.8  # of their error: what was never a JPEG is at .98 to 1, one of quality 95 at .6
_BINS = (0, 3), (12, 20), (27, 38), (56, 72), (116, 140), (180, 204), (230, 242), (252, 256)
"""Levels of the normal, smoothed, that count as those of `CURVE_LEVELS`."""
_SMOOTHEST = 0.6  # of the pixels
_ENOUGH = 60  # pixels
_BLOCKS = 1500  # that are looked at


_DAYLIGHT = "as bright as daylight"
_SAME = "equal to their normals"
_WAYS_OUT = {
    _DAYLIGHT: "they do not show noise in the dark; give dark photographs, or their normals too",
    _SAME: "give two folders, lows and normals",
    wrong_pairs.BRIGHTER: wrong_pairs.WAY_OUT,
}


@dataclass(frozen=True)
class Pair:
    """A real pair: uint8 arrays (H, W, 3), and its name.

    Without a real normal, `normal` is the low as a smooth and bright picture, and `known` false.
    quality: of a low that is, or was, a JPEG, 1 to 100 of libjpeg's scale; 0 of others.
    files: the paths of the low and of its normal.
    """

    key: str
    low: Pixels
    normal: Pixels
    known: bool = True
    quality: int = 0
    files: tuple[Path, Path | None] = (Path(), None)

    @cached_property
    def scene(self) -> Scene:
        """The normal, with what its lows are measured by."""
        return Scene(self.normal)

    @cached_property
    def places(self) -> list[list[IntArray]]:
        """Pixels, by channel and one of `CURVE_LEVELS`, that show what a low has of that level."""
        smooth = np.flatnonzero(self.scene.flattest(_SMOOTHEST)).astype(np.int32)
        lit = cv2.GaussianBlur(self.normal.astype(np.float32), (0, 0), _BLUR).reshape(-1, 3)
        return [
            [smooth[(own >= least) & (own <= most)] for least, most in _BINS]
            for own in lit.take(smooth, 0).T.copy()
        ]


def read_pairs(
    lows: Path, normals: Path | None, left_out: list[str], brighter_lows: bool = False
) -> list[Pair]:
    """Read at most 200 pairs of two folders, evenly spread.

    left_out: gets a sentence for each reason why pairs are left out.
    brighter_lows: whether lows may be brighter than their normals.

    Raises
    ------
    SourceError
        When images are missing, too small or have no partner; when half of them are damaged or of
        unlike sizes, or half of the lows brighter than their normals, the same, of other scenes, or
        without normals as bright as daylight.
    """
    pairs: list[Pair] = []
    damaged: list[SourceError] = []
    listed = image_pairs(lows, normals, MOST)
    wrong_pairs.warn_of_few_bits(
        lows, [low for _, low, _ in listed], [one for *_, one in listed if one]
    )
    for key, low_path, normal_path in listed:
        try:
            pairs.append(_read(key, low_path, normal_path))
        except SourceError as error:
            damaged.append(error)
    if damaged:
        if len(damaged) >= len(pairs):
            raise damaged[0]
        left_out.append(wrong_pairs.damage_line([str(error) for error in damaged]))
    total = len(pairs)

    def leave_out(number: int, said: str, way_out: str) -> None:
        if 2 * number >= total:
            raise SourceError.at(lows, f"{said}: {way_out}")
        left_out.append(f"{said}: left out")

    reasons = {pair.key: _unfit(pair, brighter_lows) for pair in pairs}
    for reason in filter(None, dict.fromkeys(reasons.values())):
        own = [pair.files[0] for pair in pairs if reasons[pair.key] == reason]
        said = f"{len(own)} of {total} images are {reason}, such as {own[0]}"
        leave_out(len(own), said, _WAYS_OUT[reason])
    pairs = [pair for pair in pairs if not reasons[pair.key]]
    found = {pair.key: wrong_pairs.mismatch(pair.low, pair.normal) for pair in pairs if pair.known}
    if others := wrong_pairs.those_told(found):
        said = wrong_pairs.mismatch_line(others, total)
        leave_out(len(others), said, "give each low its own normal, of equal name")
    pairs = [pair for pair in pairs if pair.key not in others]
    if not pairs:
        raise SourceError.at(lows, "; ".join(["no pair is left to fit", *left_out]))
    for pair in pairs:
        if (least := min(pair.low.shape[:2])) < _LEAST:  # of the middle of larger images
            raise SourceError.at(
                pair.files[0], f"its shorter side has {least} pixels; {_LEAST} are the least"
            )
    if max(float(pair.low.std(axis=(0, 1)).max()) for pair in pairs) < 0.3:
        raise SourceError.at(
            lows, "its images have one value each, or nearly so: there is nothing to fit"
        )
    return pairs


def _read(key: str, low_path: Path, normal_path: Path | None) -> Pair:
    picture = read_rgb(low_path)
    quality = jpeg_quality(read_regular(low_path)) or quality_of_pixels(picture)
    low = middle(picture, SIDE)
    files = low_path, normal_path
    if normal_path is None:
        return Pair(key, low, as_normal(low), False, quality, files)
    normal = middle(read_rgb(normal_path), SIDE)
    if low.shape != normal.shape:
        raise SourceError(f"{low_path}: its normal has another size", path=low_path)
    return Pair(key, low, normal, quality=quality, files=files)


def _unfit(pair: Pair, brighter_lows: bool) -> str:
    """Return why nothing can be fitted to a pair; nothing where it can."""
    if not pair.known:
        return _DAYLIGHT if np.median(pair.low) > _BRIGHT else ""
    if np.array_equal(pair.low, pair.normal):
        return _SAME
    means = wrong_pairs.brightness(pair.low, pair.normal)
    return wrong_pairs.BRIGHTER if not brighter_lows and wrong_pairs.brighter(means).any() else ""


def as_normal(low: Pixels) -> Pixels:
    """Return a low without its noise, as bright as middle grey on average; lamps are cut."""
    light = cv2.GaussianBlur(LEVEL_LIGHT[low], (0, 0), _BLUR)
    gain = 1.0
    for _ in range(12):
        mean = float((np.minimum(light * gain, 1) @ LUMINANCE).mean())
        gain = min(_MOST_GAIN, gain * _GREY / max(mean, 1e-5))
    return np.rint(255 * linear_to_srgb(np.minimum(light * gain, 1))).astype(np.uint8)


def tone_levels(low: Pixels, pair: Pair) -> FloatArray:
    """Return the levels (3, 8) that a low has, in the median, at `CURVE_LEVELS` of its normal.

    low: uint8 array (H, W, 3), of the pair's normal. NaN where that shows too little of a level.
    """
    found = np.full((3, len(_BINS)), np.nan)
    for i, dark in enumerate(cv2.split(cv2.blur(low.astype(np.float32), (3, 3)))):
        for number, here in enumerate(pair.places[i]):
            if len(here) >= _ENOUGH:
                found[i, number] = np.median(dark.ravel()[here])
    return found


def quality_of_pixels(low: Pixels) -> int:
    """Return the quality, 40 to 95, of the JPEG that a picture was last; 0 of what was none.

    Its own steps change the luma of a JPEG hardly, those of other qualities do, wherever its blocks
    begin: the picture may have been cut since. Above 95 steps are no larger than rounding.

    low: uint8 array (H, W, 3).
    """
    luma = low.astype(np.float32) @ np.array([0.299, 0.587, 0.114], np.float32) - 128
    if min(luma.shape) < 5 * BLOCK:
        return 0
    found = (_ITS_OWN, 0)
    for top, left in {(0, 0), (_first(luma.T), _first(luma))}:
        high, wide = (luma.shape[0] - top) // BLOCK, (luma.shape[1] - left) // BLOCK
        part = luma[top : top + BLOCK * high, left : left + BLOCK * wide]
        blocks = part.reshape(high, BLOCK, wide, BLOCK).swapaxes(1, 2).reshape(-1, BLOCK, BLOCK)
        some = COSINES @ blocks[:: -(-len(blocks) // _BLOCKS)] @ COSINES.T
        errors = np.zeros(102)
        for quality in range(34, 102):
            steps = quantisers(min(quality, 100))[0].reshape(BLOCK, BLOCK)
            errors[quality] = np.sqrt(np.square(some - steps * np.rint(some / steps)).mean())
        for quality in range(40, 96):
            others = max(float(np.mean([errors[quality + i] for i in _NEAR])), 1e-6)
            found = min(found, (float(errors[quality]) / others, quality))
    return found[1]


def _first(luma: FloatImage) -> int:
    """Return the column that JPEG's blocks seem to begin at: the largest steps are before it."""
    steps = np.abs(np.diff(luma, axis=1)).mean(axis=0)
    whole = len(steps) // BLOCK * BLOCK
    return (int(steps[:whole].reshape(-1, BLOCK).mean(axis=0).argmax()) + 1) % BLOCK


@dataclass(frozen=True)
class PairMeasures:
    """Measures of N pairs.

    rows: `all_statistics` of each.
    tone: float array (N, 3, 8); `tone_levels` of each, NaN without a real normal.
    pairs: the real ones, with what was found of their normals.
    """

    rows: list[dict[str, float]]
    tone: FloatArray
    pairs: Sequence[Pair] = ()

    def __getitem__(self, name: str) -> FloatArray:
        """Return a statistic of all pairs (N)."""
        return np.array([row[name] for row in self.rows])


def measure_pairs(
    pairs: Sequence[Pair],
    shared: Shared | None,
    made_by: FloatArray | Recipe | None,
    seed: int,
    workers: int | None,
    at: Counted,
) -> PairMeasures:
    """Measure real pairs, or lows simulated from their normals.

    shared: what pairs share. made_by: parameters (N, C), which need it, or a recipe that they are
    drawn from.
    """
    keys, maker = [pair.key for pair in pairs], None
    if isinstance(made_by, np.ndarray):
        assert shared is not None
        maker = maker_of(made_by, shared, seed, keys)
    elif made_by is not None:
        maker = low_maker(made_by, seed, keys)
    lows = [_Low(pair, maker, i) for i, pair in enumerate(pairs)]
    found = each_pair(_measured, lows, local_engine(workers), at)
    kept = [one for one in found if not isinstance(one, str)]
    rows, tones, real = zip(*kept, strict=True)
    return PairMeasures([*rows], np.array(tones), real if maker is None else ())


def maker_of(values: FloatArray, shared: Shared, seed: int, keys: Sequence[str]) -> LowMaker:
    """Return what makes the lows of N pairs by parameters (N, C): drawn together, once a pass."""
    _, kinds = np.unique(values != 0, axis=0, return_inverse=True)
    parts = []
    for kind in np.unique(kinds):
        here = np.flatnonzero(kinds.reshape(-1) == kind)
        recipe = recipe_of_columns(values[here], shared)
        drawn = draw_columns(recipe, seed, [keys[i] for i in here.tolist()])
        parts += [one._replace(places=here) for one in drawn]
    return LowMaker.of_columns(parts)


@dataclass(frozen=True)
class _Low:
    """A pair's low, or what is made of its normal."""

    pair: Pair
    maker: LowMaker | None
    number: int

    def read(self) -> tuple[Pixels, Pixels]:
        normal = self.pair.normal
        low = self.pair.low if self.maker is None else self.maker.low(self.number, normal)
        return low, normal


def _measured(
    one: _Low, low: Pixels, normal: Pixels
) -> tuple[dict[str, float], FloatArray, Pair | None]:
    tone = tone_levels(low, one.pair) if one.pair.known else np.full((3, 8), np.nan)
    return all_statistics(low, one.pair.scene), tone, None if one.maker else one.pair
