"""`gloam.realism`: test how well a classifier tells lows of two folders apart, and by what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...errors import ConfigError, SourceError
from ...progress import Progress, Silent
from ...storage.untrusted import whole
from ..recipes.load import Recipe, load_recipe
from .features import easiest, measure_groups
from .noise_protocols import PROTOCOLS, protocol_figures
from .pair_files import PairFiles, pairs_of_folders
from .tells import paired_residuals
from .two_sample import Realism, compare_groups, require_classifier
from .wrong_pairs import refuse_swapped, refuse_swapped_lists

_EQUAL = 0.25  # EV between lows and normals that are as bright


def realism(
    lows: Path | str,
    normals: Path | str | None = None,
    *,
    recipe: Recipe | str | None = None,
    overrides: Iterable[str] = (),
    against: Path | str | None = None,
    photos: Path | str | None = None,
    protocol: str | Iterable[str] = (),
    pairs: int = 200,
    seed: int = 0,
    brighter_lows: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Realism:
    """Say how well a recipe's lows, or those of a folder, can be told from real ones.

    A classifier (gradient boosting) learns to tell them by features of noise, of tone, and of
    random filters, on two thirds of the scenes, and tells those of the last third. What it tells
    rises with the pairs that it learns from; of pairs, residuals show more with fewer.

    Parameters
    ----------
    lows : Path or str
        A folder of real lows.
    normals : Path or str, optional
        Their normals: equal names but for the suffix. The recipe darkens these.
    recipe : Recipe or str, optional
        A name, a YAML file, or a loaded recipe.
    overrides : iterable of str
        Single values of the recipe to change, such as `camera.iso=3200`.
    against : Path or str, optional
        In place of a recipe: a folder of lows; with `normals`, of those (equal names).
    photos : Path or str, optional
        Without normals: ordinary photographs for the recipe to darken, as like the scenes as can
        be had.
    protocol : str or iterable of str
        Figures of pairs as papers on noise synthesis give them: "noiseflow", "naflow", "nmflow",
        "akld" or "gans"; see `gloam.synth.measures.noise_protocols`.
    pairs : int
        At most so many are compared, evenly spread; at least 12.
    seed : int
        Random seed of the recipe's draws; the control has the next one.
    brighter_lows : bool
        Take lows that are brighter than their normals, as over-exposed ones are.
    workers, progress
        See `gloam.build`; all cores and no bars by default. Progress counts lows measured.

    Raises
    ------
    gloam.errors.ConfigError
        When scikit-learn is missing, the recipe is wrong, or there are too few scenes.
    gloam.errors.SourceError
        When images are missing or have no partner, or lows are brighter than their normals or the
        photographs. Damaged ones are passed over and named.

    Examples
    --------
    >>> import gloam
    >>> gloam.realism("nowhere", recipe="even", photos="photos")
    Traceback (most recent call last):
    ...
    gloam.errors.SourceError: nowhere: not a folder
    """
    require_classifier()
    shown, seed, overrides = progress or Silent(), whole("seed", seed), tuple(overrides)
    shown.stage("measuring pairs", None)
    lows = Path(lows)
    normals, against, photos = (
        None if path is None else Path(path) for path in (normals, against, photos)
    )
    protocols = (protocol,) if isinstance(protocol, str) else tuple(protocol)
    if unknown := [one for one in protocols if one not in PROTOCOLS]:
        raise ConfigError(f"protocol {unknown[0]}: there are {', '.join(PROTOCOLS)}")
    if protocols and normals is None:
        raise ConfigError("--protocol compares noise of pairs: name the folder of the normals, too")
    if against is not None:
        more = {"--recipe": recipe, "--set": overrides or None, "--photos": photos}
        if given := [option for option, value in more.items() if value is not None]:
            raise ConfigError(
                f"--against {against}: its lows are compared as they are; leave out"
                f" {' and '.join(given)}, or --against"
            )
    elif recipe is None:
        raise ConfigError(
            "what to tell from real lows: give a recipe, or a folder of lows: --against"
        )
    elif normals is not None and photos is not None:
        raise ConfigError(
            f"{normals} and --photos {photos}: a recipe darkens the normals, or photographs where"
            " there are none; leave out one of the two"
        )
    elif normals is None and photos is None:
        raise ConfigError(
            f"{lows}: name the folder of their normals, or photographs to darken (--photos)"
        )
    real, control = pairs_of_folders(lows, normals, pairs), list[PairFiles]()
    if against is not None:
        name, other = str(against), pairs_of_folders(against, normals, pairs)
    else:
        loaded = load_recipe(recipe or "", overrides)
        name = loaded.name or "the recipe"
        of = real if photos is None else pairs_of_folders(photos, None, pairs)
        if photos is not None and not brighter_lows:
            dark, lit = ([one.low for one in group if one.low] for group in (real, of))
            refuse_swapped_lists(lows, dark, lit, "the photographs")
        other, control = (
            [one.darkened(loaded, number) for one in of] for number in (seed, seed + 1)
        )
    apart = "" if photos is None else f"{lows}/"  # its names say nothing of the photographs'
    (first, second, third), damaged = measure_groups(
        (real, other, control), workers, shown.at, apart
    )
    if normals is not None and not brighter_lows:
        means = [(row["mean"], row["normal_mean"]) for row in first.rows]
        refuse_swapped(lows, means, [one.pair.low for one in first.lows])
    mine = {one.pair.normal: i for i, one in enumerate(second.lows) if one.pair.normal}
    normals_of = (one.pair.normal for one in first.lows)
    same = [(i, mine[normal]) for i, normal in enumerate(normals_of) if normal in mine]
    made = replace(
        compare_groups(name, first, second, third if control else None, workers),
        patches=easiest(first, second, same),
        damaged=damaged,
    )
    if not same:
        return made
    both = [(first.lows[i], second.lows[k]) for i, k in same]
    rows = [one.row for one, _ in both], [other.row for _, other in both]
    exposures = np.nan_to_num([row["exposure_ev"] for row in rows[0]], nan=1.0)  # of black lows
    equal = bool(abs(np.median(exposures)) < _EQUAL)
    figures = {}
    if protocols:
        shown.stage("noise as papers compare it", len(same))
        twins = {one.pair.normal: one.pair for one in third.lows}
        alike = [(one.pair, other.pair, twins.get(one.pair.normal)) for one, other in both]
        figures = protocol_figures(protocols, alike, equal=equal, workers=workers, at=shown.at)
    return replace(made, residuals=paired_residuals(*rows), equal=equal, protocols=figures)


def compare_with_recipe(
    real: Sequence[PairFiles],
    recipe: Recipe,
    workers: int | None,
    at: Callable[[int], None],
) -> Realism:
    """Say how well a recipe's lows are told from real ones: figures of `realism`, seed 0.

    Without random filters and patches.

    Raises what `realism` does.
    """
    made = [one.darkened(recipe, 0) for one in real]
    (first, second), damaged = measure_groups((real, made), workers, at, statistics_alone=True)
    if damaged:
        raise SourceError(damaged[0])
    return compare_groups(recipe.name or "the recipe", first, second, workers=workers)
