"""`gloam judge`: outputs beside a test set's normals."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ...errors import ConfigError
from ...loaders.judging.judge import judge as judge_outputs
from ...loaders.judging.page import judged_page
from ...storage.atomic import write_bytes
from ..common import Bars, json_option, user_errors, workers_option

_WRITERS = (".html", ".md", ".csv")


@click.command()
@click.argument("outputs", nargs=-1, metavar="[[NAME=]OUTPUTS]...")
@click.option("--on", metavar="NAME=FOLDER", help="Judge on this real set; see gloam sets.")
@click.option("--split", help="Take this split of it.  [default: test]")
@click.option("--low", type=click.Path(path_type=Path), help="Judge on this folder of lows.")
@click.option("--normal", type=click.Path(path_type=Path), help="Take their normals from here.")
@click.option(
    "--match", help="Pair low and normal by the capture groups of this regular expression."
)
@click.option(
    "--out",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write a page (.html), the tables (.md), or each picture's figures (.csv).",
)
@click.option(
    "--perceptual/--no-perceptual",
    default=True,
    help="Measure LPIPS and NIQE, where their libraries and weights are there.",
)
@json_option
@workers_option()
@user_errors
def judge(
    outputs: tuple[str, ...],
    *,
    on: str | None,
    split: str | None,
    low: Path | None,
    normal: Path | None,
    match: str | None,
    out: tuple[Path, ...],
    perceptual: bool,
    as_json: bool,
    workers: int,
) -> None:
    """Judge folders of OUTPUTS by PSNR and SSIM, with intervals, beside the low and a blind gain.

    Each output is called as its low or its normal is. Several folders are compared picture by
    picture with the first.
    """
    for path in out:
        if path.suffix not in _WRITERS:
            raise ConfigError(f"--out {path}: must end in {', '.join(_WRITERS)}")
    with Bars() as bars:
        found = judge_outputs(
            outputs, on=on, split=split, low=low, normal=normal, match=match,
            perceptual=perceptual, workers=workers, progress=bars,
        )  # fmt: skip
    made = {".html": judged_page, ".md": type(found).markdown, ".csv": type(found).csv}
    for path in out:
        write_bytes(path, made[path.suffix](found).encode())
    click.echo(json.dumps(found.as_json(), indent=2) if as_json else found.markdown())
