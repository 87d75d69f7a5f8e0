"""Components of a mixture, opened: what each holds, and who makes its samples."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import GloamError, LoaderError
from ...manifests.sets.pair_set import PairSet
from ...synth.kernels.arrays import Pixels, Window
from ...synth.models import LowMaker
from ...synth.recipes.load import DEFAULT, load_recipe
from ..augment import CropFlip, crop_numbers, draw_crop
from ..given import Known
from ..index import Contents, cached_in, contents_of, open_data
from ..live.lows import LiveLows, is_live, live_lows, stored_draws
from ..options import Options
from ..samples import Place, Sample, Samples, sized
from .mixture import Component, Mixture, at, source_of


@dataclass(frozen=True)
class Part:
    """A component, opened.

    contents, bright: those of unpaired ones are the dark and the bright pictures.
    live: dict of step to LiveLows; empty where lows are stored.
    drawn: how stored ones were drawn, where something of that is asked for.
    """

    name: str
    component: Component
    contents: Contents
    bright: Contents | None
    live: Mapping[int, LiveLows]
    drawn: LiveLows | None = None

    @property
    def count(self) -> int:
        """Samples of a pass; of unpaired lists those of the longer one."""
        return max(self.contents.count, self.bright.count if self.bright else 0)

    def lows(self, step: int) -> LiveLows | None:
        """Return how lows are made at a step; None where they are stored."""
        return at(self.live, step) if self.live else None

    def samples(self, options: Options, decoder: str, step: int) -> Samples:
        """Return what makes samples of a step."""
        kind = UnpairedSamples if self.bright is not None else Samples
        return kind(self.contents, options, decoder, self.lows(step), self.drawn)

    def fingerprint(self) -> dict[str, Any]:
        """Return what decides the component's samples."""
        own = self.component
        return {
            "data": [one.identity for one in (self.contents, self.bright) if one is not None],
            "pairs": self.count,
            "weight": {str(step): weight for step, weight in own.weight.items()},
            "live": {str(step): lows.fingerprint() for step, lows in self.live.items()},
        }


def open_parts(
    mixture: Mixture, given: Mapping[str, Any], split: str, seed: int
) -> tuple[Part, ...]:
    """Open the components of a mixture.

    given: options of the loader.
    split: that of components that say none.

    Raises LoaderError naming the component that cannot be opened.
    """
    parts = []
    for name, component in mixture.components.items():
        try:
            parts.append(_open(name, component, given, split, seed))
        except GloamError as error:
            raise LoaderError(f"mix: {name}: {error}") from error
    return tuple(parts)


def _open(name: str, component: Component, given: Mapping[str, Any], split: str, seed: int) -> Part:
    own_split, source = component.split or split, source_of(component.data)
    component = component.model_copy(update={"data": None})  # processes need it no more
    if component.unpaired:
        if not isinstance(source, tuple | list) or len(source) != 2:
            raise LoaderError("unpaired pictures are two lists: data=(DARK, BRIGHT)")
        if given.get("size") is None:
            raise LoaderError("unpaired pictures differ in size: give size=")
        dark, bright = (contents_of(_list_of(one), own_split, live=True) for one in source)
        return Part(name, component, dark, bright, {})
    held = open_data(source, component.normals)
    lit = {0: IdentityLows(load_recipe(DEFAULT), "set", 0)} if component.identity else {}
    lows: Mapping[int, LiveLows] = lit
    if not component.identity:
        lows = _live(component, held, given, own_split, seed)
    contents = contents_of(held, own_split, live=bool(lows))
    contents = cached_in(contents, given.get("cache"), given.get("cache_gb"))
    drawn = stored_draws(held) if given.get("give") and not lows else None
    return Part(name, component, contents, None, lows, drawn)


def _live(
    component: Component,
    held: PairSet | Sequence[Any],
    given: Mapping[str, Any],
    split: str,
    seed: int,
) -> dict[int, LiveLows]:
    """Say how a component's lows are made, by its own options and the loader's."""
    wanted = component.live
    if wanted is None and isinstance(held, PairSet):
        wanted = given.get("live")
    elif wanted is None and not isinstance(held, PairSet):
        wanted = all(isinstance(one, str | bytes | os.PathLike) for one in held[:1])  # photographs
    wanted = True if component.recipe is not None or component.draws is not None else wanted
    if not is_live(held, wanted):
        return {}
    recipes = component.recipe or given.get("recipe")
    recipes = recipes if isinstance(recipes, Mapping) else {0: recipes}
    draws = component.draws or given.get("draws")
    made = partial(live_lows, held, draws=draws, seed=seed, training=split == "train")
    return {step: made(recipe) for step, recipe in recipes.items()}


def _list_of(pictures: Any) -> Sequence[Any]:
    """Refuse what is no list of pictures."""
    if isinstance(pictures, str | bytes) or not isinstance(pictures, Sequence):
        raise LoaderError("unpaired pictures are lists of paths or bytes, or folders: {dark: DIR}")
    return pictures


class IdentityLows(LiveLows):
    """Lows that are their normals."""

    def maker(self, keys: Sequence[str], epoch: int) -> LowMaker:
        """Return what gives normals for lows."""
        return _IdentityMaker(())

    def columns_of(self, keys: Sequence[str], epoch: int) -> list[Any]:
        """Return that nothing is drawn."""
        return []

    def fingerprint(self) -> dict[str, Any]:
        """Return that lows are none."""
        return {"identity": True}


class _IdentityMaker(LowMaker):
    def low(
        self,
        number: int,
        normal: Pixels,
        window: Window | None = None,
        lit_as: Pixels | None = None,
    ) -> Pixels:
        if window is None:
            return normal
        top, left, height, width = window
        return normal[top : top + height, left : left + width]

    def noise_map(self, number: int, normal: Pixels, window: Window | None = None) -> None:
        return None


class UnpairedSamples(Samples):
    """A dark picture and a bright one, cut by themselves and flipped alike."""

    def _sample(
        self,
        place: Place,
        numbers: npt.NDArray[np.float64],
        made: Callable[[Pixels, Window], Pixels] | None,
        known: Callable[[Pixels, CropFlip], Known] | None,
    ) -> Sample:
        assert place.bright is not None
        dark, bright = self.normal(place.pair), self.normal(place.bright.pair)
        other = crop_numbers(self._options, place.bright.epoch, [place.bright.pair.key])[0]
        other[4:] = numbers[4:]
        low = sized(dark, draw_crop(self._options, numbers, *dark.shape[:2]), self._options)
        crop = draw_crop(self._options, other, *bright.shape[:2])
        normal = sized(bright, crop, self._options)
        told = None if known is None else known(bright, crop)
        return Sample(low, normal, crop, place.pair.key, None, told)
