"""How a low is made: recipes, draws, illumination, sensor, kernels; and the builder of sets.

The builder runs it over a plan.

`gloam.synth.darken(image, recipe, seed=..., key=...)` and `gloam.synth.load_recipe(name)` are its
Python face. They are imported when first used, so that nothing is compiled for `gloam --help`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .models import darken
    from .recipes.load import load_recipe

__all__ = ["darken", "load_recipe"]


def __getattr__(name: str) -> Any:
    if name == "darken":
        from .models import darken

        return darken
    if name == "load_recipe":
        from .recipes.load import load_recipe

        return load_recipe
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
