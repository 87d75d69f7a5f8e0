"""What a draw may hold: nothing that no recipe draws.

Kernels take a draw's numbers as they are, as places in tables and as lengths of loops; and the
records of sets may be anybody's.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from ..camera.recipe import CameraRecipe
from ..parameters.drawing import Drawn, leaves
from ..parameters.schema import Section, Within
from ..power_law.draw import PowerLawDraw
from ..power_law.recipe import PowerLawRecipe
from .record import CameraDraw

Bounds = tuple[float, float]
_SHARE, _ANGLE, _SEED, _DN = (0.0, 1.0), (-7.0, 7.0), (0, 2**63 - 1), (0.0, 1e12)
_ENDINGS: dict[str, Bounds] = {
    "seed": _SEED,
    "angle": _ANGLE,
    "phase": _SHARE,
    "place": _SHARE,
    "within": _SHARE,
}
_OTHERS: dict[str, Bounds] = {
    "pixel_seed": _SEED,
    "illumination.smooth.values": (-64.0, 64.0),
    "camera.iso": (1.0, 1e7),
    "camera.matrix": (-8.0, 8.0),
    "camera.sensor.gain": (1e-15, 1e12),
    "camera.sensor.row_sigma": _DN,
    "camera.sensor.read_scale": _DN,
    "camera.sensor.read_shape": (-1.0, 2.0),
    "camera.sensor.black": (0, 1 << 26),
    "camera.sensor.white": (1, 1 << 26),
}
"""Bounds of what no recipe says; those of a sensor are wide around what calibrations may hold."""
_REPEATED = ("illumination.lights", "illumination.lamps", "emitters")
_RECIPES: dict[type[Drawn], type[Section]] = {
    CameraDraw: CameraRecipe,
    PowerLawDraw: PowerLawRecipe,
}


def check_limits(drawn: CameraDraw | PowerLawDraw) -> None:
    """Raise ValueError for a number that no recipe draws, with its path."""
    kind = type(drawn)
    lengths: dict[str, int] = {}
    for path, (low, high) in _bounds(kind).items():
        value = leaves(kind)[path].get(drawn)
        several = isinstance(value, tuple)
        if several:
            lengths[path] = len(value)
        for number in value if several else (value,):
            if not low <= number <= high:
                raise ValueError(f"{path} = {number:.6g}: no recipe draws it ({low:g} to {high:g})")
    if not isinstance(drawn, CameraDraw):
        return
    expected = {
        "illumination.smooth.values": drawn.illumination.smooth.cells**2,
        "camera.matrix": 9,
        "white_balance.error_ev": 2,
    }
    for section in _REPEATED:
        count = leaves(kind)[f"{section}.count"].get(drawn)
        expected |= {path: count for path in lengths if path.rpartition(".")[0] == section}
    odd = next((path for path in lengths if lengths[path] != expected[path]), None)
    if odd is not None:
        raise ValueError(f"{odd}: has {lengths[odd]} numbers, not {expected[odd]}")
    if drawn.camera.sensor.white <= drawn.camera.sensor.black:
        raise ValueError("camera.sensor.white: must be above black")


@lru_cache(maxsize=2)
def _bounds(kind: type[Drawn]) -> dict[str, Bounds]:
    """Return the bounds of all numbers of a draw, by their paths."""
    found: dict[str, Bounds] = {}
    for path in leaves(kind):
        mark = _mark(_RECIPES[kind], path)
        own = _OTHERS.get(path) or _ENDINGS.get(path.rpartition(".")[2])
        if own is not None:
            found[path] = own
        elif mark is not None:  # what an image has none of is 0
            found[path] = min(mark.low, 0.0), max(mark.high, 0.0)
    return found


def _mark(kind: type[BaseModel], path: str) -> Within | None:
    name, _, rest = path.partition(".")
    field = kind.model_fields.get(name)
    if field is None:
        return None
    annotation: Any = field.annotation
    if rest:
        inner = isinstance(annotation, type) and issubclass(annotation, Section)
        return _mark(annotation, rest) if inner else None
    return next((mark for mark in field.metadata if isinstance(mark, Within)), None)
