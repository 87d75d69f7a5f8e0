"""`gloam judge`: outputs beside a test set's normals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..loaders.judging.judge import judge as judge_outputs
from ..loaders.judging.judge_page import render_page
from ..storage.atomic import write_bytes
from .common import brighter_lows_option, json_option, options_of, output_option, working

_WRITERS = (".html", ".md", ".csv")


@click.command()
@click.argument("outputs", nargs=-1, metavar="[[NAME=]OUTPUTS]...")
@click.option(
    "--on",
    multiple=True,
    metavar="NAME=FOLDER",
    help="Judge on this real set, see gloam sets, or folder with its low and normal. Of several,"
    " OUTPUTS/NAME are those for set NAME.",
)
@options_of(
    judge_outputs,
    split="Split of the real set.  [default: test]",
    low="Judge on this folder of lows.",
    normal="Folder of the normals of --low.",
    match="Pair low and normal by the capture groups of this regular expression.",
)
@output_option(
    "--out",
    *_WRITERS,
    multiple=True,
    metavar="FILE",
    help="Also write a page (.html), the tables (.md), or each picture's figures (.csv).",
)
@click.option(
    "--perceptual/--no-perceptual",
    default=True,
    help="Measure LPIPS (pip install 'gloam[judge]') and NIQE (pyiqa) if they and their weights are"
    " there.",
)
@brighter_lows_option
@json_option
@working(engine=False)
def judge(
    outputs: tuple[str, ...], *, out: tuple[Path, ...], **options: Any
) -> tuple[Any, list[str]]:
    """Measure PSNR and SSIM of folders of OUTPUTS, with intervals, beside the low and a blind gain.

    The blind gain is the low brightened by one factor until its mean is .45, whatever the normal:
    what a method has to beat. Each output has the name of its low or its normal. Several folders
    are compared with the first, picture by picture. Several sets make one table, with ranks and how
    far the sets agree on them; a set that a method has no outputs for is an empty cell.
    """
    found = judge_outputs(outputs, **options)
    made = {".html": lambda: render_page(found), ".md": found.markdown, ".csv": found.csv}
    for path in out:
        write_bytes(path, made[path.suffix.lower()]().encode("utf-8", "backslashreplace"))
    return found, [found.text(), *(f"written: {path}" for path in out)]
