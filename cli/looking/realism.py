"""`gloam realism`: whether lows can be told from real ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from ...errors import ConfigError
from ...storage.atomic import write_bytes
from ...synth.realism.realism import realism as find_realism
from ..common import (
    Bars,
    check_png,
    json_option,
    recipe_option,
    seed_option,
    user_errors,
    workers_option,
)


@click.command()
@click.argument("lows", metavar="REAL_LOW", type=click.Path(path_type=Path))
@click.argument("normals", metavar="[REAL_NORMAL]", required=False, type=click.Path(path_type=Path))
@recipe_option("Darken the normals by this recipe, and tell the result from the real lows.")
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change one value of the recipe, such as camera.iso=3200.",
)
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    help="Tell the lows of this folder, not a recipe's; REAL_NORMAL has equal names.",
)
@click.option(
    "--photos",
    type=click.Path(path_type=Path),
    help="Darken these ordinary photographs where there is no REAL_NORMAL; like scenes serve best.",
)
@click.option(
    "--pairs",
    type=click.IntRange(min=1),
    default=200,
    help="Largest number of pairs to compare, evenly spread.",
)
@seed_option
@json_option
@click.option(
    "--figure",
    type=click.Path(path_type=Path),
    help="Also draw the result, with the patches that are easiest to tell, into this PNG.",
)
@workers_option()
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
