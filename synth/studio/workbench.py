"""The answers that a studio's page asks for: lows, draws, statistics, recipes and commands."""

from __future__ import annotations

import math
import os
import re
import shlex
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ...errors import ConfigError, GloamError, ImageRefused
from ...manifests.images.header import read_header
from ...manifests.images.normals import load_normal
from ...storage.atomic import write_bytes
from ...storage.yaml_files import parse_yaml
from ..camera.calibrated_sensors import camera_names, iso_range
from ..kernels.arrays import Pixels
from ..kernels.png.file import encode_png
from ..measures.contact_sheet import brighten, say_refused
from ..measures.pair_statistics import LABELS, pair_statistics, reference_statistics
from ..models import component_of, draw, low_maker, render
from ..parameters.schema import WHOLE, Each, OneOf, Section, Within, mark_of
from ..recipes.annotated import annotated_yaml, meaning_of
from ..recipes.load import Recipe, load_recipe, recipe_of, shipped_recipes
from ..recipes.mixture_recipe import MixtureRecipe, flat_values, single_recipes

KEY = "image"
"""Key of every low."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_LONG = 8  # values of a tuple that are written out
_FOR_PEOPLE = ("name", "about")
Values = dict[str, Any]
_HEAVIEST = 10.0  # weight of a mixture's recipe that its slider goes up to
SIDE = 1024
"""Longer side, in pixels, that larger photographs are shrunk to before they are darkened."""
SMALL = 256
"""The same of the pictures of a sheet."""
MOST = 60
MOST_BYTES = 1 << 26
_DECODED = 24  # normals that are held


class Workbench:
    """A studio without its server.

    recipe: that it begins with. named: what the command line calls that one: a name, or a file.
    folder: that recipes are saved to.
    """

    def __init__(
        self, photographs: Photographs, recipe: Recipe, named: str, folder: Path, seed: int = 0
    ) -> None:
        self.photographs = photographs
        self._begun, self._named, self._folder, self._seed = recipe, named, folder, seed
        self._saved: dict[str, Recipe] = {}
        self._saving = threading.Lock()

    def start(self) -> Values:
        """Return all that a page begins with."""
        return {
            "photographs": [self.photograph(number) for number in range(len(self.photographs))],
            "recipes": [{"name": n, "about": about} for n, about in shipped_recipes().items()],
            "labels": LABELS,
            "references": {
                name: {key: value for key, value in values.items() if key in LABELS}
                for name, values in reference_statistics().items()
            },
            "seed": self._seed,
            "base": self._named,
            **self.described(self._begun),
        }

    def photograph(self, number: int) -> Values:
        """Return a photograph's facts."""
        photograph = self.photographs[number]
        height, width = self.photographs.normal(number).shape[:2]
        shrunk = max(photograph.width, photograph.height) > SIDE
        return {
            "number": number,
            "name": photograph.name,
            "width": width,
            "height": height,
            "shrunk": f"{photograph.width} x {photograph.height}" if shrunk else "",
        }

    def described(self, recipe: Recipe) -> Values:
        """Return a recipe's values and what its controls are made of."""
        return {
            "values": _values_of(recipe),
            "controls": controls_of(recipe),
            "cameras": cameras_of(recipe),
        }

    def recipe(self, name: str) -> Values:
        """Return a shipped recipe. Raises ConfigError when there is none of that name."""
        if name != self._named and name not in shipped_recipes():
            raise ConfigError(f"recipe {name}: not one of {', '.join(shipped_recipes())}")
        recipe = self._begun if name == self._named else load_recipe(name)
        return {"base": name, **self.described(recipe)}

    def read(self, text: str, name: str) -> Values:
        """Return the recipe of a YAML file's text. Raises ConfigError when it is none."""
        recipe = recipe_of(parse_yaml(text, name), (), name)
        return {"base": "", **self.described(recipe)}

    def low(
        self, photo: int, values: Values, seed: int, small: bool = False, bright: bool = False
    ) -> bytes:
        """Return a low as a PNG file: each sample is that of `gloam.darken`.

        photo: number of the photograph.
        values: of the recipe.
        small: whether it is a picture of a sheet, of the photograph shrunk to `SMALL`.
        bright: whether it is brightened to middle grey, to see what it hides.

        Raises ConfigError when the recipe is wrong, with the key, its value and what is allowed.
        """
        normal = self.photographs.normal(photo, SMALL if small else SIDE)
        low = low_maker(_recipe(values), seed, [KEY]).low(0, normal)
        return encode_png(brighten(low) if bright else low)

    def normal(self, photo: int, small: bool = False) -> bytes:
        """Return a photograph's normal as a PNG file."""
        return encode_png(self.photographs.normal(photo, SMALL if small else SIDE))

    def about(self, photo: int, values: Values, seed: int, base: str) -> Values:
        """Return the draw, the low's statistics, and the command that builds such a set."""
        recipe, normal = _recipe(values), self.photographs.normal(photo)
        drawn = draw(recipe, seed, KEY)
        measured = pair_statistics(render(normal, drawn), normal)
        component = component_of(recipe, seed, KEY)
        shown = flat_values(drawn.model_dump(mode="json"))
        return {
            "drawn": [
                *([["recipe", component]] if component else []),
                *([path, _shown(value)] for path, value in shown),
            ],
            "statistics": {k: v for k, v in measured.items() if math.isfinite(v)},
            "command": self.command(recipe, seed, base),
        }

    def command(self, recipe: Recipe, seed: int, base: str) -> str:
        """Return the command that builds a set with a recipe.

        Values that were changed stand in it. Where a recipe came from the page there is no file to
        name: "" then, until it is saved.
        """
        if not base:
            return ""
        words = ["gloam", "build", "SET", "--source", "folder=PHOTOS", "--recipe", base]
        for change in changes(self._of(base), recipe):
            words += ["--set", change]
        return shlex.join([*words, *(["--seed", str(seed)] if seed else [])])

    def text(self, values: Values) -> str:
        """Return a recipe as YAML, with meaning and bounds of each value."""
        return annotated_yaml(_recipe(values))

    def save(self, values: Values, name: str, replace: bool) -> Values:
        """Write a recipe as `NAME.yaml` to the folder.

        Returns `file`, and `exists` where there is one that was not to be replaced. Raises
        ConfigError when the name is not one of letters, digits, - and _.
        """
        if not _NAME.fullmatch(name):
            raise ConfigError(f"name {name!r}: letters, digits, - and _ make one, 64 at most")
        path = self._folder / f"{name}.yaml"
        named = os.path.relpath(path)
        data = self.text({**values, "name": name}).encode("utf-8", "backslashreplace")
        with self._saving:
            if path.exists() and not replace:
                return {"file": named, "exists": True}
            write_bytes(path, data)
        self._saved[named] = _recipe({**values, "name": name})
        return {"file": named, "exists": False}

    def _of(self, base: str) -> Recipe:
        if base in self._saved:
            return self._saved[base]
        return self._begun if base == self._named else load_recipe(base)


def _values_of(recipe: Recipe) -> Values:
    """Return all values of a recipe, those too that files leave out where they change nothing."""
    return recipe.model_dump(mode="json", context=WHOLE)


def _recipe(values: Values) -> Recipe:
    try:
        return recipe_of(values, (), "recipe")
    except GloamError:
        raise
    except (TypeError, AttributeError, ValueError) as error:  # no recipe's shape at all
        raise ConfigError(f"recipe: {error}") from error


def changes(base: Recipe, recipe: Recipe) -> list[str]:
    """Return the `--set` options that turn one recipe into another.

    Examples
    --------
    >>> from gloam.synth.recipes.load import load_recipe
    >>> even = load_recipe("even")
    >>> changes(even, load_recipe("even", ["camera.iso=1600", "exposure.ev=uniform(3, 5)"]))
    ['exposure.ev=uniform(3, 5)', 'camera.iso=1600']
    """
    before = dict(flat_values(_values_of(base)))
    mixed = isinstance(recipe, MixtureRecipe)
    made = []
    for path, value in flat_values(_values_of(recipe)):
        if path in _FOR_PEOPLE or before.get(path) == value:
            continue
        key = path.replace(".recipe.", ".", 1) if mixed else path
        made.append(f"{key}={f'{value:.12g}' if isinstance(value, float) else value}")
    return made


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        shown = ", ".join(map(_shown, value[:_LONG]))
        return f"{shown}, ... ({len(value)})" if len(value) > _LONG else shown or "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def controls_of(recipe: Recipe) -> list[dict[str, Any]]:
    """Return the sections of a recipe, each with its fields and further sections.

    Returns a section has `path` (list of keys in the recipe's values), `title`, `about`, `fields`
    and `sections`. A field has `path`, `name`, `about`, and either `names` (one of them) or `low`,
    `high`, `unit` and `whole`; `plain` where it is a number, never a distribution.
    """
    if not isinstance(recipe, MixtureRecipe):
        return _section(recipe, [])["sections"]
    made = []
    for name, component in recipe.mixture.items():
        path = ["mixture", name]
        inner = _section(component.recipe, [*path, "recipe"])
        weight = {
            "path": [*path, "weight"],
            "name": "weight",
            "about": str(type(component).model_fields["weight"].description),
            "low": 0.01,
            "high": _HEAVIEST,
            "unit": "",
            "whole": False,
            "plain": True,
        }
        made.append({**inner, "path": path, "title": name, "fields": [weight, *inner["fields"]]})
    return made


def cameras_of(recipe: Recipe) -> dict[str, tuple[float, float]]:
    """Return the ISOs that each camera is calibrated for, a recipe's own ones too."""
    own: dict[str, Any] = {}
    for part in single_recipes(recipe):
        own |= part.camera.own if part.model == "camera" else {}
    return {name: iso_range(name, own) for name in (*camera_names(), *own)}


def _section(section: BaseModel, path: list[str]) -> dict[str, Any]:
    fields, sections = [], []
    for name, field in type(section).model_fields.items():
        value, own = getattr(section, name), [*path, name]
        if isinstance(value, Section):
            sections.append(_section(value, own))
            continue
        within, names, each = mark_of(field, Within), mark_of(field, OneOf), mark_of(field, Each)
        said = {
            "path": own,
            "name": name,
            "about": str(field.description or ""),
            "times": each.times if each else 1,
            "plain": False,
        }
        if within:
            fields.append(said | asdict(within))
        elif names:  # what is neither is for people, or calibrations
            every = dict.fromkeys([*names.names, *getattr(section, "own", ())])
            fields.append(said | {"names": list(every)})
    title, about = path[-1] if path else "", meaning_of(type(section))
    return {"path": path, "title": title, "about": about, "fields": fields, "sections": sections}


@dataclass(frozen=True)
class Photograph:
    """A photograph by its name and its bytes, with its width and height in pixels."""

    name: str
    data: bytes
    width: int
    height: int


class Photographs:
    """Photographs by number; more may be added, by several threads.

    held: sequence of (name, bytes). Those that cannot be used are passed over, with a warning.

    Raises SourceError when none of them can be used.
    """

    def __init__(self, held: Sequence[tuple[str, bytes]]) -> None:
        self._held: list[Photograph] = []
        self._decoded = lru_cache(_DECODED)(self._decode)
        self._lock = threading.Lock()
        refused: list[tuple[str, ImageRefused]] = []
        for name, data in held:
            try:
                self.add(name, data)
            except ImageRefused as refusal:
                refused.append((name, refusal))
        say_refused(refused, len(self._held))

    def __len__(self) -> int:
        return len(self._held)

    def __getitem__(self, number: int) -> Photograph:
        return self._held[number]

    def add(self, name: str, data: bytes) -> int:
        """Add a photograph; returns its number.

        Raises ImageRefused when it cannot be used; ConfigError when there are `MOST` already.
        """
        header = read_header(data)
        load_normal(data, SMALL)  # its pixels too can be read
        with self._lock:
            if len(self._held) >= MOST:
                raise ConfigError(
                    f"{name}: the limit of {MOST} photographs is reached; restart the studio"
                )
            self._held.append(Photograph(name, data, header.width, header.height))
            return len(self._held) - 1

    def normal(self, number: int, side: int = SIDE) -> Pixels:
        """Return a photograph's normal, shrunk to a longer side, uint8 RGB (H, W, 3).

        Raises ConfigError when there is no such photograph.
        """
        if not 0 <= number < len(self._held):
            raise ConfigError(f"photo {number}: there are {len(self._held)}")
        return self._decoded(number, side)

    def _decode(self, number: int, side: int) -> Pixels:
        return load_normal(self._held[number].data, side).pixels
