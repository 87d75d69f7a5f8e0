"""Mixtures: components, their weights and options, in Python or a YAML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import ConfigDict, Field, ValidationError, field_validator, model_validator

from ..errors import ConfigError, LoaderError, visible
from ..manifests.config import Numbers
from ..storage.untrusted import shown
from ..storage.yaml_files import load_yaml
from ..synth.recipes.recipe_files import shipped_names
from .options import first_fault

T = TypeVar("T")
MOST_SAMPLES = 10**9
"""Of an epoch."""
Epoch = Literal["shortest", "longest"] | int
_FOLDERS = ("data", "photos", "low", "normal", "dark", "bright")  # that a file may name


class Component(Numbers):
    """One source of a mixture.

    data: PairSet, str, Path, sequence or dict; a set or its folder, pairs of paths or bytes
      (`pairs_in`, `real`), or photographs, whose lows are made live. Or a dict: {low: DIR, normal:
      DIR}, {photos: DIR}, {real: NAME, dir: DIR, split: SPLIT}; and of unpaired ones {dark:,
      bright:}, each a list or a folder.
    weight: float or dict of step to float; share of samples, relative to the other components'.
    split: of a set; by default the loader's.
    normals, live, recipe, draws: see `gloam.loaders.options.PairOptions`; by default the loader's.
      `live` of the loader is for sets alone. `recipe` may be a dict of step to recipe.
    repeat: passes that an epoch has room for; see `mix`.
    identity: give the lit picture as both input and target.
    unpaired: give a dark picture and a bright one, each in an order of its own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    data: Any
    weight: dict[int, Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]]
    split: Literal["train", "val", "test"] | None = None
    normals: str | Path | None = None
    live: bool | None = None
    recipe: dict[int, Any] | None = None
    draws: Literal["fresh", "set"] | None = None
    repeat: int = Field(default=1, ge=1)
    identity: bool = False
    unpaired: bool = False

    @field_validator("weight", "recipe", mode="before")
    @classmethod
    def _by_step(cls, value: Any) -> Any:
        return None if value is None else schedule(value)

    @model_validator(mode="after")
    def _fitting(self) -> Component:
        if self.identity and self.unpaired:
            raise ValueError("identity and unpaired exclude each other")
        if isinstance(self.data, Mapping) and "dark" in self.data and not self.unpaired:
            raise ValueError("{dark:, bright:} are unpaired pictures: add unpaired: true")
        if (self.identity or self.unpaired) and (self.live or self.recipe or self.draws):
            raise ValueError("identity and unpaired pictures have no lows that could be made live")
        return self


@dataclass(frozen=True)
class Mixture:
    """Sources that a loader mixes; see `mix`.

    file, lines: the YAML file that says them, and the lines of its keys; see `load_yaml`.
    plain: whether it is a set or a list alone, without a name, weight or options of its own.
    """

    components: Mapping[str, Component]
    epoch: Epoch = "longest"
    file: Path | None = field(default=None, compare=False)
    lines: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)
    plain: bool = False

    def __repr__(self) -> str:
        return f"mixture of {', '.join(self.components)}"


def mix(components: Mapping[str, Any], *, epoch: Epoch = "longest") -> Mixture:
    """Mix sources for PairLoader: samples of all of them in every batch, by weights.

    Parameters
    ----------
    components : mapping of names
        To (SOURCE, WEIGHT), or to a dict of what `Component` has: data, weight, split, live,
        recipe, draws, repeat, identity, unpaired. A weight or recipe may be a dict of the step it
        begins with: {0: 6, 20000: 3}.
    epoch : "longest", "shortest" or int
        Samples of an epoch: until each component was gone through once (`repeat` times); until
        the first one was; or so many. Components go on from epoch to epoch.

    Returns
    -------
    Mixture
        Any 1,000 consecutive samples hold each share to within one; each sample of a component
        comes once before any comes twice.

    Raises
    ------
    LoaderError
        When a component is wrong.

    Examples
    --------
    >>> import gloam
    >>> pairs = gloam.pairs_in("files/train/low", "files/train/normal")
    >>> mixed = gloam.mix({"synth": ("SET", 3), "mine": (pairs, 1)})
    >>> loader = gloam.TorchLoader(mixed, batch_size=4, size=64, workers=0, device="cpu")
    >>> low, normal = next(iter(loader))
    >>> tuple(low.shape)
    (4, 3, 64, 64)
    """
    if not isinstance(components, Mapping) or not components:
        raise LoaderError("mix: give components by their names, {'synth': (SET, 6), ...}")
    samples = epoch if isinstance(epoch, int) else 1
    if isinstance(epoch, bool) or not 1 <= samples <= MOST_SAMPLES:
        raise LoaderError(
            f"mix: epoch {shown(epoch)}: must be 1 to {MOST_SAMPLES:,} samples", key="epoch"
        )
    if not isinstance(epoch, int) and epoch not in ("shortest", "longest"):
        what = f"mix: epoch {epoch!r}: must be shortest, longest or a number of samples"
        raise LoaderError(what, key="epoch")
    made = {str(name): _make_component(name, given) for name, given in components.items()}
    for step in {step for one in made.values() for step in one.weight}:
        if not any(at(one.weight, step) for one in made.values()):
            raise LoaderError(f"mix: all weights are 0 from step {step} on")
    return Mixture(made, epoch)


def mixture_in(path: Path) -> Mixture:
    """Read a mixture from a YAML file: `mix:` with components, and `epoch:`.

    Paths in it are relative to its folder.

    Raises LoaderError when it is none.
    """
    lines: dict[str, int] = {}
    try:
        values = load_yaml(path, lines)
    except (ConfigError, OSError) as error:
        raise LoaderError(str(error), path=path) from None
    try:
        unknown = sorted(map(str, values.keys() - {"mix", "epoch"}))
        if unknown or not isinstance(values.get("mix"), dict):
            what = f"{visible(unknown[0])}: no such key" if unknown else "has no mix:"
            key = (unknown or ["mix"])[0]
            raise LoaderError(f"{what}; a mixture has mix: and epoch:", key=key)
        components = {
            name: {key: _below_folder(key, value, path.parent) for key, value in given.items()}
            if isinstance(given, dict)
            else [_below_folder("data", given[0], path.parent), *given[1:]]
            if isinstance(given, list) and given
            else given
            for name, given in values["mix"].items()
        }
        made = mix(components, epoch=values.get("epoch", "longest"))
        return replace(made, file=path, lines=lines)
    except LoaderError as error:
        raise in_file(path, lines, str(error), error.key or "mix") from None


def in_file(path: Path | None, lines: Mapping[str, int], what: str, key: str) -> LoaderError:
    """Return the error for a key of a file, with its line; of none, what it is alone."""
    if path is None:
        return LoaderError(what)
    known = key
    while known and known not in lines:  # of what is there of the way to it
        known = known.rpartition(".")[0]
    line = f"line {lines[known]}: " if known else ""
    return LoaderError(f"{path}: {line}{what}", path=path, key=key)


def _below_folder(key: str, value: Any, folder: Path) -> Any:
    """Return a value of a file's component, its paths relative to the file's folder."""
    if isinstance(value, dict) and key in ("data", "recipe"):
        inner = {one: one if key == "data" else key for one in value}
        return {name: _below_folder(inner[name], one, folder) for name, one in value.items()}
    if isinstance(value, list) and key in _FOLDERS:
        return [_below_folder(key, one, folder) for one in value]
    if not isinstance(value, str) or "://" in value:
        return value
    if key == "recipe":
        return ",".join(_recipe_below_folder(part.strip(), folder) for part in value.split(","))
    return str(folder / value) if key in (*_FOLDERS, "normals", "dir") else value


def _recipe_below_folder(text: str, folder: Path) -> str:
    """Return a recipe, NAME or FILE and its weight where there is one, its file below a folder."""
    name, colon, weight = text.rpartition(":") if ":" in text else (text, "", "")
    return text if name in shipped_names() else f"{folder / name}{colon}{weight}"


def _make_component(name: Any, given: Any) -> Component:
    if isinstance(given, tuple | list) and len(given) == 2:
        given = {"data": given[0], "weight": given[1]}
    key = f"mix.{name}"
    if not str(name).isprintable():
        what = f"mix: {visible(name)}: a component's name is one line of text"
        raise LoaderError(what, key=key)
    if not isinstance(given, Mapping) or not all(isinstance(one, str) for one in given):
        what = f"mix: {name}: must be (SOURCE, WEIGHT), or a dict of data, weight, ..."
        raise LoaderError(what, key=key)
    try:
        return Component(**given)
    except ValidationError as error:
        where, _, message = first_fault(error)
        what = f"mix: {name}: {f'{where}: ' if where else ''}{message}"
        raise LoaderError(what, key=f"{key}.{where}".strip(".")) from None


def schedule(value: Any) -> dict[int, Any]:
    """Return what holds from which step on, in order; a plain value from step 0.

    Raises ValueError when steps are none, or 0 is missing.
    """
    if not isinstance(value, Mapping):
        return {0: value}
    if not all(type(step) is int and step >= 0 for step in value) or 0 not in value:
        raise ValueError("a schedule is {0: VALUE, STEP: VALUE, ...}")
    return dict(sorted(value.items()))


def at(values: Mapping[int, T], step: int) -> T:
    """Return what a schedule says at a step."""
    return values[max(begin for begin in values if begin <= step)]


def as_mixture(data: Any, options: Mapping[str, Any]) -> Mixture:
    """Return the mixture that a loader was given; one set or list is a mixture of itself alone.

    Raises LoaderError when a file holds none.
    """
    if isinstance(data, Mixture):
        return data
    if isinstance(data, str | Path) and str(data).endswith((".yaml", ".yml")):
        return mixture_in(Path(data))
    unpaired = bool(options.get("unpaired"))
    if unpaired and isinstance(data, Sequence) and not isinstance(data, str) and len(data) == 2:
        data = {"dark": data[0], "bright": data[1]}
    if unpaired or any(isinstance(options.get(name), Mapping) for name in ("size", "recipe")):
        own = {name: options.get(name) for name in ("normals", "live")[: 1 if unpaired else 2]}
        return mix({"data": {"data": data, "weight": 1, "unpaired": unpaired, **own}})
    # Unchecked: a dict, which says what a component is of, is refused where data is opened.
    alone = Component(data=None, weight={0: 1}).model_copy(update={"data": data})
    return Mixture({"": alone}, plain=True)
