"""`gloam sets`: the real sets that are known by name."""

from __future__ import annotations

import json

import click

from ..manifests.real.real import sets as find_sets
from ..manifests.real.rules import load_rules
from .common import json_option

_WIDTH, _INDENT = 100, " " * 18


@click.command()
@click.argument("name", required=False)
@json_option
def sets(name: str | None, as_json: bool) -> None:
    """List the known real sets, or show one: its authors, splits and folder layout.

    gloam.real(NAME, FOLDER, SPLIT) lists their pairs for the loaders.
    """
    found = find_sets()
    if name is not None:
        load_rules(name)  # refuses a name that no set has
        found = [one for one in found if one["name"] == name]
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    for one in found:
        splits = ", ".join(one["splits"])
        click.echo(f"{one['name']:18}{one['title']}: {splits}")
        click.echo(click.wrap_text(one["holds"], _WIDTH, _INDENT, _INDENT))
        if name is None:
            continue
        for key in ("paper", "terms", "url", "source"):
            click.echo(f"{key:18}{one[key]}")
        for number, path in enumerate(one["looks"]):
            click.echo(f"{'' if number else 'looks like':18}{path}")
    if name is None:
        click.echo("gloam sets NAME: its paper, terms, where it is offered, how its folder looks")
    else:
        click.echo(f"""{"load it":18}gloam.real("{name}", FOLDER, "{found[0]["splits"][0]}")""")
