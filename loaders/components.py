"""Opened components: all that a loader loads, one or those of a mixture."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GloamError, LoaderError
from ..manifests.images.png import SIGNATURE
from ..manifests.open_data import is_live, open_data, source_of, unpaired_lists
from ..manifests.sets.pair_set import PairSet
from ..manifests.sets.split_files import LabelColumns, StepLabels, open_files, read_label_columns
from .contents import Contents
from .lows import LiveLows, live_lows, redraws
from .mixture import Component, Mixture, at, in_file
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
        low = self.contents.pair(0).lows[0]
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


def open_components(
    mixture: Mixture, given: Mapping[str, Any], split: str, seed: int
) -> tuple[OpenComponent, ...]:
    """Open the components of a mixture.

    given: options of the loader.
    split: that of components that say none.

    Raises LoaderError naming the component that cannot be opened; of a plain set or list any
    GloamError.
    """
    opened = []
    for name, component in mixture.components.items():
        try:
            opened.append(_open_component(name, component, given, split, seed, mixture.plain))
        except GloamError as error:
            if mixture.plain:
                raise
            what, key = f"mix: {name}: {error}", f"mix.{name}"
            raise in_file(mixture.file, mixture.lines, what, key) from error
    return tuple(opened)


def _live_of(
    component: Component, held: PairSet | Sequence[Any], given: Mapping[str, Any]
) -> bool | None:
    """Return whether a component of a mixture is asked for live lows; None where nobody says."""
    if component.recipe is not None or component.draws is not None:
        return True
    if component.live is not None:
        return component.live
    if isinstance(held, PairSet):  # the loader's is for sets alone
        return given.get("live")
    # Photographs alone have no lows.
    return all(isinstance(one, str | bytes | os.PathLike) for one in held[:1])


def _open_component(
    name: str, component: Component, given: Mapping[str, Any], split: str, seed: int, plain: bool
) -> OpenComponent:
    """Open a component: find its pairs, how their lows are made or were, and labels.

    Its own options come before the loader's, which alone count for a plain one.
    """
    split, whole = component.split or split, component.identity or component.unpaired
    recipes, draws = component.recipe or given.get("recipe"), component.draws or given.get("draws")
    held: PairSet | Sequence[Any]
    others: Sequence[Any] = ()
    if component.unpaired:
        held, *others = unpaired_lists(component.data)
        if given.get("size") is None:
            raise LoaderError("unpaired pictures differ in size: give size=")
    elif plain:
        held = open_data(component.data, given.get("normals"))
    else:
        held = open_data(source_of(component.data), component.normals)
    if plain:
        exact = given.get("exact") or None
        live = is_live(held, given.get("live"), recipe=recipes, draws=draws, exact=exact)
    else:
        live = whole or is_live(held, _live_of(component, held, given))
    near = {name: given.get(name) for name in ("cache", "cache_gb")}
    files = [open_files(one, split, live=live, **near) for one in (held, *others)]
    labels = read_label_columns(held, files[0]) if given.get("labels") else None
    drawn = not live and bool(given.get("extras")) and redraws(held)
    if drawn:
        recipes, draws = None, "set"
    by_step = recipes if isinstance(recipes, Mapping) else {0: recipes}
    making = by_step if drawn or (live and not whole) else {}
    training = split == "train"
    lows = {step: live_lows(held, how, draws, seed, training) for step, how in making.items()}
    contents, *bright = (Contents(**vars(one)) for one in files)
    return OpenComponent(
        name,
        contents,
        bright[0] if bright else None,
        live={} if drawn else lows,
        identity=component.identity,
        drawn=lows.get(0) if drawn else None,
        labels=labels,
        weight=component.weight,
    )
