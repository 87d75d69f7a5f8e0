"""Whether lows and normals were taken for one another, by the first batches that a loader gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..synth.measures.wrong_pairs import swapped_warning

_ENOUGH, _FEWEST = 8, 3  # pairs of a source; at the end of an epoch
_BATCHES = 8  # that are looked at
_STEP = 61  # values of an image, of which one is looked at: prime, so that all channels are


class SaidSwapped(list[Any]):
    """Pairs of which it was said already that lows and normals may be taken for one another."""


class BrightnessWatch:
    """Gathers the means of the first batches of a loader, until it is known which are brighter.

    levels: shift and scale, see `Options.levels_to_values`.
    sources: number of sets and lists that batches are of.
    left: batches that are still looked at.
    """

    def __init__(self, levels: tuple[float, float], sources: int) -> None:
        self._shift, self._scale = levels
        self._sources = sources
        self.left = _BATCHES
        self._means: dict[str, list[npt.NDArray[np.float64]]] = {}
        self._said: set[str] = set()

    def look(self, images: Sequence[Any], sources: Sequence[str], last: bool) -> list[str]:
        """Look at a batch, and return warnings.

        images: low and normal, tensors (N, ...), in values.
        sources: of each pair: its set or list, as messages name it.
        last: whether it is the epoch's last one.
        """
        self.left -= 1
        parts = [one.reshape(len(one), -1)[:, ::_STEP].float().mean(1) for one in images]
        means = np.stack([one.cpu().numpy() for one in parts], axis=1).astype(np.float64)
        for name, own in zip(sources, means / self._scale + self._shift, strict=False):
            self._means.setdefault(name, []).append(own)
        over = last or not self.left
        least = _FEWEST if over else _ENOUGH
        known = [name for name, own in self._means.items() if len(own) >= least]
        made = [  # sorted, as an unpaired low has nothing in common with the normal beside it
            swapped_warning(name, np.sort(self._means[name], axis=0))
            for name in known
            if name not in self._said
        ]
        self._said |= set(known)
        if over or len(self._said) >= self._sources:
            self.left = 0
        return [said for said in made if said]
