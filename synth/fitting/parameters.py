"""What is searched for: a few numbers, and the recipe that they stand for."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from ..camera.sensors import iso_range, shipped_cameras
from ..recipes.load import Recipe, recipe_of

CAMERA = "sony-a7s2"
FITTED = "fitted"
"""Name of the camera whose calibration has another read noise."""
_LOWEST_ISO, _HIGHEST_ISO = iso_range(CAMERA, {})
_BOUNDS = {
    "ev": (-2.0, 12.0),
    "ev_spread": (0.02, 3.0),
    "contrast": (0.4, 2.5),
    "contrast_spread": (0.0, 0.6),
    "iso": (math.log2(_LOWEST_ISO), math.log2(_HIGHEST_ISO)),
    "iso_spread": (0.0, 4.0),
    "field": (0.0, 3.0),
    "field_spread": (0.0, 1.0),
    "chroma": (0.0, 1.0),
    "gain": (0.0, 8.0),
    "cast_spread": (0.0, 1.0),
    "highlights": (0.0, 6.0),
    "lights": (0.5, 8.0),
    "scene": (0.0, 1.0),
    "warmth": (0.0, 3.0),
    "lamps": (0.0, 9.0),
    "share": (0.05, 1.0),
    "others_field": (0.0, 1.5),
    "gain_spread": (0.0, 2.0),
    "red": (-1.5, 1.5),
    "blue": (-1.5, 1.5),
    "sigma": (0.5, 4.0),
    "read": (-2.0, 3.0),
}
_STEPS = {  # by which derivatives are found: much more than what an image more or less changes
    "ev": 0.15,
    "ev_spread": 0.2,
    "contrast": 0.08,
    "contrast_spread": 0.08,
    "iso": 0.3,
    "iso_spread": 0.4,
    "field": 0.15,
    "field_spread": 0.25,
    "chroma": 0.1,
    "gain": 0.3,
    "cast_spread": 0.1,
    "highlights": 1.0,
    "lights": 0.7,
    "scene": 0.2,
    "warmth": 0.5,
    "lamps": 2.0,
    "others_field": 0.15,
    "gain_spread": 0.4,
    "red": 0.3,
    "blue": 0.3,
    "sigma": 0.3,
    "read": 0.5,
}
OF_LIGHTS = "highlights", "lights", "scene", "warmth", "lamps"
"""Parameters of scenes that have lights of their own."""


@dataclass(frozen=True)
class Parameters:
    """A point of the search.

    Attributes
    ----------
    ev, ev_spread : float
        Mean and deviation of the exposure.
    contrast, contrast_spread : float
        Mean and deviation of the exponent.
    iso, iso_spread : float
        Binary logarithm of the middle ISO, and how many stops it goes up and down.
    field, field_spread : float
        Largest deviation of the smooth field, EV, and which share of it the smallest falls short.
    chroma, sigma : float
        Middle strength of chroma noise reduction, and the deviation of its blur, pixels.
    gain, gain_spread : float
        Digital gain, EV, for noise beyond what the largest ISO has; how far it goes up and down.
    cast_spread : float
        Deviation of the white balance's error, EV.
    red, blue : float
        By how many EV the camera brightens red, and blue, more than in daylight, which its sensor
        sees so much darker: it decides how noisy they are beside green.
    highlights, lights, scene, warmth, lamps : float
        Of scenes with lights: how much brighter than white the brightest highlights are, EV; the
        middle of how bright pools of light are, EV; how much of the light lies where the scene is
        bright, at most; how warm pools are at most, EV; the middle of how bright lamps are, EV.
    share, others_field : float
        How many of the images are such; largest deviation of the smooth field of the others, EV.
    read : float
        How much noise there is besides shot noise, which decides how noisy black is: binary
        logarithm of a factor on the camera's.
    demosaic, matrix : str
    lit : bool
        Whether there are pools of light, a scene of its own and vignetting, as in `uneven`.
    """

    ev: float = 4.0
    ev_spread: float = 1.0
    contrast: float = 1.1
    contrast_spread: float = 0.15
    iso: float = 11.0
    iso_spread: float = 1.0
    field: float = 0.4
    field_spread: float = 0.7
    chroma: float = 0.5
    gain: float = 0.0
    cast_spread: float = 0.3
    highlights: float = 2.0
    lights: float = 4.0
    scene: float = 0.4
    warmth: float = 0.0
    lamps: float = 0.0
    share: float = 1.0
    others_field: float = 0.4
    gain_spread: float = 0.0
    red: float = 0.0
    blue: float = 0.0
    sigma: float = 1.0
    read: float = 0.0
    demosaic: str = "binned"
    matrix: str = "random"
    lit: bool = False

    @property
    def steps(self) -> dict[str, float]:
        """How far a number goes to see what it does."""
        return _STEPS

    def moved(self, **changes: float) -> Parameters:
        """Return parameters with some changed, within their bounds."""
        kept = {}
        for name, value in changes.items():
            low, high = _BOUNDS[name]
            kept[name] = min(max(value, low), high)
        return replace(self, **kept)  # type: ignore[arg-type]

    def values(self) -> dict[str, float]:
        """Return the numbers by name."""
        made = asdict(self)
        return {one.name: made[one.name] for one in fields(self) if one.name in _BOUNDS}

    def recipe(self, name: str = "fitted", about: str = "") -> Recipe:
        """Return the recipe that they stand for."""
        return recipe_of(self._sections() | {"name": name, "about": about}, (), f"recipe {name}")

    def _sections(self) -> dict[str, Any]:
        iso = [2.0 ** (self.iso + side * self.iso_spread) for side in (-1, 1)]
        lowest, highest = (min(max(one, _LOWEST_ISO), _HIGHEST_ISO) for one in iso)
        strengths = max(self.chroma - 0.1, 0.0), min(self.chroma + 0.1, 1.0)
        ev = self.ev + self.gain  # gain brightens again what exposure took
        return {
            **self._light(),
            "exposure": {"ev": _normal(ev, self.ev_spread, -4, 16, 2.5)},
            "camera": {
                **_camera(round(self.read, 3)),
                "iso": _loguniform(lowest, highest),
                "matrix": self.matrix,
            },
            "white_balance": {
                "red": _loguniform(1.9 * 2.0**self.red, 2.4 * 2.0**self.red),
                "blue": _loguniform(1.5 * 2.0**self.blue, 1.9 * 2.0**self.blue),
                "error_ev": _normal(0.0, self.cast_spread, -1, 1, 3),
            },
            "isp": {
                "digital_gain_ev": _uniform(
                    max(self.gain - self.gain_spread, 0.0), self.gain + self.gain_spread
                ),
                "contrast": _normal(self.contrast, self.contrast_spread, 0.2, 4, 2.5),
                "demosaic": self.demosaic,
                "chroma": {"strength": _uniform(*strengths), "sigma": round(self.sigma, 3)},
            },
        }

    def _light(self) -> dict[str, Any]:
        """Return the sections of the light that falls on the scenes."""
        smooth = {
            "sigma_ev": _uniform(self.field * (1 - self.field_spread), self.field),
            "cells": "choice(2, 3, 4, 5)",
        }
        if not self.lit:
            return {"illumination": {"smooth": smooth}}
        own: dict[str, Any] = {
            "highlights": {"ev": _uniform(0.0, self.highlights)},
            "illumination": {"smooth": smooth, **self._lights()},
        }
        if self.share == 1:
            return own
        others = {"smooth": {"sigma_ev": _uniform(0.0, self.others_field)}}
        share = round(self.share, 3)
        return {
            "mixture": {
                "lit": {"weight": share, "recipe": "even", **own},
                "others": {
                    "weight": round(1 - share, 3),
                    "recipe": "even",
                    "illumination": others,
                },
            }
        }

    def _lights(self) -> dict[str, Any]:
        """Return pools of light as in `uneven`, but for what is searched, lamps as in night."""
        warmth = _uniform(0.0, self.warmth)
        lamps = {
            "lamps": {
                "count": "choice(0, 1, 2, 3, 4, 5)",
                "ev": _around(self.lamps, 1.5),
                "radius": "loguniform(0.01, 0.05)",
                "falloff": "uniform(1, 2)",
                "warmth_ev": warmth,
            }
        }
        return {
            "lights": {
                "count": "choice(0, 1, 2, 3, 4)",
                "ev": _around(self.lights, 2.0),
                "radius": "loguniform(0.1, 0.5)",
                "falloff": "uniform(1, 2.5)",
                "warmth_ev": warmth,
            },
            **(lamps if self.lamps > 0.2 else {}),
            "scene": {"strength": _uniform(0.0, self.scene)},
            "vignette": {"ev": "uniform(0, 1)"},
        }


def _camera(read: float) -> dict[str, Any]:
    """Return the camera, or its calibration with another read noise."""
    if not read:
        return {"name": CAMERA}
    calibration = shipped_cameras()[CAMERA]
    factor = 2.0**read
    rows = [
        [iso, gain, *(float(f"{factor * one:.4g}") for one in (gaussian, tukey)), shape, row]
        for iso, gain, gaussian, tukey, shape, row in calibration.by_iso
    ]
    about = (
        f"{CAMERA}, with {factor:.3g} times its read noise, as in the lows that it was fitted to"
    )
    own = calibration.model_dump(mode="json") | {"source": about, "by_iso": rows}
    return {"name": FITTED, "own": {FITTED: own}}


def _around(middle: float, reach: float) -> Any:
    return _uniform(max(middle - reach, 0.0), middle + reach)


def _normal(mean: float, deviation: float, low: float, high: float, reach: float) -> Any:
    if deviation < 0.01:
        return round(mean, 3)
    mean = min(max(mean, low), high)
    first, last = max(mean - reach * deviation, low), min(mean + reach * deviation, high)
    return f"normal({mean:.3f}, {deviation:.3f}, {first:.3f}, {last:.3f})"


def _uniform(low: float, high: float) -> Any:
    return round(high, 3) if high - low < 0.005 else f"uniform({low:.3f}, {high:.3f})"


def _loguniform(low: float, high: float) -> Any:
    return float(f"{high:.4g}") if high / low < 1.02 else f"loguniform({low:.4g}, {high:.4g})"
