"""Opened components: all that a loader loads, one or those of a mixture."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GloamError, LoaderError
from ..manifests.images.png import SIGNATURE
from ..manifests.sets.pair_set import PairSet
from .index import Contents, cached_in, contents_of, open_data
from .labels import LabelColumns, StepLabels, label_columns
from .lows import LiveLows, is_live, live_lows, stored_draws
from .mixture import Component, Mixture, at, in_file, source_of, unpaired_lists
from .order import Step
from .stored_pairs import read_extent


@dataclass(frozen=True)
class OpenComponent:
    """A component, opened; what is no mixture is one without a name.

    contents, bright: those of unpaired ones are the dark and the bright pictures.
    live: dict of step to LiveLows; empty where lows are stored.
    identity: whether lows are their normals.
    drawn: how stored ones were drawn, where something of that is asked for.
    labels: of a set, where they are asked for.
    classes: int64 array (N); of single images, which are no pairs: the number of each one's class.
    """

    name: str
    contents: Contents
    bright: Contents | None = None
    live: Mapping[int, LiveLows] = field(default_factory=dict)
    identity: bool = False
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

    @cached_property
    def png_lows(self) -> bool:
        """True if lows are PNGs that lie in a set on this machine, as gloam writes them."""
        if self.contents.live or self.contents.layout is None:
            return False
        low = self.contents.pair(0).low
        return not self.contents.remote and read_extent(low).startswith(SIGNATURE)

    def lows(self, step: int) -> LiveLows | None:
        """Return how lows are made at a step; None where they are stored."""
        return at(self.live, step) if self.live else None

    def labels_of(self, step: Step) -> StepLabels | None:
        """Return the labels of a step's samples, where they are asked for."""
        if self.labels is None:
            return None
        return self.labels.of_step(step.positions.number, self.contents.nearest)

    def lows_fingerprint(self) -> dict[str, Any]:
        """Return what decides the lows besides normals, by step; nothing where they are stored."""
        if self.identity:
            return {"0": {"identity": True}}
        return {str(step): lows.fingerprint() for step, lows in self.live.items()}

    def fingerprint(self) -> dict[str, Any]:
        """Return what decides the component's samples."""
        return {
            "data": [one.identity for one in (self.contents, self.bright) if one is not None],
            "pairs": self.count,
            "weight": {str(step): weight for step, weight in self.weight.items()},
            "live": self.lows_fingerprint(),
        }


def open_single(data: Any, given: Mapping[str, Any], split: str, seed: int) -> OpenComponent:
    """Open what is no mixture.

    given: options of the loader.

    Raises GloamError when it cannot be opened, or an option does not go with it.
    """
    held = open_data(data, given.get("normals"))
    how = {name: given.get(name) for name in ("recipe", "draws")}
    live = is_live(held, given.get("live"), **how, exact=given.get("exact") or None)
    lows = {0: live_lows(held, **how, seed=seed, training=split == "train")} if live else {}
    return _opened("", held, split, given, lows)


def _opened(
    name: str,
    held: Any,
    split: str,
    given: Mapping[str, Any],
    lows: Mapping[int, LiveLows],
    identity: bool = False,
    **more: Any,
) -> OpenComponent:
    """Find the pairs of a set or a list, their labels, and how they were drawn."""
    live = bool(lows) or identity
    contents = cached_in(contents_of(held, split, live=live), given)
    drawn = stored_draws(held) if given.get("extras") and not live else None
    labels = label_columns(held, contents) if given.get("labels") else None
    return OpenComponent(name, contents, None, lows, identity, drawn, labels, **more)


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
            raise in_file(mixture.file, f"mix: {name}: {error}", f"mix.{name}") from error
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
    identity = component.identity
    lows = {} if identity else _live(component, held, given, own_split, seed)
    return _opened(name, held, own_split, given, lows, identity, weight=component.weight)


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
