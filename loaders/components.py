"""Opened components: all that a loader loads, one or those of a mixture."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GloamError, LoaderError
from ..manifests.images.png import SIGNATURE
from ..manifests.sets.pair_set import PairSet
from ..synth.kernels.arrays import Pixels, Window
from ..synth.models import LowMaker
from ..synth.recipes.load import DEFAULT, load_recipe
from .index import Contents, cached_in, contents_of, open_data
from .labels import LabelColumns, label_columns
from .lows import LiveLows, is_live, live_lows, stored_draws
from .mixture import Component, Mixture, at, source_of, unpaired_lists
from .stored_pairs import read_extent


@dataclass(frozen=True)
class OpenComponent:
    """A component, opened; what is no mixture is one without a name.

    contents, bright: those of unpaired ones are the dark and the bright pictures.
    live: dict of step to LiveLows; empty where lows are stored.
    drawn: how stored ones were drawn, where something of that is asked for.
    labels: of a set, where they are asked for.
    classes: int64 array (N); of single images, which are no pairs: the number of each one's class.
    """

    name: str
    contents: Contents
    bright: Contents | None = None
    live: Mapping[int, LiveLows] = field(default_factory=dict)
    drawn: LiveLows | None = None
    labels: LabelColumns | None = None
    classes: npt.NDArray[np.int64] | None = None
    weight: Mapping[int, float] = field(default_factory=lambda: {0: 1.0})

    @property
    def count(self) -> int:
        """Samples of a pass; of unpaired lists those of the longer one."""
        return max(self.contents.count, self.bright.count if self.bright else 0)

    @property
    def shown_source(self) -> str:
        """The set or list that pairs are of, as messages name it."""
        if self.name:
            return f"component {self.name}"
        name, given = self.contents.name, self.contents.given
        first = given[0][0] if given and type(given[0]) in (tuple, list) else None
        if isinstance(first, str | os.PathLike):
            return f"{name}, {os.fspath(first)} and others"
        return name

    @property
    def single(self) -> bool:
        """True if a sample is one image, not a pair."""
        return self.classes is not None

    @property
    def of_set(self) -> bool:
        """True if images are a set's, not files as they come."""
        return self.contents.layout is not None

    @cached_property
    def png_lows(self) -> bool:
        """True if lows are PNGs that lie in a set on this machine, as gloam writes them."""
        if self.live or self.single or self.bright is not None or not self.of_set:
            return False
        low, *_ = self.contents.images(0, normal_alone=False)
        return not self.contents.remote and read_extent(low).startswith(SIGNATURE)

    def lows(self, step: int) -> LiveLows | None:
        """Return how lows are made at a step; None where they are stored."""
        return at(self.live, step) if self.live else None

    def fingerprint(self) -> dict[str, Any]:
        """Return what decides the component's samples."""
        return {
            "data": [one.identity for one in (self.contents, self.bright) if one is not None],
            "pairs": self.count,
            "weight": {str(step): weight for step, weight in self.weight.items()},
            "live": {str(step): lows.fingerprint() for step, lows in self.live.items()},
        }


def open_single(
    data: Any, given: Mapping[str, Any], split: str, seed: int
) -> tuple[OpenComponent, ...]:
    """Open what is no mixture.

    given: options of the loader.

    Raises GloamError when it cannot be opened, or an option does not go with it.
    """
    held = open_data(data, given.get("normals"))
    recipe, draws = given.get("recipe"), given.get("draws")
    exact = given.get("exact") or None
    live = is_live(held, given.get("live"), recipe=recipe, draws=draws, exact=exact)
    lows = {0: live_lows(held, recipe, draws, seed, split == "train")} if live else {}
    opened = _opened("", held, split, given, lows)
    if given.get("labels"):
        opened = replace(opened, labels=label_columns(held, opened.contents))
    return (opened,)


def _opened(
    name: str, held: Any, split: str, given: Mapping[str, Any], lows: Mapping[int, LiveLows]
) -> OpenComponent:
    """Find the pairs of a set or a list, and how they were drawn."""
    contents = contents_of(held, split, live=bool(lows))
    contents = cached_in(contents, given.get("cache"), given.get("cache_gb"))
    drawn = stored_draws(held) if given.get("extras") and not lows else None
    return OpenComponent(name, contents, None, lows, drawn)


def open_mixture(
    mixture: Mixture, given: Mapping[str, Any], split: str, seed: int
) -> tuple[OpenComponent, ...]:
    """Open the components of a mixture.

    given: options of the loader.
    split: that of components that say none.

    Raises LoaderError naming the component that cannot be opened.
    """
    opened = []
    for name, component in mixture.components.items():
        try:
            opened.append(_open(name, component, given, split, seed))
        except GloamError as error:
            raise LoaderError(f"mix: {name}: {error}") from error
    return tuple(opened)


def _open(
    name: str, component: Component, given: Mapping[str, Any], split: str, seed: int
) -> OpenComponent:
    own_split = component.split or split
    if component.unpaired:
        lists = unpaired_lists(component.data)
        if given.get("size") is None:
            raise LoaderError("unpaired pictures differ in size: give size=")
        dark, bright = (contents_of(one, own_split, live=True) for one in lists)
        return OpenComponent(name, dark, bright, weight=component.weight)
    held = open_data(source_of(component.data), component.normals)
    lit = {0: IdentityLows(load_recipe(DEFAULT), "set", 0)} if component.identity else {}
    lows: Mapping[int, LiveLows] = lit
    if not component.identity:
        lows = _live(component, held, given, own_split, seed)
    return replace(_opened(name, held, own_split, given, lows), weight=component.weight)


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


class IdentityLows(LiveLows):
    """Lows that are their normals."""

    identity = True

    def maker(self, keys: Sequence[str], epoch: int, frames: int = 1) -> LowMaker:
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
        self, number: int, normal: Pixels, window: Window | None = None, lit_as: Any = None
    ) -> Pixels:
        if window is None:
            return normal
        top, left, height, width = window
        return normal[top : top + height, left : left + width]

    def maps(
        self, number: int, normal: Pixels, names: Sequence[str], window: Window | None = None
    ) -> dict[str, Any]:
        return {}
