"""`gloam recipes`: what lows can be made."""

from __future__ import annotations

import click

from ..synth.recipes.annotated import annotated_yaml
from ..synth.recipes.load import DEFAULT, load_recipe, shipped_recipes
from .common import overrides_option, recipe_names


class _Recipes(click.Group):
    """Take the name of a recipe alone for `show` and it."""

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands and not args[0].startswith("-"):
            args = ["show", *args]
        return super().resolve_command(context, args)


@click.group(cls=_Recipes, invoke_without_command=True)
@click.pass_context
def recipes(context: click.Context) -> None:
    """List the recipes, or show one: gloam recipes show NAME, or gloam recipes NAME."""
    if context.invoked_subcommand is None:
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
    return annotated_yaml(load_recipe(name, overrides)).removesuffix("\n")
