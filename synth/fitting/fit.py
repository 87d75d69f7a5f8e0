"""A recipe from folders of real lows, with or without their normals."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...errors import ConfigError, ImageRefused, SourceError
from ...manifests.images.decode import decode_as_rgb
from ...manifests.images.folders import image_files
from ...progress import Progress, Silent
from ..analysis.pair_statistics import LABELS, MeasuredNormal
from ..kernels.arrays import Pixels
from ..recipes.annotated import annotated_yaml
from .candidates import Candidate, Candidates, spread
from .measure import Pair, Table, rows_of
from .moved import Moved
from .parameters import CAMERA, Parameters
from .untold import untold

_MOST = 200  # that are read, and held in memory
_TRIED_BESIDES = 100  # gloam's own, by moments, and at the end by more images
_SIDE = 640  # pixels; of larger images the middle is taken


@dataclass(frozen=True)
class Fit:
    """What was found.

    Attributes
    ----------
    parameters : Moved or Parameters
    wanted, found : Table
        Percentiles of the statistics: of the lows given, and of what the recipe makes.
    warnings : list of str
        What the lows cannot tell.
    """

    parameters: Moved | Parameters
    wanted: Table
    found: Table
    warnings: list[str]

    def yaml(self, name: str) -> str:
        """Return the recipe with comments: bounds, units, and how near it came."""
        base = (
            f", from gloam's {self.parameters.base}" if isinstance(self.parameters, Moved) else ""
        )
        about = f"Fitted to real lows{base}; the camera stands for theirs"
        recipe = self.parameters.recipe(name, about)
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
    lows: str | Path,
    normals: str | Path | None = None,
    photos: str | Path | None = None,
    *,
    workers: int = 1,
    tries: int = 64,
    rounds: int = 8,
    progress: Progress | None = None,
) -> Fit:
    """Find a recipe whose lows have the statistics of real ones.

    Parameters
    ----------
    lows : str or Path
        A folder of real lows.
    normals : str or Path, optional
        A folder of their normals: equal names but for the suffix.
    photos : str or Path, optional
        Without normals: ordinary photographs to darken, as like the scenes as can be had.
    workers : int
        Threads.
    tries : int
        Recipes that are tried by least squares, of the nearest that gloam ships, and again of one
        that is made up, before a last search by more images; less than twenty are too few for a
        step. With none, one is made up by moments alone.
    rounds : int
        By which parameters are moved first, each by the moment that it moves most.
    progress : Progress, optional
        Told of the number of recipes tried.

    Returns
    -------
    Fit

    Raises
    ------
    SourceError
        When images are missing, damaged, or have no partner.

    Examples
    --------
    >>> import gloam
    >>> gloam.fit("nowhere", photos="photos")
    Traceback (most recent call last):
    ...
    gloam.errors.SourceError: nowhere: not a folder
    """
    lows = Path(lows)
    normals, photos = (None if path is None else Path(path) for path in (normals, photos))
    shown = progress or Silent()
    shown.stage("fitting", 2 * tries + _TRIED_BESIDES)
    low_files = image_files(lows)
    with ThreadPoolExecutor(workers) as pool:
        if normals is not None:
            normal_files = image_files(normals)
            alone = sorted(low_files.keys() ^ normal_files.keys())
            if photos is not None:
                raise ConfigError(f"{photos}: with normals, no photographs are darkened")
            if alone:
                both = len(low_files.keys() & normal_files.keys())
                raise SourceError(
                    f"{lows}: {len(alone)} images have no partner of equal name in {normals}, such"
                    f" as {alone[0]!r}; {both} have",
                    path=lows,
                )
            keys = spread(list(low_files), _MOST)
            images = list(pool.map(_image, (low_files[key] for key in keys)))
            bases = list(pool.map(_base, keys, (normal_files[key] for key in keys)))
            for key, low, base in zip(keys, images, bases, strict=True):
                if low.shape != base.normal.shape:
                    raise SourceError(f"{low_files[key]}: its normal has another size", path=lows)
            rows = rows_of(images, [base.measured for base in bases], pool)
            if float(np.median([row["exposure_ev"] for row in rows])) < -0.5:
                raise SourceError(
                    f"{lows}: its images are brighter than those of {normals}: name the lows first",
                    path=lows,
                )
        else:
            if photos is None:
                raise SourceError(
                    f"{lows}: without normals, name a folder of ordinary photographs to darken"
                )
            keys = spread(list(low_files), _MOST)
            images = list(pool.map(_image, (low_files[key] for key in keys)))
            rows = rows_of(images, [None] * len(images), pool)
            others = image_files(photos)
            keys = spread(list(others), _MOST)
            bases = list(pool.map(_base, keys, (others[key] for key in keys)))
        if not any(np.isfinite(row["autocorrelation"]) for row in rows):
            raise SourceError(
                f"{lows}: its images have one value each, or nearly so, or next to no pixels: there"
                " is nothing to fit",
                path=lows,
            )
        candidates = Candidates(rows, bases, normals is not None, pool, shown.at)
        found = _nearest(candidates, rounds, tries)
    warnings = untold(images, candidates.wanted, paired=normals is not None)
    return Fit(found.point, candidates.wanted, found.table, [*warnings, _whose(found)])


def _nearest(candidates: Candidates, rounds: int, evaluations: int) -> Candidate:
    """Return one of gloam's recipes where it comes near enough, or nearer than made-up ones."""
    if not evaluations:
        return candidates.made_up(rounds, 0)
    shipped = candidates.shipped(evaluations)
    if shipped.reason < 1:
        return candidates.last(shipped)
    made_up = candidates.made_up(rounds, evaluations)
    return candidates.last(min(shipped, made_up, key=lambda one: one.apart))


def _whose(candidate: Candidate) -> str:
    """Say what is not known of the camera, and where the recipe comes from."""
    point = candidate.point
    if isinstance(point, Parameters):
        noise = f", with {2**point.read:.3g} times its read noise" if point.read else ""
        return (
            f"the camera is {CAMERA}{noise}, at the ISO that has the noise of these lows: theirs is"
            " not known"
        )
    moved = any(value for _, value in point.moves)
    how = (
        f"the recipe is gloam's {point.base}, moved"
        if moved
        else f"the recipe is gloam's {point.base} as it is"
        + (": nothing in these lows speaks against it" if not candidate.reason else "")
    )
    return how + ("; its cameras stand for theirs, which is not known" if point.moves else "")


def _image(path: Path) -> Pixels:
    try:
        image = decode_as_rgb(path.read_bytes())
    except ImageRefused as refusal:
        raise SourceError(f"{path}: {refusal.detail}", path=path) from refusal
    # From a multiple of 8 on, where the blocks of JPEG begin.
    top, left = (max(0, (side - _SIDE) // 2) // 8 * 8 for side in image.shape[:2])
    cut: Pixels = np.ascontiguousarray(image[top : top + _SIDE, left : left + _SIDE])
    return cut


def _base(key: str, path: Path) -> Pair:
    normal = _image(path)
    return Pair(key, normal, MeasuredNormal.of(normal))
