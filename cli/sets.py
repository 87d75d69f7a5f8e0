"""`gloam sets`: the real sets that are known by name."""

from __future__ import annotations

from typing import Any

import click

from ..manifests.real.real import sets as find_sets
from ..manifests.real.rules import load_rules
from .common import json_option

_WIDTH, _INDENT = 100, " " * 18


@click.command()
@click.argument("name", required=False)
@json_option
def sets(name: str | None) -> tuple[Any, list[str]]:
    """List the known real sets, or show one: its authors, splits and folder layout.

    gloam.real(NAME, FOLDER, SPLIT) lists their pairs for the loaders.
    """
    found = find_sets()
    if name is not None:
        load_rules(name)  # refuses a name that no set has
        found = [one for one in found if one["name"] == name]
    lines = []
    for one in found:
        lines.append(f"{one['name']:18}{one['title']}: {', '.join(one['splits'])}")
        lines.append(click.wrap_text(one["holds"], _WIDTH, _INDENT, _INDENT))
        if name is not None:
            lines += (f"{key:18}{one[key]}" for key in ("paper", "terms", "url", "source"))
            lines += (
                f"{'' if number else 'looks like':18}{path}"
                for number, path in enumerate(one["looks"])
            )
            lines.append(f"""{"load it":18}gloam.real("{name}", FOLDER, "{one["splits"][0]}")""")
    if name is None:
        lines.append("gloam sets NAME: its paper, terms, where it is offered, how its folder looks")
    return found, lines
