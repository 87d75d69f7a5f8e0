"""The figure of `gloam realism`. Needs matplotlib."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...errors import visible
from .columns import columns
from .contact_sheet import brighten
from .features import Patch
from .noise_and_tone import LEVELS, TONES
from .two_sample import Realism

_LETTERS = 16  # of a name above a patch
_REAL, _OTHER = "tab:orange", "tab:blue"


def realism_figure(found: Realism) -> bytes:
    """Draw how many lows were told, noise and tone by level, and the patches, as a PNG."""
    figure = Figure(figsize=(15, 10), layout="constrained")
    above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=[1.2, 1]).ravel()
    accuracy, noise, tone = above.subplots(1, 3)
    _draw_told(accuracy, found)
    _draw_levels(noise, found, "deviation_g", LEVELS)
    noise.set_title("noise of green (quartiles), of 255")
    noise.set_xlabel("level of the low")
    if any("exposure_ev" in row for row in found.real):
        _draw_levels(tone, found, "tone_g", TONES)
        tone.set_title("tone of green (quartiles), EV from the middle")
        tone.set_xlabel("level of the normal")
    else:
        tone.set_axis_off()
    _draw_patches(below.subplots(2, 6, squeeze=False), found)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=100)
    return buffer.getvalue()


def _draw_told(axis: Axes, found: Realism) -> None:
    places = np.arange(len(found.told))[::-1]
    for place, (bank, told) in zip(places, found.told.items(), strict=True):
        for one, away, colour in ((told, 0.1, _OTHER), (found.control.get(bank), -0.1, "grey")):
            if one is not None:
                axis.plot([one.least, one.most], [place + away] * 2, color=colour)
                axis.plot([one.accuracy], [place + away], "o", color=colour)
    axis.axvline(0.5, color="grey", linewidth=0.5)
    axis.set_xlim(0.3, 1.02)
    axis.set_yticks(places, list(found.told))
    pairs = next(iter(found.told.values())).curve[-1][0]
    axis.set_title(f"share told apart, learned from {pairs} pairs (grey: the control)")


def _draw_levels(axis: Axes, found: Realism, name: str, bounds: Sequence[int]) -> None:
    names = [f"{name}_{least}" for least in bounds[:-1]]
    for rows, label, colour in (
        (found.real, "real", _REAL),
        (found.other, as_drawn(found.name), _OTHER),
    ):
        values = columns(rows, names)
        known = np.isfinite(values).sum(axis=0) >= 3
        if known.any():
            below, middle, above = np.nanpercentile(values[:, known], (25, 50, 75), axis=0)
            places = np.flatnonzero(known)
            axis.plot(places, middle, "o-", color=colour, label=label)
            axis.fill_between(places, below, above, color=colour, alpha=0.2)
    labels = [f"{least} to {most}" for least, most in pairwise(bounds)]
    axis.set_xticks(range(len(names)), labels, rotation=45)
    axis.legend(fontsize="small")


def _draw_patches(axes: np.ndarray, found: Realism) -> None:
    """Draw the patches that are easiest to tell, brightened: real ones above, others below."""
    for row, real in zip(axes, (True, False), strict=True):
        chosen: list[Patch] = [one for one in found.patches if one.real == real]
        for axis in row:
            axis.set_axis_off()
        for axis, patch in zip(row, chosen, strict=False):
            axis.imshow(brighten(patch.pixels), interpolation="nearest")
            whose = "real" if real else found.name
            axis.set_title(f"{_short(whose)}\n{_short(patch.key)}", fontsize="small")


def _short(name: str) -> str:
    """Return the end of a name that would run into its neighbour's."""
    return as_drawn(name if len(name) <= _LETTERS else f"...{name[-_LETTERS:]}")


def as_drawn(name: str) -> str:
    """Return a name as matplotlib draws it: letters alone, and no formula between two dollars."""
    return visible(name).replace("$", r"\$")
