"""`gloam recipes`, what lows can be made, and `sets`, the real sets that are known by name.

Neither loads what the other needs.
"""

from __future__ import annotations

from typing import Any

import click

from .common import json_option, overrides_option, recipe_names


@click.group(invoke_without_command=True)
@click.pass_context
def recipes(context: click.Context) -> None:
    """List the recipes, or show one."""
    if context.invoked_subcommand is None:
        from ..synth.recipes.load import DEFAULT, shipped_recipes

        for name, about in shipped_recipes().items():
            marked = name == DEFAULT and "default" not in about
            click.echo(f"{name:15} {about}" + (" [default]" if marked else ""))


@recipes.command()
@click.argument("name", shell_complete=recipe_names)
@overrides_option("Change one value of the recipe, such as camera.iso=3200.")
def show(name: str, overrides: tuple[str, ...]) -> str:
    """Print the recipe NAME with all its values, and what each is and may be.

    NAME is a shipped recipe, or a YAML file.

    The output is a recipe, too: gloam recipes show uneven > mine.yaml, change it, and gloam
    build --recipe mine.yaml.
    """
    from ..synth.recipes.annotated import annotated_yaml
    from ..synth.recipes.load import load_recipe

    return annotated_yaml(load_recipe(name, overrides)).removesuffix("\n")


_WIDTH, _INDENT = 100, " " * 18


@click.command()
@click.argument("name", required=False)
@json_option
def sets(name: str | None) -> tuple[Any, list[str]]:
    """List the known real sets, or show one: its authors, splits and folder layout.

    gloam.real(NAME, FOLDER, SPLIT) lists their pairs for the loaders.
    """
    from ..manifests.real.real import sets as find_sets
    from ..manifests.real.rules import load_rules

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
