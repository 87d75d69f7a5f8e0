"""`gloam export-triton`: the loaders' preprocessing for Triton Inference Server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..errors import ConfigError
from ..loaders.serving.triton import export_triton as write_repository
from .common import PATH, options_of


class _Size(click.ParamType[Any]):
    """512, or 384x512: height and width."""

    name = "size"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | tuple[int, int]:
        """Read it."""
        if isinstance(value, int | tuple):
            return value
        sides = value.lower().split("x")
        if len(sides) > 2 or not all(side.isdecimal() and int(side) > 0 for side in sides):
            self.fail(f"{value}: write it as 512, or as 384x512: height, width", param, ctx)
        return int(sides[0]) if len(sides) == 1 else (int(sides[0]), int(sides[1]))


@click.command("export-triton")
@click.argument("root", metavar="DIR", type=PATH)
@click.option(
    "--size",
    type=_Size(),
    required=True,
    help="Resize images to this size, pixels: 512, or HEIGHTxWIDTH.",
)
@click.option(
    "--live-recipe",
    metavar="NAME",
    help="Let the server darken by this recipe (name or file); gloam must be installed there.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), help="Random seed of the lows of --live-recipe."
)
@options_of(write_repository, dtype="Data type of the tensors.")
@click.option("--signed", is_flag=True, help="Scale values to -1 to 1, not to 0 to 1.")
@options_of(
    write_repository,
    layout="Order of the axes: channels before height and width, or after them.",
    max_batch="Largest number of images in a request.",
    threads="Number of decoding threads on the server's CPU.",
    ensemble="Decoding backend of the ensemble; dali is faster, if the server has it.",
    device="Decode and resize on this device of the server.",
)
def export_triton(
    root: Path, size: int | tuple[int, int], *, signed: bool, seed: int | None, **options: Any
) -> str:
    """Write a Triton model repository to DIR that preprocesses images as the loaders do.

    gloam_preprocess runs on DALI's backend, gloam_preprocess_python on the Python backend; network
    is to be replaced by your own model, and gloam_ensemble joins the two.
    """
    if seed is not None and options["live_recipe"] is None:
        raise ConfigError("--seed is of the lows that --live-recipe makes")
    span = (-1, 1) if signed else (0, 1)
    models = write_repository(root, size, value_range=span, seed=seed or 0, **options)
    return (
        f"{root}: {', '.join(models)}; tritonserver --model-repository {root}, and see"
        " examples/triton_client.py"
    )
