"""The models behind one interface: recipe, seed and key give a draw, that and a normal a low."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..storage.untrusted import whole
from .camera.recipe import CameraRecipe
from .draws.camera import draw_camera, forget_unused
from .draws.record import CameraDraw, check_camera
from .draws.table import DrawTable, concat, table_of, table_of_records
from .input_images import image_of
from .kernels.arrays import IntArray, Pixels, Window
from .parameters.drawing import check_numbers, records_of
from .parameters.keyed_random import Columns, KeyedRandom
from .power_law_model import PowerLawDraw, PowerLawRecipe, draw_power_law, render_power_law
from .recipes.load import DEFAULT, Recipe, load_recipe
from .recipes.mixture_recipe import MixtureRecipe, Single, single_recipes
from .recipes.overrides import Overrides
from .render.on_cpu import render_window
from .render.self_test import check_once

if TYPE_CHECKING:
    from .render.maps import Floats

Draw = CameraDraw | PowerLawDraw


class DrawColumns(NamedTuple):
    """Draws of one model: of which images, and their values by the parameters' paths."""

    kind: type[CameraDraw] | type[PowerLawDraw]
    places: IntArray  # (n) of the images, among all that were asked for
    columns: Columns


_MODELS: dict[str, tuple[type[CameraDraw] | type[PowerLawDraw], Callable[..., Columns]]] = {
    "camera": (CameraDraw, draw_camera),
    "power_law": (PowerLawDraw, draw_power_law),
}
"""The class of each model's draws, and the function that draws many."""
MODEL = 2
"""Raised by every change that gives a plan, a draw or a low other bytes: sets begun with another
one are refused, not mixed."""
DRAWS = 2
"""Raised by a change of what draws of recipes whose noise is their own say that no low depends on.
Since 2 they name no sensor: its noise is not the low's. A set keeps the form that it was begun
with."""


def draw(recipe: Recipe, seed: int, key: str) -> Draw:
    """Draw one image's parameters.

    seed: of the set. key: of the pair.

    Examples
    --------
    >>> from gloam.synth.recipes.load import load_recipe
    >>> drawn = draw(load_recipe("even", ["exposure.ev=uniform(3, 5)"]), seed=0, key="a")
    >>> 3 < drawn.exposure.ev < 5
    True
    """
    return draw_many(recipe, seed, [key])[0]


def draw_many(recipe: Recipe, seed: int, keys: Sequence[str], form: str = str(DRAWS)) -> list[Draw]:
    """Draw the parameters of many images; see `draw` and `draw_columns`."""
    return records_in(draw_columns(recipe, seed, keys, form))


def records_in(parts: Iterable[DrawColumns]) -> list[Draw]:
    """Return all draws of `draw_columns` as records."""
    return _in_order((part.places, records_of(part.kind, part.columns)) for part in parts)


def _in_order(parts: Iterable[tuple[IntArray, Iterable[Any]]]) -> list[Any]:
    """Return the values of several parts by their places in the whole."""
    found: dict[int, Any] = {}
    for places, values in parts:
        found |= zip(places.tolist(), values, strict=True)
    return [found[place] for place in range(len(found))]


def draw_table(recipe: Recipe, seed: int, keys: Sequence[str]) -> DrawTable:
    """Draw the parameters of many images of the camera model, as its kernels take them.

    recipe: whose `model_of` is "camera". seed: of the set. keys: of the pairs, at least one.
    """
    parts = [(places, table_of(columns)) for _, places, columns in draw_columns(recipe, seed, keys)]
    if len(parts) == 1:
        return parts[0][1]
    order = np.argsort(np.concatenate([places for places, _ in parts]))
    return concat([table for _, table in parts]).take(order)


def draw_columns(
    recipe: Recipe, seed: int, keys: Sequence[str], form: str = str(DRAWS)
) -> Iterator[DrawColumns]:
    """Draw the parameters of many images, for each recipe of a mixture those that it draws.

    form: of the draws, as of `form_of`.
    """
    for part, places, random in _parts_of(recipe, KeyedRandom(seed, keys)):
        kind, draw_all = _MODELS[part.model]
        columns = draw_all(part, random)
        if form != "1":
            forget_unused(columns)
        yield DrawColumns(kind, places, columns)


def draws_version(recipe: Recipe) -> dict[str, str]:
    """Return `DRAWS` for the versions of a set, where a recipe's draws depend on it."""
    own = any(isinstance(one, CameraRecipe) and one.has_own_noise for one in single_recipes(recipe))
    return {"draws": str(DRAWS)} if own else {}


def form_of(versions: Mapping[str, str]) -> str:
    """Return the form of a set's draws, by its versions: `DRAWS` as it was when it was begun."""
    return versions.get("draws", "1")


def component_of(recipe: Recipe, seed: int, key: str) -> str:
    """Return the name of the recipe of a mixture that an image is drawn by; "" for no mixture."""
    if not isinstance(recipe, MixtureRecipe):
        return ""
    number = recipe.components(KeyedRandom(seed, [key]))[0]
    return list(recipe.mixture)[number]


def model_of(recipe: Recipe) -> str:
    """Return the model that a recipe's images are drawn by."""
    return recipe.drawn if isinstance(recipe, MixtureRecipe) else recipe.model


class LowMaker:
    """Makes the lows of many draws on the CPU, one by one and in any order."""

    def __init__(self, draws: DrawTable | Sequence[Draw | None]) -> None:
        """Take the draws; None where no low is made."""
        if isinstance(draws, DrawTable):
            check_once()
            self._sources: list[Any] = [(draws, row) for row in range(len(draws))]
            return
        cameras = [one for one in draws if isinstance(one, CameraDraw)]
        rows = iter(LowMaker(table_of_records(cameras))._sources if cameras else ())
        self._sources = [next(rows) if isinstance(one, CameraDraw) else one for one in draws]

    @classmethod
    def of_columns(cls, parts: Iterable[DrawColumns]) -> LowMaker:
        """Return what makes the lows of all draws of `draw_columns`, by their places."""
        maker, several = cls(()), []
        for kind, places, columns in parts:
            camera = kind is CameraDraw
            part = cls(table_of(columns) if camera else records_of(kind, columns))
            several.append((places, part._sources))
        maker._sources = _in_order(several)
        return maker

    def low(
        self,
        number: int,
        normal: Pixels,
        window: Window | None = None,
        lit_as: Pixels | None = None,
    ) -> Pixels:
        """Make the low of that one of the draws; see `render`."""
        source = self._sources[number]
        if isinstance(source, PowerLawDraw):
            return render_power_law(normal, source, window, lit_as)
        return render_window(normal, source[0], source[1], window, lit_as)

    def maps(
        self, number: int, normal: Pixels, names: Sequence[str], window: Window | None = None
    ) -> dict[str, Floats]:
        """Return maps of the low of that one of the draws; see `render.maps.MAPS`."""
        from .render.maps import camera_maps, power_law_maps  # few want maps

        source = self._sources[number]
        if isinstance(source, PowerLawDraw):
            return power_law_maps(normal, source, names, window)
        return camera_maps(normal, source[0], source[1], names, window)


def low_maker(recipe: Recipe, seed: int, keys: Sequence[str]) -> LowMaker:
    """Draw the parameters of many images, to make their lows: those of `draw` and `render`."""
    return LowMaker.of_columns(draw_columns(recipe, seed, keys))


def _parts_of(
    recipe: Recipe, random: KeyedRandom
) -> Iterator[tuple[Single, IntArray, KeyedRandom]]:
    """Yield each recipe that images are drawn by, the places of those, and their random numbers."""
    if not isinstance(recipe, MixtureRecipe):
        yield recipe, np.arange(len(random)), random
        return
    which = recipe.components(random)
    for i, one in enumerate(recipe.mixture.values()):
        places = np.flatnonzero(which == i)
        if len(places):
            yield one.recipe, places, random.take(places)


def draw_type(model: str) -> type[CameraDraw] | type[PowerLawDraw]:
    """Return the class of a model's draws. Raises ValueError when there is no such model."""
    if model not in _MODELS:
        raise ValueError(f"unknown model {model!r}; known are {', '.join(_MODELS)}")
    return _MODELS[model][0]


def parse_draw(values: dict[str, Any]) -> Draw:
    """Read a draw as a pair's record holds it.

    Raises ValueError when it is of no known model, damaged, or holds what no recipe draws.
    """
    drawn: Draw = draw_type(str(values.get("model"))).model_validate(values)
    if isinstance(drawn, CameraDraw):
        check_camera(drawn)
    else:
        check_numbers(drawn, PowerLawRecipe, {})
    return drawn


def has_lamps(drawn: Draw) -> bool:
    """Return whether lamps shine into the lens, which may be brighter than the normal."""
    return isinstance(drawn, CameraDraw) and drawn.emitters is not None and drawn.emitters.count > 0


def render(
    normal: Pixels, drawn: Draw, window: Window | None = None, lit_as: Pixels | None = None
) -> Pixels:
    """Make the low of a pair, or a window of it: a pure function of pixels and draw.

    normal: uint8 array (H, W, 3), RGB, the stored normal as decoded; at least 1 x 1, below 2^30
      pixels.
    window: what of the low is made; by default all of it.
    lit_as: uint8 array (H, W, 3), the image that light is placed by, instead of the normal: the
      first frame of its clip.

    Returns uint8 array (H, W, 3), or the window's height and width, RGB. Raises ValueError when the
    normal is not of that type and shape, or the window does not lie within it.

    Examples
    --------
    >>> import numpy as np
    >>> from gloam.synth.recipes.load import load_recipe
    >>> normal = np.full((48, 64, 3), 160, np.uint8)
    >>> drawn = draw(load_recipe("even"), seed=0, key="a")
    >>> bool((render(normal, drawn) == render(normal, drawn)).all())
    True
    """
    return LowMaker([drawn]).low(0, normal, window, lit_as)


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
        A well exposed photograph, RGB, sRGB-encoded. Pillow's other modes become RGB as `build`
        reads them: 16 bits the nearest levels, what is transparent white.
    recipe : Recipe or str
        Recipe that parameters are drawn from: a shipped recipe's name, a YAML file, or a loaded
        recipe. A file is read at each call: for many images, load it once with `load_recipe`.
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
        When the image is none of those, or of a mode that does not say which value is white (F,
        I), or the seed is no such number.

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
    seed, given = whole("seed", seed), image_of(image)
    return given.back(low_maker(load_recipe(recipe, overrides), seed, [key]).low(0, given.pixels))
