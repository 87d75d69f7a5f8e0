"""The models behind one interface: a recipe and (seed, key) give a draw, a draw and a normal give a low."""

from __future__ import annotations

from typing import Any

from .camera_draw import CameraDraw, draw_camera
from .camera_model import Pixels, render_camera
from .camera_recipe import CameraRecipe
from .power_law import PowerLawDraw, draw_power_law, render_power_law
from .randomness import Source
from .recipe import Recipe

Draw = CameraDraw | PowerLawDraw

MODEL = 2
"""Raised by every change that gives a plan, a draw or a low other bytes: sets begun with another one are refused, not mixed."""


def draw(recipe: Recipe, seed: int, key: str) -> Draw:
    """Draw one image's parameters.

    Parameters
    ----------
    recipe : Recipe
    seed : int
        Of the set.
    key : str
        Of the pair.
    """
    source = Source(seed, key)
    return draw_camera(recipe, source) if isinstance(recipe, CameraRecipe) else draw_power_law(recipe, source)


def draw_type(model: str) -> type[CameraDraw] | type[PowerLawDraw]:
    """The class of a model's draws.

    Raises
    ------
    ValueError
        When there is no such model.
    """
    types: dict[str, type[CameraDraw] | type[PowerLawDraw]] = {"camera": CameraDraw, "power_law": PowerLawDraw}
    if model not in types:
        raise ValueError(f"unknown model {model!r}; known are {', '.join(types)}")
    return types[model]


def parse_draw(values: dict[str, Any]) -> Draw:
    """A draw as a pair's record holds it.

    Raises
    ------
    ValueError
        When it is of no known model, or damaged.
    """
    return draw_type(str(values.get("model"))).model_validate(values)


def render(normal: Pixels, drawn: Draw) -> Pixels:
    """Make the low of a pair: a pure function, the same bytes on every machine.

    Parameters
    ----------
    normal : uint8 array (H, W, 3)
        RGB, the stored normal as decoded; at least 1 x 1, below 2^30 pixels.
    drawn : Draw

    Returns
    -------
    uint8 array (H, W, 3)
        RGB.

    Raises
    ------
    ValueError
        When the normal is not of that type and shape.
    """
    return render_camera(normal, drawn) if isinstance(drawn, CameraDraw) else render_power_law(normal, drawn)
