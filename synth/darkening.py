"""The Python face of gloam's darkening: an image, a recipe, a seed and a key make a low."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from .models import draw, render
from .recipe import DEFAULT, Recipe, load_recipe, recipe_of


def darken(
    image: npt.NDArray[np.uint8],
    recipe: Recipe | str = DEFAULT,
    *,
    seed: int = 0,
    key: str = "image",
    overrides: Iterable[str] = (),
) -> npt.NDArray[np.uint8]:
    """Make the low-light image of a photograph.

    Parameters
    ----------
    image : uint8 array (H, W, 3)
        A well exposed photograph, RGB, sRGB-encoded.
    recipe : Recipe or str
        What parameters are drawn from: a shipped recipe's name, a YAML file, or a loaded recipe.
    seed : int
        Of a set of images, at least 0.
    key : str
        The image's name in it. The result depends on nothing but image, recipe, seed and key.
    overrides : iterable of str
        Single values of the recipe to change, such as `camera.iso=3200` or `exposure.ev=uniform(3, 8)`.

    Returns
    -------
    uint8 array (H, W, 3)
        The low, RGB, sRGB-encoded.

    Raises
    ------
    gloam.manifests.errors.ConfigError
        When the recipe is unknown or wrong.
    ValueError
        When the image is not of that type and shape, or the seed is no such number.

    Notes
    -----
    See the README for the camera model; each recipe, and each camera of the camera file, names its sources.
    """
    if not isinstance(image, np.ndarray):
        raise ValueError(f"image must be a uint8 array (H, W, 3), not a {type(image).__name__}")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed must be a whole number of at least 0, not {seed!r}")
    overrides = list(overrides)
    if isinstance(recipe, str):
        recipe = load_recipe(recipe, overrides)
    elif overrides:
        recipe = recipe_of(recipe.model_dump(mode="json"), overrides, f"recipe {recipe.name}")
    return render(image, draw(recipe, seed, key))
