"""What `gloam fit` finds of recipes that it is not told, on photographs that it does not see.

    python benchmarks/fit.py SEEN UNSEEN [--recipe even --recipe 'upi;camera.iso=800'] [--record X]

200 lows of SEEN's photographs by each recipe are fitted, with their normals and without (UNSEEN's
photographs are darkened then). The recipe and its fit then darken UNSEEN's, and SEEN's, by the same
keys, four times over. Stated are medians: of the lows given (and by how much 200 others would
differ, one standard error), of what the fit made while it searched, and of both recipes afterwards.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image
from recording import recorded

from gloam.engines.process import available_cores
from gloam.manifests.images.decode import decode_as_rgb
from gloam.manifests.images.folders import image_files
from gloam.synth.analysis.pair_statistics import LABELS, pair_statistics
from gloam.synth.fitting.fit import fit
from gloam.synth.models import draw, render
from gloam.synth.recipes.load import Recipe, load_recipe

PHOTOGRAPHS, PAIRS, TIMES = 100, 200, 4
RECIPES = ("even", "uneven", "night-lights", "extreme", "train")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("seen", type=Path)
    parser.add_argument("unseen", type=Path)
    parser.add_argument(
        "--recipe", action="append", help="hidden, with values that are changed: NAME;KEY=VALUE;..."
    )
    parser.add_argument("--seeds", default="1", help="of the lows that are fitted")
    parser.add_argument("--record", metavar="NAME", help="Also write results/NAME.txt.")
    args = parser.parse_args()
    seen, unseen = photographs(args.seen), photographs(args.unseen)
    with recorded(args.record), ThreadPoolExecutor(available_cores()) as pool:
        print(f"{available_cores()} cores; {len(seen)} photographs seen, {len(unseen)} unseen")
        for name in args.recipe or RECIPES:
            for seed in map(int, args.seeds.split(",")):
                for paired in (True, False):
                    closed_loop(name, seed, seen, unseen, args.unseen, pool, paired=paired)


def closed_loop(
    name: str,
    seed: int,
    seen: list[np.ndarray],
    unseen: list[np.ndarray],
    others: Path,
    pool: ThreadPoolExecutor,
    *,
    paired: bool,
) -> None:
    recipe, *overrides = name.split(";")
    hidden = load_recipe(recipe, overrides)
    normals = [seen[i % len(seen)] for i in range(PAIRS)]
    keys = [f"hidden {i}" for i in range(PAIRS)]
    lows = [render(a, draw(hidden, seed, key)) for a, key in zip(normals, keys, strict=True)]
    with TemporaryDirectory() as folder:
        roots = [Path(folder) / kind for kind in ("lows", "normals")]
        for root, images in zip(roots, (lows, normals), strict=True):
            root.mkdir()
            for i, image in enumerate(images):
                Image.fromarray(image).save(root / f"{i:04d}.png", compress_level=1)
        begin = time.perf_counter()
        where = (roots[0], roots[1]) if paired else (roots[0], None, others)
        found = fit(*where, workers=available_cores())
        took = time.perf_counter() - begin
    given = list(pool.map(pair_statistics, lows, normals))
    made = found.parameters.recipe()
    print(f"\n{name}, seed {seed}, {'pairs' if paired else 'lows alone'}: {took:.0f} s")
    print(found.warnings[-1])
    print({k: round(v, 2) for k, v in found.parameters.values().items()})
    again = [
        statistics(recipe, images, pool) for images in (seen, unseen) for recipe in (hidden, made)
    ]
    heads = "given", "error", "fit", "seen: recipe", "fit", "unseen: recipe", "fit"
    print(f"{'median of':46}" + "".join(f"{head:>15}" for head in heads))
    for statistic in LABELS:
        if statistic not in given[0]:
            continue
        row = [median(given, statistic), error(given, statistic)]
        row.append(found.found[statistic][2] if statistic in found.found else float("nan"))
        row += [median(rows, statistic) for rows in again]
        print(f"{LABELS[statistic]:46}" + "".join(f"{value:15.3f}" for value in row), flush=True)
    means = [float(np.mean([row["exposure_ev"] for row in rows])) for rows in (given, *again)]
    print(
        "mean exposure, EV: given {:.2f}, seen {:.2f} {:.2f}, unseen {:.2f} {:.2f}".format(*means)
    )


def photographs(folder: Path) -> list[np.ndarray]:
    files = image_files(folder)
    return [decode_as_rgb(files[key].read_bytes()) for key in sorted(files)[:PHOTOGRAPHS]]


def statistics(
    recipe: Recipe, images: Sequence[np.ndarray], pool: ThreadPoolExecutor
) -> list[dict[str, float]]:
    return list(pool.map(partial(one, recipe, images), range(TIMES * len(images))))


def one(recipe: Recipe, images: Sequence[np.ndarray], number: int) -> dict[str, float]:
    image = images[number % len(images)]
    return pair_statistics(render(image, draw(recipe, 7, f"again {number}")), image)


def median(rows: Sequence[dict[str, float]], name: str) -> float:
    return float(np.nanmedian([row[name] for row in rows]))


def error(rows: Sequence[dict[str, float]], name: str) -> float:
    """The standard error of the median, by bootstrap."""
    values, rng = np.array([row[name] for row in rows]), np.random.default_rng(0)
    drawn = rng.choice(values, (500, len(values)))
    return float(np.nanstd(np.nanmedian(drawn, axis=1)))


if __name__ == "__main__":
    main()
