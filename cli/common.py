"""Options and arguments that several commands share, and an early start of what workers need."""

from __future__ import annotations

import functools
import io
import json
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from inspect import Parameter, signature
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin

import click
from click.shell_completion import CompletionItem

from ..engines.process import available_cores, prepare_workers
from ..errors import ConfigError, GloamError
from ..progress import Bars
from ..storage.atomic import write_bytes
from ..storage.stores import as_path, in_store
from ..synth.building import WARM
from ..synth.kernels.compiling.cache_folders import announce_compiling

if TYPE_CHECKING:
    from PIL import Image
    from pydantic import BaseModel

    from ..engines.engine import Engine
    from ..manifests.sets.info import SetInfo

F = TypeVar("F", bound=Callable[..., Any])


class _Path(click.Path):
    """A path of this machine, or an address of a store."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Path:
        """Read it. Raises SetError, ConfigError as `as_path` does."""
        path = as_path(value)  # first, as click shows what is not there, credentials and all
        if self.exists and in_store(path):
            raise ConfigError(f"{path}: lies in a store: copy it, and name the copy")
        return as_path(super().convert(value, param, ctx)) if path else path  # type: ignore[arg-type]


PATH, EXISTING = _Path(), _Path(exists=True)
FOLDER = _Path(exists=True, file_okay=False)


def check_output(option: str, path: Path | None, *suffixes: str) -> None:
    """Refuse a path that is given and cannot be written, or does not say what it will hold.

    Raises ConfigError, before work whose result would be lost. Folders that miss are made later.
    """
    if path is None:
        return
    if suffixes and path.suffix.lower().replace(".yml", ".yaml") not in suffixes:
        raise ConfigError(f"{option} {path}: must end in {', '.join(suffixes)}")
    if in_store(path):
        return
    if path.is_dir():
        raise ConfigError(f"{option} {path}: is a folder; name a file in it")
    above = next(folder for folder in path.absolute().parents if folder.exists())
    if not above.is_dir():
        raise ConfigError(f"{option} {path}: {above} is no folder; choose another place")
    if not os.access(above, os.W_OK | os.X_OK):
        raise ConfigError(
            f"{option} {path}: nothing can be written to {above}; choose another place, or change"
            " what you may do there"
        )


def write_png(path: Path, image: Image.Image) -> None:
    """Write an image, whole or not at all."""
    data = io.BytesIO()
    image.save(data, "PNG")
    write_bytes(path, data.getvalue())


def count_of(number: int, what: str) -> str:
    """Write a number of things: `1 pair`, `2,000 pairs`."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def sample_name(info: SetInfo) -> str:
    """Return what a set's samples are called: a pair, or a clip."""
    return "clip" if info.build.request.frames else "pair"


def recipe_names(context: click.Context, parameter: click.Parameter, begun: str) -> list[Any]:
    """Complete the name of a recipe, or else a file's."""
    from ..synth.recipes.load import shipped_recipes  # as late as any command needs it

    names = [name for name in shipped_recipes() if name.startswith(begun)]
    return list(names) or [CompletionItem(begun, type="file")]


def _set_keys(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Complete a key of a recipe, of that which is named before where there is one."""
    from ..synth.recipes.load import DEFAULT, load_recipe
    from ..synth.recipes.overrides import recipe_keys

    named = next((context.params.get(name) for name in ("recipe", "recipes", "name")), None)
    chosen = named[-1] if isinstance(named, tuple) and named else named or DEFAULT
    try:
        keys = recipe_keys(load_recipe(chosen))
    except GloamError:
        return []
    return [f"{key}=" for key in keys if key.startswith(begun)]


def overrides_option(help_text: str) -> Callable[[F], F]:
    """Make the option --set of a command."""
    more: dict[str, Any] = {"multiple": True, "metavar": "KEY=VALUE", "shell_complete": _set_keys}
    return click.option("--set", "overrides", help=help_text, **more)


def _mixed(context: click.Context, parameter: click.Parameter, names: tuple[str, ...]) -> Any:
    from ..synth.recipes.mixture_recipe import join_names  # as late as any command needs it

    return join_names(names) if names else None


def recipe_option(help_text: str) -> Callable[[F], F]:
    """Make the option --recipe of a command: given several times, they are a mixture."""
    return click.option(
        "--recipe",
        metavar="NAME|FILE[:WEIGHT]",
        multiple=True,
        callback=_mixed,
        shell_complete=recipe_names,
        help=f"{help_text} Several, each with its weight (1 without), are mixed.",
    )


brighter_lows_option = click.option(
    "--brighter-lows",
    is_flag=True,
    help="Take lows that are brighter than their normals, as over-exposed ones are.",
)
camera_file_option = click.option(
    "--camera-file",
    type=PATH,
    help="Use the camera of this file, which gloam calibrate wrote, not the recipe's.",
)


def camera_overrides(path: Path | None) -> tuple[str, ...]:
    """Return what makes a recipe take the camera of a file, the first one where there are several.

    Raises ConfigError when the file holds none.
    """
    if path is None:
        return ()
    from ..synth.camera.calibrated_sensors import read_cameras  # as late as any command needs it

    return f"camera.file={path}", f"camera.name={next(iter(read_cameras(path)))}"


def paths(**metavars: str) -> Callable[[F], F]:
    """Make arguments that are paths, by their names; those in brackets may be left out."""

    def decorate(function: F) -> F:
        for name, metavar in reversed(metavars.items()):
            needed = not metavar.startswith("[")
            argument = click.argument(name, metavar=metavar, type=PATH, required=needed)
            function = argument(function)
        return function

    return decorate


def option_of(
    function: Callable[..., Any], name: str, help_text: str, **more: Any
) -> Callable[[F], F]:
    """Make the option of a function's parameter, of the type and default that it has there.

    **more: options of `click.option` that take the place of the parameter's.
    """
    parameter = signature(function).parameters[name]
    kind = eval(parameter.annotation, function.__globals__)
    given: dict[str, Any] = _click_type(kind) | {"help": help_text}
    if parameter.default is not Parameter.empty and "is_flag" not in given:
        given["default"] = parameter.default
    return click.option(f"--{name.strip('_').replace('_', '-')}", name, **{**given, **more})


def options_of(function: Callable[..., Any], **helps: str) -> Callable[[F], F]:
    """Make options of a function's parameters, by their help; see `option_of`."""

    def decorate(command: F) -> F:
        for name, help_text in reversed(helps.items()):
            command = option_of(function, name, help_text)(command)
        return command

    return decorate


def field_option(
    model: type[BaseModel], name: str, *, shown: bool = True, **more: Any
) -> Callable[[F], F]:
    """Make the option of a field; what is not given stays None, so that a build file may say it.

    model: a pydantic model, each of whose fields has a description.
    name: name of the field.
    shown: whether the field's default is shown.
    **more: options of `click.option` that take the place of the field's.
    """
    field = model.model_fields[name]
    least = next((one.ge for one in field.metadata if hasattr(one, "ge")), None)
    most = next((one.le for one in field.metadata if hasattr(one, "le")), None)
    given = _click_type(field.annotation, least, most)
    given |= {"default": None, "help": field.description}
    if shown and field.default is not None and field.default is not False:
        given["help"] += f"  [default: {field.default}]"
    return click.option(f"--{name.replace('_', '-')}", **{**given, **more})


def _click_type(annotation: Any, least: int | None = 1, most: int | None = None) -> dict[str, Any]:
    """Return what an option of a type is to Click; whole numbers are from `least` to `most`."""
    union = get_origin(annotation) in (Union, UnionType)
    kinds = get_args(annotation) if union else (annotation,)
    for kind in kinds:
        if get_origin(kind) is Literal:
            return {"type": click.Choice(get_args(kind))}
    if bool in kinds:
        return {"is_flag": True}
    if int in kinds:
        return {"type": click.IntRange(least, most)}
    return {"type": PATH if Path in kinds else str}


seed_option = click.option("--seed", type=click.IntRange(min=0), default=0, help="Random seed.")


def to_json(found: Any) -> str:
    """Write what a command found, for programs."""
    return json.dumps(found.as_json() if hasattr(found, "as_json") else found, indent=2)


json_flag = click.option("--json", "as_json", is_flag=True, help="Print JSON in place of a table.")


def json_option(function: Callable[..., tuple[Any, Iterable[str]]]) -> Callable[..., str]:
    """Make --json of a command that returns what it found, and lines of text about it."""

    @functools.wraps(function)
    def wrapped(*args: Any, as_json: bool, **options: Any) -> str:
        found, lines = function(*args, **options)
        return to_json(found) if as_json else "\n".join(lines)

    return json_flag(wrapped)


def output_option(name: str, *suffixes: str, help: str, **more: Any) -> Callable[[F], F]:
    """Make an option that names a file to write, which `check_output` looks at first."""

    def checked(context: click.Context, option: click.Parameter, given: Any) -> Any:
        for path in given if isinstance(given, tuple) else (given,):
            check_output(name, path, *suffixes)
        return given

    return click.option(name, type=PATH, callback=checked, help=help, **more)


def _engine_named(name: str, workers: int) -> Engine:
    """Return the engine of a name: `local`, with so many processes, `ray` or `ray:ADDRESS`.

    Raises ConfigError when there is none of that name, or it cannot be had.
    """
    kind, _, address = name.partition(":")
    if kind == "local" and not address:
        from ..engines.local import LocalEngine

        return LocalEngine(workers, ignore_interrupt=True)
    if kind == "ray":
        from ..engines.ray import RayEngine

        return RayEngine(address)
    raise ConfigError(f"engine {name!r}: must be local, ray or ray:ADDRESS", key="engine")


_engine_option = click.option(
    "--engine",
    default="local",
    metavar="local|ray[:ADDRESS]",
    help="Work on this machine, or as tasks of a Ray cluster; the result is the same.",
)
_workers_option = click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=available_cores,
    show_default="all cores",
    help="Number of processes; the result is the same for any.",
)


def working(engine: bool = True) -> Callable[[F], F]:
    """Make --workers and --engine of a command whose function takes workers, engine, progress."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if engine:
                kwargs["engine"] = _engine_named(kwargs.pop("engine"), kwargs["workers"])
            with Bars() as bars:
                return function(*args, progress=bars, **kwargs)

        made: Any = wrapped
        return _workers_option(_engine_option(made) if engine else made)

    return decorate


@click.command(
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
@_workers_option
@_engine_option
@click.option("--help", "-h", "helps", is_flag=True)
def _warm_workers(workers: int, engine: str, helps: bool) -> None:
    if engine == "local" and workers > 1 and not helps:
        announce_compiling()  # before the server compiles the first: afterwards none seem to lack
        prepare_workers([WARM], workers, ignore_interrupt=True)


def begin_workers(args: Sequence[str]) -> None:
    """Start the server that workers which make lows are forked from.

    It imports side by side with this process: each takes a second.

    args: all of a command; whatever is wrong with them is told when the command reads them.
    """
    with suppress(click.UsageError), _warm_workers.make_context(None, list(args)) as context:
        _warm_workers.invoke(context)
