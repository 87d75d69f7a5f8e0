"""The models behind one interface.

A recipe and (seed, key) give a draw, a draw and a normal give a low.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .camera.draw import CameraDraw, draw_camera
from .camera.recipe import CameraRecipe
from .camera.render import Shot, render_camera, shot_of, take
from .image_forms import image_of
from .kernels.arrays import Pixels, Window
from .parameters.columns import KeyedColumns
from .parameters.randomness import KeyedRandom
from .power_law.draw import PowerLawDraw, draw_power_law
from .power_law.render import render_power_law
from .recipes.load import DEFAULT, Overrides, Recipe, load_recipe
from .recipes.mixture import MixtureRecipe

if TYPE_CHECKING:
    from .camera.batch.pack import Packed

Draw = CameraDraw | PowerLawDraw

_PREPARED = 64  # draws, of some 20 KB each
_MANY = 8  # images that are drawn faster together than one by one

MODEL = 2
"""Raised by every change that gives a plan, a draw or a low other bytes: sets begun with another
one are refused, not mixed."""


def draw(recipe: Recipe, seed: int, key: str) -> Draw:
    """Draw one image's parameters.

    Parameters
    ----------
    recipe : Recipe
    seed : int
        Of the set.
    key : str
        Of the pair.

    Examples
    --------
    >>> from gloam.synth.recipes.load import load_recipe
    >>> drawn = draw(load_recipe("even", ["exposure.ev=uniform(3, 5)"]), seed=0, key="a")
    >>> 3 < drawn.exposure.ev < 5
    True
    """
    random = KeyedRandom(seed, key)
    if isinstance(recipe, MixtureRecipe):
        recipe = recipe.mixture[recipe.component(random)].recipe
    return (
        draw_camera(recipe, random)
        if isinstance(recipe, CameraRecipe)
        else draw_power_law(recipe, random)
    )


def component_of(recipe: Recipe, seed: int, key: str) -> str:
    """Return the name of the recipe of a mixture that an image is drawn by; "" for no mixture."""
    if not isinstance(recipe, MixtureRecipe):
        return ""
    return recipe.component(KeyedRandom(seed, key))


def model_of(recipe: Recipe) -> str:
    """Return the model that a recipe's images are drawn by."""
    return recipe.drawn if isinstance(recipe, MixtureRecipe) else recipe.model


def draw_many(recipe: Recipe, seed: int, keys: Sequence[str]) -> Packed:
    """Draw the parameters of many images of the camera model, packed for its batches.

    Parameters
    ----------
    recipe : Recipe
        Whose `model_of` is "camera".
    seed : int
        Of the set.
    keys : sequence of str
        Of the pairs.
    """
    from .camera.batch.draws import draw_packed
    from .camera.batch.pack import joined

    if isinstance(recipe, CameraRecipe):
        return draw_packed(recipe, seed, keys)
    parts, places = [], []
    for part, chosen in parts_of(recipe, KeyedColumns(seed, keys)):
        own = np.flatnonzero(chosen)
        assert isinstance(part, CameraRecipe)
        if len(own):
            parts.append(draw_packed(part, seed, [keys[i] for i in own.tolist()]))
            places.append(own)
    return joined(parts).take(np.argsort(np.concatenate(places)).tolist())


def low_maker(
    recipe: Recipe, seed: int, keys: Sequence[str]
) -> Callable[[int, Pixels, Window | None], Pixels]:
    """Draw the parameters of many images, to make their lows one by one on the CPU.

    Drawing is a twentieth of the time of a low, and of one image alone a tenth.

    Parameters
    ----------
    recipe : Recipe
    seed : int
        Of the set.
    keys : sequence of str
        Of the pairs.

    Returns
    -------
    function of a number, a normal and a Window or None
        Makes the low of that one of the keys, or a window of it: what `render` makes of its `draw`.
    """
    if model_of(recipe) != "camera" or len(keys) < _MANY:
        return lambda number, normal, window: render(
            normal, draw(recipe, seed, keys[number]), window
        )
    from .camera.batch.on_host import shot_of_packed

    packed = draw_many(recipe, seed, keys)
    return lambda number, normal, window: take(normal, shot_of_packed(packed, number), window)


class PreparedDraws:
    """Draws whose lows are made one after the other on the CPU, in order.

    What kernels take of them is made of some at once: between two pictures a CPU's caches forget
    how, and it takes twice as long.

    Parameters
    ----------
    draws : sequence of Draw
    """

    def __init__(self, draws: Sequence[Draw]) -> None:
        self._draws, self._block = draws, -1
        self._ready: list[Shot | Draw] = []

    def low(self, number: int, normal: Pixels) -> Pixels:
        """Make the low of that one of the draws: what `render` makes."""
        block, place = divmod(number, _PREPARED)
        if block != self._block:
            some = self._draws[block * _PREPARED : (block + 1) * _PREPARED]
            self._ready = [shot_of(one) if isinstance(one, CameraDraw) else one for one in some]
            self._block = block
        ready = self._ready[place]
        return take(normal, ready) if isinstance(ready, Shot) else render(normal, ready)


def parts_of(recipe: Recipe, random: KeyedColumns) -> list[tuple[Recipe, npt.NDArray[np.bool_]]]:
    """Return the recipes that many images are drawn by, and which of the images (N) each draws."""
    if not isinstance(recipe, MixtureRecipe):
        return [(recipe, np.ones(len(random), np.bool_))]
    which = recipe.components(random)
    return [(one.recipe, which == i) for i, one in enumerate(recipe.mixture.values())]


def draw_type(model: str) -> type[CameraDraw] | type[PowerLawDraw]:
    """Return the class of a model's draws.

    Raises
    ------
    ValueError
        When there is no such model.
    """
    types: dict[str, type[CameraDraw] | type[PowerLawDraw]] = {
        "camera": CameraDraw,
        "power_law": PowerLawDraw,
    }
    if model not in types:
        raise ValueError(f"unknown model {model!r}; known are {', '.join(types)}")
    return types[model]


def parse_draw(values: dict[str, Any]) -> Draw:
    """Read a draw as a pair's record holds it.

    Raises
    ------
    ValueError
        When it is of no known model, or damaged.
    """
    return draw_type(str(values.get("model"))).model_validate(values)


def render(
    normal: Pixels, drawn: Draw, window: Window | None = None, lit_as: Pixels | None = None
) -> Pixels:
    """Make the low of a pair, or a window of it: a pure function, the same bytes on every machine.

    Parameters
    ----------
    normal : uint8 array (H, W, 3)
        RGB, the stored normal as decoded; at least 1 x 1, below 2^30 pixels.
    drawn : Draw
    window : Window, optional
        What of the low is made; by default all of it.
    lit_as : uint8 array (H, W, 3), optional
        The image that light is placed by, instead of the normal: the first frame of its clip.

    Returns
    -------
    uint8 array (H, W, 3), or the window's height and width
        RGB.

    Raises
    ------
    ValueError
        When the normal is not of that type and shape, or the window does not lie within it.

    Examples
    --------
    >>> import numpy as np
    >>> from gloam.synth.recipes.load import load_recipe
    >>> normal = np.full((48, 64, 3), 160, np.uint8)
    >>> drawn = draw(load_recipe("even"), seed=0, key="a")
    >>> bool((render(normal, drawn) == render(normal, drawn)).all())
    True
    """
    return (
        render_camera(normal, drawn, window, lit_as)
        if isinstance(drawn, CameraDraw)
        else render_power_law(normal, drawn, window, lit_as)
    )


def darken(
    image: Any,
    recipe: Recipe | str = DEFAULT,
    *,
    key: str,
    seed: int = 0,
    overrides: Overrides = (),
) -> Any:
    """Make the low-light image of a photograph.

    Parameters
    ----------
    image : uint8 array or tensor (H, W, 3) or (3, H, W), or Pillow image
        A well exposed photograph, RGB, sRGB-encoded.
    recipe : Recipe or str
        What parameters are drawn from: a shipped recipe's name, a YAML file, or a loaded recipe.
    key : str
        The image's name in its set: images of other keys have other draws and other noise. The
        result depends on nothing but image, recipe, seed and key.
    seed : int
        Random seed, at least 0.
    overrides : dict, str or iterable of str
        Single values of the recipe to change, such as `{"camera.iso": 3200}` or
        `exposure.ev=uniform(3, 8)`.

    Returns
    -------
    array, tensor or Pillow image, as `image`
        The low, RGB, sRGB-encoded.

    Raises
    ------
    gloam.errors.ConfigError
        When the recipe is unknown or wrong.
    ValueError
        When the image is none of those, or the seed is no such number.

    Notes
    -----
    See docs/recipes.md for the camera model; each recipe, and each camera of the camera file, names
    its sources. `gloam.Darken` finds keys by itself.

    Examples
    --------
    >>> import numpy as np, gloam
    >>> normal = np.full((48, 64, 3), 160, np.uint8)
    >>> low = gloam.darken(normal, "even", seed=1, key="a", overrides={"exposure.ev": 4})
    >>> low.shape, bool(low.mean() < 100)
    ((48, 64, 3), True)
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed must be a whole number of at least 0, not {seed!r}")
    given = image_of(image)
    return given.back(render(given.pixels, draw(load_recipe(recipe, overrides), seed, key)))
