"""Compile what many tests run, once, before processes of tests do so at the same time.

python tests/compile_kernels.py lows|maps: two parts, of about the same length.
"""

from __future__ import annotations

import sys

import numpy as np

from gloam.synth.input_images import decode_image
from gloam.synth.kernels.arrays import Pixels, Window
from gloam.synth.kernels.png.file import encode_png
from gloam.synth.kernels.resize import resized
from gloam.synth.models import LowMaker, draw, render
from gloam.synth.recipes.load import load_recipe


def lows(normal: Pixels) -> None:
    jpeg = ["degradations.jpeg.quality=80"]
    for name, more in (("even", jpeg), ("uneven", []), ("night-lights", []), ("gamma", [])):
        render(normal, draw(load_recipe(name, more), 0, "a"))


def maps(normal: Pixels) -> None:
    decode_image(encode_png(normal), "png")
    resized(normal, Window(0, 0, 48, 64), (16, 16))
    LowMaker([draw(load_recipe("uneven"), 0, "a")]).maps(0, normal, ("noise",))


if __name__ == "__main__":
    {"lows": lows, "maps": maps}[sys.argv[1]](np.full((48, 64, 3), 128, np.uint8))
