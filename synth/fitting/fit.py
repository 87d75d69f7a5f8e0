"""A recipe from folders of real lows, with or without their normals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from PIL import Image

from ...errors import ConfigError, SourceError
from ...progress import Progress, Silent
from ..kernels.arrays import FloatArray
from ..measures import two_sample
from ..measures.columns import BANKS
from ..measures.contact_sheet import sheet, tiles_of
from ..measures.features import Group, MeasuredLow
from ..measures.pair_files import PairFiles
from ..measures.realism import compare_with_recipe
from ..measures.tells import Residual, paired_residuals, residual_lines
from ..measures.two_sample import Realism
from ..recipes.load import Recipe, recipe_of
from . import adjust, fitted_recipe
from .field import light_of_pairs
from .fitted_recipe import Shared, column_indices
from .pairs import Pair, PairMeasures, maker_of, measure_pairs, read_pairs

_ROUNDS, _JPEG_ROUNDS = 6, 8
_PASSES = 4  # over the pairs beside those: real ones, residuals, the recipe beside real
_TAIL, _FORM, _SOME = 1, 3, 40  # rounds from which on tail and form move; pairs that show how
_FEW = 12  # pairs
_DARKER = 0.5  # EV
_SHOWN, _WIDTH = 4, 320  # pairs on the sheet, pixels of a picture
_BLOCKS = 0.3  # steps at the edges of JPEG's blocks, beyond those within


@dataclass(frozen=True)
class Fit:
    """A recipe that was fitted.

    Attributes
    ----------
    values : dict
        The recipe's, nested as in its file.
    settings : tuple of int
        Pairs of each setting of the camera, the quietest first.
    paired : bool
        Whether the lows had normals.
    told : Realism or None
        Test of the recipe's lows against the real ones.
    notes : tuple of str
        Facts that the lows cannot tell, and why there is no figure.
    residuals : tuple of Residual
        Differences of real lows from those made of their own pairs' parameters, the surest first.
    sheet : PIL.Image.Image or None
        Some real lows beside what is made of their normals, and close-ups of the same places.
    """

    values: dict[str, Any]
    settings: tuple[int, ...]
    paired: bool
    told: Realism | None = None
    notes: tuple[str, ...] = ()
    residuals: tuple[Residual, ...] = ()
    sheet: Image.Image | None = None

    def recipe(self, name: str = "fitted") -> Recipe:
        """Return the recipe."""
        return recipe_of({"name": name, **self.values}, (), f"recipe {name}")

    def yaml(self, name: str) -> str:
        """Return the recipe as YAML, with the results as comments."""
        values = {"name": name, **self.values}
        text = yaml.safe_dump(values, sort_keys=False, default_flow_style=None, width=1 << 20)
        return "".join([*(f"# {line}\n" for line in self.lines()), "\n", text])

    def lines(self) -> list[str]:
        """Return the results as lines to print."""
        counts = ", ".join(map(str, self.settings))
        order = ", least noise first" if len(self.settings) > 1 else ""
        what = _what(self.paired, sum(self.settings))
        lines = [f"camera settings: {len(self.settings)}, of {counts} {what}{order}"]
        lines += residual_lines(self.residuals, sum(self.settings))
        if self.told is not None:
            banks = ("noise", "tone", "noise and tone") if self.paired else ("noise",)
            lines += self.told.told_lines(banks)
            lines += [two_sample.TELLS] if self.told.tells else []
            lines += [f"  {tell}" for tell in self.told.tells[:5]]
        return [*lines, *(f"note: {note}" for note in self.notes)]


def fit(
    lows: str | Path,
    normals: str | Path | None = None,
    *,
    broad: bool = False,
    distributions: bool = False,
    brighter_lows: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Fit:
    """Fit a recipe to real lows: their tone and noise, calibrated by simulation.

    Parameters
    ----------
    lows : str or Path
        A folder of real lows, of which at most 200 are read, evenly spread.
    normals : str or Path, optional
        A folder of their normals: equal names but for the suffix. Without, noise is fitted, and
        exposure is a guess.
    broad : bool
        Make the recipe to train on: the pairs' tone, noise as at 1 to 32 times
        their gain (ISO), in three lows of ten a sensor's that is demosaiced in all ways, bright
        normals darkened less.
    distributions : bool
        Write settings, means and covariances in place of a table of the pairs.
    brighter_lows : bool
        Take lows that are brighter than their normals, as over-exposed ones are.
    workers, progress
        See `gloam.build`; all cores and no bars by default. Progress counts lows measured.

    Returns
    -------
    Fit

    Raises
    ------
    gloam.errors.ConfigError
        When both `broad` and `distributions` are asked for.
    gloam.errors.SourceError
        When images are missing, have no partner, or are not dark; or when half of the pairs are
        damaged or show two scenes.

    Examples
    --------
    >>> import gloam
    >>> gloam.fit("nowhere")
    Traceback (most recent call last):
    ...
    gloam.errors.SourceError: nowhere: not a folder
    """
    if broad and distributions:
        raise ConfigError("a broad recipe, or distributions of what was found: ask for one")
    shown = progress or Silent()
    paired, notes = normals is not None, list[str]()
    pairs = read_pairs(Path(lows), None if normals is None else Path(normals), notes, brighter_lows)
    rounds = _JPEG_ROUNDS if any(pair.quality for pair in pairs) else _ROUNDS
    few = slice(None, None, -(-len(pairs) // _SOME))
    shown.stage("fitting", (rounds + _PASSES) * len(pairs) + 2 * len(pairs[few]))
    done = 0

    def passed(
        shared: Shared | None, made_by: FloatArray | None, seed: int, some: slice = slice(None)
    ) -> PairMeasures:
        nonlocal done
        begin, own = done, pairs[some]
        done += len(own)
        by = None if made_by is None else made_by[some]
        return measure_pairs(own, shared, by, seed, workers, lambda n: shown.at(begin + n))

    real = passed(None, None, 0)
    pairs = [*real.pairs]
    shared = Shared(adjust.curve_of(real))
    if paired and not np.isfinite(real.tone[:, :, 1:-1]).any():
        raise SourceError.at(
            lows, "no pair shows how its low is darkened: normals are white, or lows black"
        )
    values = adjust.initial_values(real, shared.toe, paired=paired)
    values[:, column_indices("degradations.jpeg.quality")[0]] = [pair.quality for pair in pairs]
    groups = np.zeros(len(pairs), np.int64)
    saturation = float(np.nanmedian(real["saturation"])) if paired else 1.0
    light = light_of_pairs(pairs, values, saturation) if paired else None
    if light is not None:
        values = light
    for number in range(rounds):
        made = passed(shared, values, number)
        if not number:
            groups = adjust.settings(adjust.loudness(real, made))
        if number == _TAIL:
            moved = [
                passed(*adjust.with_tail(values, shared, step)[::-1], number, few)
                for step in adjust.TAIL_STEPS
            ]
            slopes = adjust.tail_slopes(PairMeasures(made.rows[few], made.tone[few]), *moved)
        values = adjust.adjust_tone(values, real, made, shared.toe, paired=paired)
        values, shared = adjust.adjust_noise(values, real, made, shared, groups, own=number > 0)
        if number >= _FORM:  # what the tail has left
            shared = adjust.adjust_form(values, real, made, shared)
            values = adjust.own_tails(values, real, made, shared, slopes)
        elif number >= _TAIL:
            values, shared = adjust.with_tail(values, shared, adjust.tail_step(real, made, slopes))
    residuals = paired_residuals(real.rows, passed(shared, values, rounds).rows)
    bright = fitted_recipe.brightness([pair.normal for pair in pairs])
    free, slope = fitted_recipe.by_brightness(values, bright)
    if broad:
        recipe = fitted_recipe.broad_recipe(free, shared, slope, bright)
    elif distributions:
        recipe = fitted_recipe.distribution_values(free, shared, slope, groups)
    else:
        recipe = fitted_recipe.table_values(free, shared, slope)
    about = f"Fitted to {len(pairs)} real {_what(paired, len(pairs))}."
    found = Fit(
        {"about": about, "model": "camera", **recipe},
        tuple(np.bincount(groups).tolist()),
        paired,
        residuals=tuple(residuals),
        sheet=_sheet(pairs, values, shared),
    )
    if light is not None:
        notes.append(
            "light differs within the pairs: what was taken out of it is by lightness and place"
        )
    notes += _untold(pairs, real)
    what = _what(paired, len(pairs))
    if broad:
        notes.append("a broad recipe is to train on: its lows are told from real ones")
    elif len(pairs) < two_sample.FEWEST:
        notes.append(
            f"{len(pairs)} {what} of the {two_sample.FEWEST} that it takes to measure how well the"
            " recipe's lows are told from real ones"
        )
    else:
        try:
            two_sample.require_classifier()
        except ConfigError as error:
            notes.append(str(error))
        else:
            begin = done
            told = _told(pairs, real, found.recipe(), workers, lambda n: shown.at(begin + n))
            found = replace(found, told=told)
    return replace(found, notes=tuple(notes))


def _sheet(pairs: Sequence[Pair], values: FloatArray, shared: Shared) -> Image.Image:
    """Return real lows beside what is made of their normals, brightened, with close-ups."""
    rows, maker = [], maker_of(values, shared, 0, [pair.key for pair in pairs])
    for i in sorted({round(k) for k in np.linspace(0, len(pairs) - 1, _SHOWN)}):
        pair, made = pairs[i], maker.low(i, pairs[i].normal)
        for low, words in ((pair.low, "real"), (made, "made")):
            rows.append(tiles_of(pair.normal, low, (words,), pair.key, _WIDTH))
    return sheet(rows)


def _told(
    pairs: Sequence[Pair],
    real: PairMeasures,
    recipe: Recipe,
    workers: int | None,
    at: Callable[[int], None],
) -> Realism:
    """Return how well the recipe's lows are told from the real ones of the same scenes.

    It is what `realism` says of pairs. Lows without normals are told by the noise of lows made of
    them.
    """
    if pairs[0].known:
        lows = [PairFiles(pair.key, pair.files[1], pair.files[0]) for pair in pairs]
        return compare_with_recipe(lows, recipe, workers, at)
    other = measure_pairs(pairs, None, recipe, 0, workers, at)
    scenes = np.arange(len(pairs))
    first, second = (
        Group(
            [MeasuredLow({k: v for k, v in row.items() if k in BANKS["noise"]}) for row in rows],
            scenes,
        )
        for rows in (real.rows, other.rows)
    )
    return two_sample.compare_groups("the recipe", first, second, workers=workers)


def _untold(pairs: Sequence[Pair], real: PairMeasures) -> list[str]:
    """Return a sentence for each thing that the lows cannot tell."""
    notes = []
    paired = pairs[0].known
    what = _what(paired, len(pairs))
    if len(pairs) < _FEW:
        notes.append(
            f"with {len(pairs)} {what} other camera settings, and how exposure, tone and noise go"
            f" together, are not known; {_FEW} begin to show it, 50 are better"
        )
    if not paired:
        notes.append(
            "lows alone show noise: by level, its tail, colour and rows. Exposure is a guess, as if"
            " their normals had a mean of middle grey. Contrast, highlights, white balance and"
            " registration are not known, and left alone: some pairs would show them"
        )
    elif float(np.nanmedian(real["exposure_ev"])) < _DARKER:
        notes.append("the lows are hardly darker than their normals: noise of the dark is a guess")
    if float(np.nanmedian(real["blocks"])) > _BLOCKS:
        notes.append("blocks of JPEG show in the lows: what noise there was before is a guess")
    if all(np.ptp(pair.low, axis=2).max() == 0 for pair in pairs):
        notes.append("the lows are grey, those of recipes are not: make them grey when darkened")
    return notes


def _what(paired: bool, number: int) -> str:
    return f"{'pair' if paired else 'low'}{'' if number == 1 else 's'}"
