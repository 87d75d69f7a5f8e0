"""A recipe from folders of real lows, with or without their normals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from ...engines.engine import ignored
from ...errors import ConfigError, ImageRefused, SourceError
from ...manifests.images.decode import decode_as_rgb
from ...manifests.images.folders import image_files
from ..analysis.pair_statistics import LABELS
from ..kernels.arrays import Pixels
from ..recipes.annotated import annotated_yaml
from .measure import Pair, Table, cast_spread, even_keys, made_by, rows_of, table_of
from .parameters import CAMERA, Parameters
from .search import by_moments, searched

_IMAGES = 64  # that the search looks at; the percentiles wanted are of all
_MOST = 250  # that are read, and that the last rounds look at
_SIDE = 800  # pixels; of larger images the middle is taken
_DEMOSAICED = 0.12  # neighbouring samples' correlation above which they were interpolated
_UNEVEN = 0.7  # EV of field above which there are lights
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
    evaluations: int = 34,
    rounds: int = 9,
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
        Recipes that are tried one parameter at a time.
    rounds : int
        By which all parameters are moved together, before and after that.
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
            keys = _some(list(low_files))
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
            cast = cast_spread(pairs)
            images = [low for low, _ in pairs]
        else:
            if photographs is None:
                raise SourceError(
                    f"{lows}: without normals, name a folder of ordinary photographs to darken"
                )
            images = [_image(low_files[key]) for key in _some(list(low_files))]
            rows = rows_of([(low, None) for low in images], pool)
            found = image_files(photographs)
            bases = [Pair(key, _image(found[key])) for key in _some(list(found))]
            cast = 0.3
        return _fitted(
            rows,
            images,
            bases,
            cast=cast,
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
    cast: float,
    paired: bool,
    pool: Executor,
    tries: tuple[int, int],
    at: Callable[[int], None],
) -> Fit:
    wanted = table_of(rows)
    chosen = np.unique(np.linspace(0, len(bases) - 1, min(_IMAGES, len(bases))).astype(int))
    some = _with_keys([bases[i] for i in chosen])
    every = _with_keys(bases)
    start = Parameters(
        cast_spread=min(max(cast, 0.0), 1.0),
        demosaic="malvar" if wanted["autocorrelation"][2] > _DEMOSAICED else "binned",
        lit=paired and bool(wanted["field_ev"][2] > _UNEVEN),
    )
    tried = 0

    def measure(parameters: Parameters, of: Sequence[Pair] = some) -> Table:
        nonlocal tried
        tried += 1
        at(tried)
        return table_of(made_by(parameters.recipe(), of, paired, pool))

    # The search compares images with themselves where it can: with the rows of those it darkens.
    target = table_of([rows[i] for i in chosen]) if paired else wanted
    best, _ = searched(target, start, measure, *tries)
    best, found = by_moments(wanted, best, partial(measure, of=every), tries[0])
    return Fit(best, wanted, found, _warnings(lows, wanted, paired))


def _some(keys: list[str]) -> list[str]:
    """Return at most `_MOST` of them, evenly spread: all are held in memory."""
    places = np.unique(np.linspace(0, len(keys) - 1, min(_MOST, len(keys))).astype(int))
    return [keys[i] for i in places]


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
