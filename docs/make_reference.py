"""Write docs/reference/: every public function and class, loader option, recipe parameter, command.

    python docs/make_reference.py        # make docs

All of it is read from the code: docstrings, signatures, bounds of recipes, options of commands.
"""

from __future__ import annotations

import copy
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel

import gloam
from gloam.cli.main import gloam as command
from gloam.loaders import options
from gloam.synth.camera.recipe import CameraRecipe
from gloam.synth.parameters.distributions import Distribution
from gloam.synth.parameters.schema import OneOf, Within
from gloam.synth.power_law_model import PowerLawRecipe

PLACE = Path(__file__).parent / "reference"
MADE = "<!-- Made by `make docs` from the code; edit the docstrings, not this page. -->\n"


def pages() -> dict[str, str]:
    """Return the pages' texts by their file names."""
    return {"python.md": _python(), "recipes.md": _recipes(), "commands.md": _commands()}


def _python() -> str:
    names = [name for name in gloam.__all__ if name not in ("__version__", "errors")]
    parts = [_name(name, getattr(gloam, name)) for name in names]
    kinds = (options.LoaderOptions, options.ImageOptions, options.PairOptions, options.ClipOptions)
    parts.append("# Options of loaders\n")
    parts += [f"## {kind.__name__}\n\n{_block(kind.__doc__)}" for kind in kinds]
    errors = [
        value
        for value in vars(gloam.errors).values()
        if inspect.isclass(value) and value.__module__ == gloam.errors.__name__
    ]
    parts.append("# What is raised\n")
    parts += [f"## errors.{one.__name__}\n\n{_block(one.__doc__)}" for one in errors]
    return f"{MADE}# gloam for Python\n\n" + "\n".join(parts)


def _name(name: str, value: Any) -> str:
    text = f"## {name}\n\n{_block(f'gloam.{name}{_signature(value)}')}\n{_block(value.__doc__)}"
    if not inspect.isclass(value):
        return text
    for member, held in inspect.getmembers(value):
        if member.startswith("_") or not inspect.getdoc(held):
            continue
        if inspect.isfunction(held) or isinstance(held, property):
            plain = held.fget if isinstance(held, property) else held
            shown = "" if isinstance(held, property) else _signature(plain)
            doc = textwrap.indent(inspect.getdoc(held) or "", "    ")
            text += f"\n{_block(f'.{member}{shown}' + chr(10) + chr(10) + doc)}"
    return text


def _signature(value: Any) -> str:
    try:
        return str(inspect.signature(value)).replace("'", "").replace("gloam.", "")
    except (TypeError, ValueError):
        return ""


def _block(text: str | None) -> str:
    return f"```text\n{inspect.cleandoc(text or '')}\n```\n"


def _recipes() -> str:
    parts = [f"{MADE}# Parameters of recipes\n"]
    for title, kind in (("model: camera", CameraRecipe), ("model: power_law", PowerLawRecipe)):
        rows = "\n".join(_parameters(kind, ""))
        head = "| parameter | default | bounds | meaning |\n| --- | --- | --- | --- |"
        parts.append(f"## {title}\n\n{inspect.cleandoc(kind.__doc__ or '')}\n\n{head}\n{rows}\n")
    return "\n".join(parts)


def _parameters(kind: type[BaseModel], prefix: str) -> Iterator[str]:
    for name, field in kind.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _parameters(field.annotation, f"{prefix}{name}.")
            continue
        bounds = [str(mark) for mark in field.metadata if isinstance(mark, Within | OneOf)]
        default = field.get_default(call_default_factory=True)
        if isinstance(default, Distribution):
            shown = str(default)
        else:
            shown = "" if default in ({}, "") else str(default)
        cells = (f"`{prefix}{name}`", shown, " ".join(bounds), field.description or "")
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _commands() -> str:
    context = click.Context(command, info_name="gloam")
    parts = [f"{MADE}# Commands\n"]
    for name in command.list_commands(context):
        one = command.get_command(context, name)
        assert one is not None
        parts += _helps(one, f"gloam {name}", context)
    return "\n".join(parts)


def _helps(one: click.Command, name: str, above: click.Context) -> Iterator[str]:
    one = copy.copy(one)
    one.add_help_option = False  # every command has it, spelt as the first call in a process said
    context = click.Context(one, info_name=name.rpartition(" ")[2], parent=above)
    context.max_content_width = context.terminal_width = 96
    yield f"## {name}\n\n{_block(one.get_help(context))}"
    if isinstance(one, click.Group):
        for below in one.list_commands(context):
            held = one.get_command(context, below)
            assert held is not None
            yield from _helps(held, f"{name} {below}", context)


if __name__ == "__main__":
    PLACE.mkdir(exist_ok=True)
    for file, text in pages().items():
        (PLACE / file).write_text(text, "utf-8")
        print(f"written: {PLACE / file}")
