"""`gloam bench`, loading speed on this machine, and `doctor`, what it lacks and gets wrong."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from ..engines.process import available_cores
from ..errors import ConfigError
from ..manifests.selection.plan import SPLITS
from ..manifests.sets.info import SET_FILE
from ..manifests.sets.pair_set import open_set
from .common import PATH, json_flag, json_option, to_json
from .ending import USER_ERROR


@click.command()
@click.argument("root", metavar="SET|FOLDER|MIX.yaml", type=PATH)
@click.option(
    "--split", type=click.Choice(SPLITS), default="train", help="Load the pairs of this split."
)
@click.option(
    "--frames",
    type=click.IntRange(min=1),
    help="Load clips of so many frames; FOLDER holds folders of frames or video files.",
)
@click.option("--batch-size", type=click.IntRange(min=1), default=256, help="Pairs in a batch.")
@click.option(
    "--size", type=click.IntRange(min=8), default=192, help="Resize images to this side, pixels."
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0.1),
    default=5.0,
    help="Seconds to measure each way of loading for.",
)
@json_option
@click.option(
    "--workers",
    "workers",
    type=click.IntRange(min=0),
    multiple=True,
    help="Number of processes of the plain DataLoader; may be repeated.  [default: all cores]",
)
def bench(
    root: Path, *, workers: tuple[int, ...], frames: int | None, **options: Any
) -> tuple[Any, list[str]]:
    """Measure how many pairs a second every way of loading SET gives on this machine.

    For a set it measures stored lows, live lows and resident pairs, and compares them with a plain
    DataLoader and with data in memory.

    For a folder or a list of photographs it measures ImageLoader and plain DataLoaders with OpenCV
    and Pillow; for clips (a set, or a folder with --frames) ClipLoader; for a mixture (a YAML file)
    the mixture and each component.
    """
    of_set = (root / SET_FILE).is_file()
    photographs = not of_set and (root.is_dir() or root.suffix == ".txt")
    try:
        from ..loaders.bench import Asked, bench_clips, bench_images, bench_mixture
        from ..loaders.bench import bench_pairs as measure
    except ImportError as error:
        what = f"gloam bench needs PyTorch: {error}; pip install 'gloam[torch]'"
        raise ConfigError(what) from error
    which = workers or (available_cores(),)
    asked = Asked(root, workers=which, say=partial(click.echo, err=True), **options)
    what = "images" if photographs else "pairs"
    if frames is not None or (of_set and open_set(root).frames):
        what = "clips"
        result = bench_clips(asked, frames or 8)
    elif root.suffix in (".yaml", ".yml"):
        result = bench_mixture(asked)
    elif photographs:
        result = bench_images(asked)
    else:
        result = measure(asked)
    machine = result.machine
    of = f" of {machine['frames']} frames" if what == "clips" else ""
    lines = [
        f"GPU {machine['gpu']}, {machine['cores']} cores; {machine[what]:,} {what}{of}, "
        f"batches of {machine['batch_size']}, resized to {machine['size']}"
    ]
    for speed in result.speeds:
        measured = f"{speed.pairs_a_second:12,.0f} {what} a second"
        if what == "clips":
            measured += f", {speed.pairs_a_second * machine['frames']:,.0f} frames"
        shown = speed.note or f"{measured}, first batch after {speed.first_batch_s:.2f} s"
        lines.append(f"{speed.name:34} {shown}")
    return result, [*lines, result.advice]


@click.command()
@json_flag
def doctor(as_json: bool) -> None:
    """Check this machine: versions, GPU, DALI, decoders, kernels, limits, and known lows.

    It lists what is missing and how to get it, makes known lows on the CPU (and the GPU, if any)
    and compares their bits. The exit code is 1 if something is wrong.
    """
    from ..loaders.doctor import doctor as diagnose  # it loads the kernels

    found = diagnose()
    click.echo(to_json(found) if as_json else "\n".join(found.lines()))
    if not found.healthy:
        sys.exit(USER_ERROR)
