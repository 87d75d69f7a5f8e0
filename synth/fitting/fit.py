"""A recipe from folders of real lows, with or without their normals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from ...engines.engine import ignored
from ...errors import ConfigError, ImageRefused, SourceError
from ...manifests.images.decode import decode_as_rgb
from ...manifests.images.folders import image_files
from ..analysis.pair_statistics import LABELS
from ..kernels.arrays import Pixels
from ..recipes.annotated import annotated_yaml
from .measure import Pair, Table, even_keys, made_by, rows_of, table_of, without_bright_levels
from .parameters import CAMERA, OF_LIGHTS, Parameters
from .search import by_least_squares, by_moments

T = TypeVar("T")
_FEW_IMAGES = 64  # by which parameters are moved first, and derivatives taken
_MOST = 200  # that are read, and held in memory
_MANY, _LAST = 80_000_000, 5  # pixels by which the search ends, and how often they are made
_LACKS = 0.03  # EV of mean exposure that are made up for
_SIDE = 640  # pixels; of larger images the middle is taken
_DEMOSAICED = 0.12  # neighbouring samples' correlation above which they were interpolated
_UNEVEN, _UNEVEN_LOW = 0.7, 1.4  # EV of field, or of lows alone, above which there are lights
_SOME, _SOME_LOWS, _ALL = 0.15, 0.28, 0.7  # such images from which on there are lights, or in all
_FEW = 30
_BRIGHT = 0.35  # mean of lows, sRGB
_BLOCKS = 1.2  # steps at the edges of JPEG's blocks, over those within


@dataclass(frozen=True)
class Fit:
    """What was found.

    Attributes
    ----------
    parameters : Parameters
    wanted, found : Table
        Percentiles of the statistics: of the lows given, and of what the recipe makes.
    warnings : list of str
        What the lows cannot tell.
    """

    parameters: Parameters
    wanted: Table
    found: Table
    warnings: list[str]

    def yaml(self, name: str) -> str:
        """Return the recipe with comments: bounds, units, and how near it came."""
        recipe = self.parameters.recipe(name, "Fitted to real lows; the camera stands for theirs")
        lines = [f"# {line}" for line in (*self.warnings, *self.lines())]
        return annotated_yaml(recipe) + "\n" + "\n".join(lines) + "\n"

    def lines(self) -> list[str]:
        """Return a line for each statistic: its median as given and as made."""
        head = f"{'median of':46}{'given':>10}{'made':>10}"
        return [
            head,
            *(
                f"{LABELS[name]:46}{self.wanted[name][2]:>10.3g}{self.found[name][2]:>10.3g}"
                for name in LABELS
                if name in self.wanted and name in self.found
            ),
        ]


def fit(
    lows: Path,
    normals: Path | None = None,
    photographs: Path | None = None,
    *,
    workers: int = 1,
    evaluations: int = 56,
    rounds: int = 8,
    at: Callable[[int], None] = ignored,
) -> Fit:
    """Find a recipe whose lows have the statistics of real ones.

    Parameters
    ----------
    lows : Path
        A folder.
    normals : Path, optional
        Their normals: equal names but for the suffix.
    photographs : Path, optional
        Without normals: ordinary photographs to darken, as like the scenes as can be had.
    workers : int
        Threads.
    evaluations : int
        Recipes that are tried by least squares, after the moments, before the last search by more
        images; less than twenty are too few for a step, with none there is no last search.
    rounds : int
        By which parameters are moved first, each by the moment that it moves most.
    at : function of a number
        Gets how many recipes were tried.

    Raises
    ------
    SourceError
        When images are missing, damaged, or have no partner.
    """
    low_files = image_files(lows)
    with ThreadPoolExecutor(workers) as pool:
        if normals is not None:
            normal_files = image_files(normals)
            alone = sorted(low_files.keys() ^ normal_files.keys())
            if photographs is not None:
                raise ConfigError(f"{photographs}: with normals, no photographs are darkened")
            if alone:
                both = len(low_files.keys() & normal_files.keys())
                raise SourceError(
                    f"{lows}: {len(alone)} images have no partner of equal name in {normals}, such"
                    f" as {alone[0]!r}; {both} have",
                    path=lows,
                )
            keys = _spread(list(low_files), _MOST)
            pairs = [(_image(low_files[key]), _image(normal_files[key])) for key in keys]
            for key, (low, normal) in zip(keys, pairs, strict=True):
                if low.shape != normal.shape:
                    raise SourceError(f"{low_files[key]}: its normal has another size", path=lows)
            rows = rows_of(pairs, pool)
            if float(np.median([row["exposure_ev"] for row in rows])) < -0.5:
                raise SourceError(
                    f"{lows}: its images are brighter than those of {normals}: name the lows first",
                    path=lows,
                )
            bases = [Pair(key, normal) for key, (_, normal) in zip(keys, pairs, strict=True)]
            images = [low for low, _ in pairs]
        else:
            if photographs is None:
                raise SourceError(
                    f"{lows}: without normals, name a folder of ordinary photographs to darken"
                )
            images = [_image(low_files[key]) for key in _spread(list(low_files), _MOST)]
            rows = rows_of([(low, None) for low in images], pool)
            found = image_files(photographs)
            bases = [Pair(key, _image(found[key])) for key in _spread(list(found), _MOST)]
        if not any(np.isfinite(row["autocorrelation"]) for row in rows):
            raise SourceError(
                f"{lows}: its images have one value each, or nearly so: there is nothing to fit",
                path=lows,
            )
        return _fitted(
            rows,
            images,
            bases,
            paired=normals is not None,
            pool=pool,
            tries=(rounds, evaluations),
            at=at,
        )


def _fitted(
    rows: Sequence[dict[str, float]],
    lows: Sequence[Pixels],
    bases: Sequence[Pair],
    *,
    paired: bool,
    pool: Executor,
    tries: tuple[int, int],
    at: Callable[[int], None],
) -> Fit:
    wanted = without_bright_levels(table_of(rows))
    every = _with_keys(bases)
    some = _with_keys(_spread(bases, _FEW_IMAGES))
    share = (
        _share(rows, "field_ev", _UNEVEN) if paired else _share(rows, "low_grid_ev", _UNEVEN_LOW)
    )
    start = Parameters(
        demosaic="malvar" if wanted["autocorrelation"][2] > _DEMOSAICED else "binned",
        lit=share > (_SOME if paired else _SOME_LOWS),
        share=1.0 if share > _ALL else max(share, 0.05),
    )
    tried = 0

    def measure(of: Sequence[Pair], parameters: Parameters) -> Table:
        nonlocal tried
        tried += 1
        at(tried)
        return table_of(made_by(parameters.recipe(), of, paired, pool))

    begun, _ = by_moments(wanted, start, partial(measure, some), tries[0])
    best, found = by_least_squares(
        wanted,
        begun,
        (partial(measure, every), partial(measure, some)),
        _searched(begun, paired),
        tries[1],
    )
    if tries[1]:  # once more by many keys: what is random besides evens out
        times = max(_MANY // sum(pair.normal[..., 0].size for pair in bases), 1)
        many = partial(measure, _with_keys([*bases] * min(times, 4)))
        names = _searched(best, paired)
        measures = many, partial(measure, some)
        best, found = by_least_squares(wanted, best, measures, names, len(names) + _LAST)
        if paired:  # what it compromised on; exposure is what a set is used by
            lack = float(wanted["exposure_mean"][2] - found["exposure_mean"][2])
            if _LACKS < abs(lack) < 1:
                best = best.moved(ev=best.ev + lack)
                found = many(best)
    return Fit(best, wanted, found, _warnings(lows, wanted, paired))


def _share(rows: Sequence[dict[str, float]], name: str, most: float) -> float:
    """Return the share of images whose statistic is above a value."""
    return float(np.mean([row[name] > most for row in rows]))


def _searched(parameters: Parameters, paired: bool) -> list[str]:
    """Return the names of the parameters that the lows can tell something of."""
    unknown = set() if paired else {"contrast", "contrast_spread", "cast_spread"}
    if not parameters.lit:
        unknown |= set(OF_LIGHTS)
    unknown.add("share")  # percentiles of two kinds of images tell it badly; it is counted
    if not parameters.lit or parameters.share == 1:
        unknown.add("others_field")
    if parameters.gain == 0:  # as long as the camera's own gain does
        unknown |= {"gain", "gain_spread"}
    return [name for name in parameters.values() if name not in unknown]


def _spread(all_of: Sequence[T], most: int) -> list[T]:
    """Return so many of them at most, evenly spread."""
    places = np.unique(np.linspace(0, len(all_of) - 1, min(most, len(all_of))).astype(int))
    return [all_of[i] for i in places]


def _with_keys(pairs: Sequence[Pair]) -> list[Pair]:
    """Return images with keys whose draws lie evenly."""
    keys = even_keys(len(pairs), seed=0)
    return [Pair(key, pair.normal) for key, pair in zip(keys, pairs, strict=True)]


def _warnings(lows: Sequence[Pixels], wanted: Table, paired: bool) -> list[str]:
    """Say what the lows cannot tell."""
    made = []
    if len(lows) < _FEW:
        made.append(
            f"{len(lows)} images: the spread of a parameter is little known from so few; {_FEW} and"
            " more are better"
        )
    bright = wanted["mean"][2] > _BRIGHT
    if bright or (paired and wanted["exposure_ev"][2] < 0.5):
        made.append(
            f"mean {wanted['mean'][2]:.2f}: these are hardly low-light images; exposure and noise"
            " of the dark cannot be known from them"
        )
    blocks = float(np.median([_blockiness(low) for low in lows]))
    if blocks > _BLOCKS:
        made.append(
            f"steps at the edges of 8 x 8 blocks are {blocks:.2f} of those within: JPEG took the"
            " noise; ISO, read noise and chroma noise reduction cannot be known"
        )
    if not paired:
        made.append(
            "without normals exposure cannot be told from the brightness of the scene, nor contrast"
            " from white balance, nor a field from the scene's own light"
        )
    made.append(
        f"the camera is {CAMERA}, at the ISO that has the noise of these lows: theirs is not known"
    )
    return made


def _blockiness(image: Pixels) -> float:
    """Return the steps of green over the edges of 8 x 8 blocks, over those within."""
    steps = np.abs(np.diff(image[..., 1].astype(np.int16), axis=1)).mean(axis=0)
    if len(steps) < 16:
        return 1.0
    edges = np.arange(len(steps)) % 8 == 7
    return float(steps[edges].mean() / max(float(steps[~edges].mean()), 1e-3))


def _image(path: Path) -> Pixels:
    try:
        image = decode_as_rgb(path.read_bytes())
    except ImageRefused as refusal:
        raise SourceError(f"{path}: {refusal.detail}", path=path) from refusal
    top, left = (max(0, (side - _SIDE) // 2) for side in image.shape[:2])
    cut: Pixels = np.ascontiguousarray(image[top : top + _SIDE, left : left + _SIDE])
    return cut
