"""`gloam realism`: whether lows can be told from real ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from ...errors import ConfigError
from ...storage.atomic import write_bytes
from ...synth.realism.realism import realism as find_realism
from ..common import Bars, check_png, recipe_option, user_errors, workers_option


@click.command()
@click.argument("lows", metavar="REAL_LOW", type=click.Path(path_type=Path))
@click.argument("normals", metavar="[REAL_NORMAL]", required=False, type=click.Path(path_type=Path))
@recipe_option("What is to be told from the real lows: what this makes of their normals.")
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a value of the recipe, as in gloam build.",
)
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    help="In place of a recipe: a folder of lows, with REAL_NORMAL of equal names.",
)
@click.option(
    "--photos",
    type=click.Path(path_type=Path),
    help="Without REAL_NORMAL: ordinary photographs to darken, of scenes like the real ones.",
)
@click.option(
    "--pairs",
    type=click.IntRange(min=1),
    default=200,
    help="Compare at most so many, evenly spread.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Random seed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of the table.")
@click.option(
    "--figure",
    type=click.Path(path_type=Path),
    help="Also draw it, with the patches that are easiest to tell, into this PNG.",
)
@workers_option("Processes.")
@user_errors
def realism(
    lows: Path,
    normals: Path | None,
    *,
    recipe: str | None,
    overrides: tuple[str, ...],
    against: Path | None,
    photos: Path | None,
    pairs: int,
    seed: int,
    as_json: bool,
    figure: Path | None,
    workers: int,
) -> None:
    """Say how well a recipe's lows can be told from real ones, and what gives them away.

    REAL_LOW holds real low-light photographs, REAL_NORMAL their normals (equal names), which the
    recipe darkens. A classifier learns to tell them on two thirds of the scenes, by features of
    noise, of tone and of random filters, and tells those of the last third; 50 % cannot be told
    apart. Needs: pip install 'gloam[realism]'
    """
    if figure is not None:
        check_png("--figure", figure)
        _plotting()  # before minutes of measuring
    with Bars() as bars:
        found = find_realism(
            lows,
            normals,
            recipe=recipe,
            overrides=overrides,
            against=against,
            photos=photos,
            pairs=pairs,
            seed=seed,
            workers=workers,
            progress=bars,
        )
    if figure is not None:
        write_bytes(figure, _plotting().realism_figure(found))
    if as_json:
        click.echo(json.dumps(found.as_json(), indent=2))
        return
    for line in found.lines():
        click.echo(line)
    if figure is not None:
        click.echo(f"figure: {figure}")


def _plotting() -> Any:
    try:
        from ...synth.realism import figure
    except ImportError as error:
        raise ConfigError("--figure needs matplotlib: pip install 'gloam[figures]'") from error
    return figure
