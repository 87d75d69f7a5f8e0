"""A sheet of lamps, windows and sky: real dark frames, and what recipes make of the same normals.

    gloam brackets BRACKETS --out PAIRS
    python benchmarks/light.py PAIRS docs/images/light.jpg --every 4

Of each pair the square around the brightest place of its real low, close up: the normal, the real
low, and lows of as much light as that one by recipes. Two pairs a row.
"""

import argparse
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

import gloam
from gloam.manifests.images.decode import read_rgb
from gloam.synth.kernels.curves import LEVEL_LIGHT
from gloam.synth.measures.contact_sheet import Tile, sheet

_STEPS = 4  # corrections of the exposure
_PART = 4  # of the shorter side that a close-up shows, one over


def low_of(normal: np.ndarray, recipe: str, key: str, light: float) -> np.ndarray:
    """Darken to a mean light."""
    ev = float(np.log2(LEVEL_LIGHT[normal].mean() / light))
    for _ in range(_STEPS):
        low = gloam.darken(normal, recipe, key=key, overrides={"exposure.ev": ev})
        ev = float(np.clip(ev + np.log2(LEVEL_LIGHT[low].mean() / light), 0, 12))
    return low


def brightest(low: np.ndarray) -> tuple[slice, slice]:
    side = min(low.shape[:2]) // _PART
    means = cv2.blur(LEVEL_LIGHT[low].mean(2).astype(np.float32), (side // 4, side // 4))
    y, x = np.unravel_index(int(means.argmax()), means.shape)
    top, left = (
        int(np.clip(at - side // 2, 0, size - side))
        for at, size in zip((y, x), low.shape[:2], strict=True)
    )
    return slice(top, top + side), slice(left, left + side)


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("pairs", type=Path)
    given.add_argument("out", type=Path)
    given.add_argument("--every", type=int, default=1)
    given.add_argument("--recipe", action="append")
    given.add_argument("--width", type=int, default=112)
    options = given.parse_args()
    rows: list[list[Tile]] = []
    for path in sorted((options.pairs / "normal").iterdir())[:: options.every]:
        normal, real = read_rgb(path), read_rgb(options.pairs / "low" / path.name)
        part, light = brightest(real), float(LEVEL_LIGHT[real].mean())
        shown = {"normal": normal, "real": real}
        for recipe in options.recipe or ("uneven", "train-any"):
            shown[recipe] = low_of(normal, recipe, path.stem, light)
        size = options.width, options.width
        tiles = [
            Tile(np.asarray(Image.fromarray(one[part]).resize(size)), (caption,))
            for caption, one in shown.items()
        ]
        if rows and len(rows[-1]) == len(tiles):
            rows[-1] += tiles
        else:
            rows.append(tiles)
    sheet(rows).save(options.out, quality=88)


if __name__ == "__main__":
    main()
