"""Recipes of the camera model: the distributions that each image's parameters are drawn from.

A recipe is a YAML file. What it leaves out is switched off (no field, no colour error, ...), so a short recipe is a simple
one. Parameters are distributions (see `distributions`): a number, `uniform(..)`, `loguniform(..)`, `normal(..)`, `choice(..)`.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, model_validator

from ..manifests.errors import ConfigError
from ..manifests.yamlfiles import load_yaml, validated
from .cameras import GAUSSIAN, TUKEY, camera_names, iso_range
from .distributions import Constant, Distribution, OneOf, Within

DEFAULT = "uneven"
MAX_LIGHTS = 16
MAX_CELLS = 16


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Exposure(_Section):
    """How much less light falls on the sensor.

    ev: stops under the exposure of the normal.
    """

    ev: Annotated[Distribution, Within(-4, 16)] = Constant(0.0)


class Highlights(_Section):
    """ev: stops by which light at the clipping point is brightened, as the photograph cut it off."""

    ev: Annotated[Distribution, Within(0, 8)] = Constant(0.0)


class Tone(_Section):
    """strength: of the tone curve y = (1-t) x + t (3x^2 - 2x^3) on encoded values, inverted before and applied after."""

    strength: Annotated[Distribution, Within(0, 1)] = Constant(0.0)


class Smooth(_Section):
    """A random smooth field: a grid of cells x cells normal numbers, standard deviation sigma_ev in EV, bicubic between."""

    sigma_ev: Annotated[Distribution, Within(0, 6)] = Constant(0.0)
    cells: Annotated[Distribution, Within(2, MAX_CELLS, whole=True)] = Constant(4.0)


class Lights(_Section):
    """Pools of light: how many, EV at their middle, radius (share of the longer side), falloff (2 is Gaussian).

    They are placed at random, preferably where the photograph is bright.
    """

    count: Annotated[Distribution, Within(0, MAX_LIGHTS, whole=True)] = Constant(0.0)
    ev: Annotated[Distribution, Within(-8, 12)] = Constant(0.0)
    radius: Annotated[Distribution, Within(0.01, 2)] = Constant(0.3)
    falloff: Annotated[Distribution, Within(0.5, 8)] = Constant(2.0)


class Scene(_Section):
    """strength: a of a * (log2 of the photograph's own smoothed luminance, less its mean): what was dark gets darker."""

    strength: Annotated[Distribution, Within(-2, 4)] = Constant(0.0)


class Vignette(_Section):
    """ev: loss in the corners, by the cos^4 law."""

    ev: Annotated[Distribution, Within(0, 6)] = Constant(0.0)


class Gradient(_Section):
    """ev: difference between two opposite sides, in a random direction."""

    ev: Annotated[Distribution, Within(-12, 12)] = Constant(0.0)


class Illumination(_Section):
    """The field: EV over the image, a sum of parts, zero mean. probability: share of the images that have one."""

    probability: Annotated[Distribution, Within(0, 1)] = Constant(1.0)
    smooth: Smooth = Smooth()
    lights: Lights = Lights()
    scene: Scene = Scene()
    vignette: Vignette = Vignette()
    gradient: Gradient = Gradient()


class Camera(_Section):
    """The sensor.

    name: entry of the camera file. iso: the nearest calibrated one is taken; nominal for cameras calibrated by gain. read_noise:
    form of the read noise (Gaussian for cameras that have no Tukey fit). matrix: `random` mixes the colours of four cameras,
    `none` gives a sensor that sees sRGB.
    """

    name: Annotated[Distribution, OneOf(camera_names())] = Constant("sony-a7s2")
    iso: Annotated[Distribution, Within(1, 1_000_000)] = Constant(800.0)
    read_noise: Annotated[Distribution, OneOf((TUKEY, GAUSSIAN))] = Constant(TUKEY)
    matrix: Annotated[Distribution, OneOf(("random", "none"))] = Constant("none")

    @model_validator(mode="after")
    def _calibrated(self) -> Camera:
        for name in self.name.extremes():
            low, high = iso_range(str(name))
            for iso in self.iso.extremes():
                if not low <= float(iso) <= high:
                    raise ValueError(f"iso = {iso:g}: {name} is calibrated from {low:g} to {high:g}")
        return self


class WhiteBalance(_Section):
    """Gains of red and blue over green, and the camera's error on each in EV (drawn for red and for blue)."""

    red: Annotated[Distribution, Within(0.2, 8)] = Constant(1.0)
    blue: Annotated[Distribution, Within(0.2, 8)] = Constant(1.0)
    error_ev: Annotated[Distribution, Within(-3, 3)] = Constant(0.0)


class Isp(_Section):
    """digital_gain_ev: brightening after the sensor. contrast: exponent in linear light."""

    digital_gain_ev: Annotated[Distribution, Within(-2, 14)] = Constant(0.0)
    contrast: Annotated[Distribution, Within(0.2, 4)] = Constant(1.0)


class Recipe(_Section):
    """A recipe of the camera model.

    name and about are for people; every other part is documented at its class.
    """

    name: str = "custom"
    about: str = ""
    model: Literal["camera"] = "camera"
    exposure: Exposure = Exposure()
    highlights: Highlights = Highlights()
    tone: Tone = Tone()
    illumination: Illumination = Illumination()
    camera: Camera = Camera()
    white_balance: WhiteBalance = WhiteBalance()
    isp: Isp = Isp()


def shipped_recipes() -> dict[str, str]:
    """Names of the recipes that gloam ships, and what each is about."""
    folder = resources.files(__package__) / "recipes"
    names = sorted(file.name.removesuffix(".yaml") for file in folder.iterdir() if file.name.endswith(".yaml"))
    return {name: load_recipe(name).about for name in names}


def load_recipe(name: str, overrides: Iterable[str] = ()) -> Recipe:
    """A shipped recipe by its name, or one from a YAML file, with single values changed.

    Parameters
    ----------
    name : str
        Such as `uneven`, or a path that ends in .yaml or .yml or exists.
    overrides : iterable of str
        Such as `camera.iso=3200` or `exposure.ev=uniform(3, 8)`.

    Raises
    ------
    ConfigError
        With the key, its value and what is allowed.
    """
    shipped = resources.files(__package__) / "recipes" / f"{name}.yaml"
    if "/" not in name and shipped.is_file():
        with resources.as_file(shipped) as path:
            values = load_yaml(Path(path))
    elif Path(name).suffix in (".yaml", ".yml") or Path(name).is_file():
        values = load_yaml(Path(name))
    else:
        folder = resources.files(__package__) / "recipes"
        known = sorted(file.name.removesuffix(".yaml") for file in folder.iterdir() if file.name.endswith(".yaml"))
        raise ConfigError(f"recipe {name}: neither a file nor one of {', '.join(known)}")
    for override in overrides:
        _set(values, override)
    return validated(Recipe, values, f"recipe {name}")


def _set(values: dict[str, Any], override: str) -> None:
    key, equals, value = override.partition("=")
    parts = key.strip().split(".")
    if not equals or not all(parts):
        raise ConfigError(f"--set {override}: write it as KEY=VALUE, for example camera.iso=3200")
    place = values
    for part in parts[:-1]:
        inner = place.setdefault(part, {})
        if not isinstance(inner, dict):
            raise ConfigError(f"--set {override}: {part} holds a value, not further keys")
        place = inner
    place[parts[-1]] = value.strip()


def recipe_yaml(recipe: Recipe) -> bytes:
    """A recipe, resolved, as YAML: equal recipes give equal bytes."""
    return yaml.safe_dump(recipe.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=120).encode("utf-8")
