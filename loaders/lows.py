"""Lows that a loader makes when a pair is read: of which recipe, and with which draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import LoaderError
from ..manifests.sets.pair_set import PairSet
from ..storage.atomic import sha256_bytes
from ..synth.clips import frame_maker
from ..synth.models import MODEL, Draw, LowMaker, draw, low_maker
from ..synth.recipes.load import DEFAULT, Recipe, load_recipe, recipe_yaml, recorded_recipe
from .order import epoch_seed

Draws = Literal["fresh", "set"]


@dataclass(frozen=True)
class LiveLows:
    """How lows are made.

    draws: "set" draws for each pair what its set has, or would have, stored: the same in every
      epoch; "fresh" draws anew in each.
    seed: of the set's lows, or of the loader.
    """

    recipe: Recipe
    draws: Draws
    seed: int

    def seed_of(self, epoch: int) -> int:
        """Return the seed that an epoch's draws have."""
        return self.seed if self.draws == "set" else epoch_seed(self.seed, epoch, "lows")

    def draw(self, key: str, epoch: int) -> Draw:
        """Draw the parameters of a pair's low: a function of recipe, seed, epoch and key."""
        return draw(self.recipe, self.seed_of(epoch), key)

    def maker(self, keys: Sequence[str], epoch: int, frames: int = 1) -> LowMaker:
        """Return what makes the lows of some pairs, or of the frames of clips, clip after clip."""
        if frames > 1:
            return frame_maker([self.draw(key, epoch) for key in keys], frames)
        return low_maker(self.recipe, self.seed_of(epoch), keys)

    def fingerprint(self) -> dict[str, Any]:
        """Return what decides the lows besides the normals."""
        recipe = sha256_bytes(recipe_yaml(self.recipe))[:16]
        return {"draws": self.draws, "seed": self.seed, "recipe": recipe, "model": MODEL}


def live_lows(
    data: PairSet | Sequence[Any],
    recipe: Recipe | str | None,
    draws: Draws | None,
    seed: int,
    training: bool,
) -> LiveLows:
    """Say how a loader makes lows.

    recipe: by default the set's own; "train-any" for lists.
    draws: by default "fresh" for training, "set" for validation.
    seed: that of the loader.

    Raises LoaderError when the set's recipe is not known to this gloam, `draws` is none, or the
    set's lows are of another model; ConfigError when the given recipe is wrong.
    """
    chosen = ("fresh" if training else "set") if draws is None else draws
    if chosen not in ("fresh", "set"):
        raise LoaderError(f"draws {draws!r}: must be fresh or set")
    if not isinstance(data, PairSet):
        return LiveLows(load_recipe(DEFAULT if recipe is None else recipe), chosen, seed)
    build = data.info.build
    if recipe is not None:
        own = load_recipe(recipe)
    else:
        own = recorded_recipe(build.request.recipe, f"recipe of {data.root}")
        made_by = build.versions.get("model", "1")
        if chosen == "set" and made_by != str(MODEL):
            raise LoaderError(
                f"{data.root}: its lows were made by model {made_by}, this gloam has model {MODEL}:"
                " draws='fresh' makes new ones",
                path=data.root,
            )
    return LiveLows(own, chosen, data.info.seed if chosen == "set" else seed)


def redraws(data: PairSet | Sequence[Any]) -> bool:
    """Return whether this gloam draws what the stored lows of a set were made of."""
    if not isinstance(data, PairSet) or data.live:
        return False
    return data.info.build.versions.get("model", "1") == str(MODEL)
