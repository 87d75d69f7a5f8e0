"""A low and its normal of an encoded photograph, transformed as loaders do."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...manifests.images.decode import decode_as_rgb
from ...synth.kernels.arrays import Pixels, Window
from ...synth.kernels.resize import flip_normalize, resized
from ...synth.models import low_maker
from ...synth.recipes.load import Recipe
from ..options import Options

Samples = npt.NDArray[Any]


def transform_photograph(
    data: bytes, recipe: Recipe, seed: int, key: str, options: Options
) -> tuple[Samples, Samples]:
    """Decode a photograph, darken it, and transform both.

    data: an encoded image.
    options: with a size; whole images are resized to it.

    Returns two arrays (3, H, W) or (H, W, 3): low and normal. Raises ImageRefused when it cannot be
    decoded.
    """
    normal = decode_as_rgb(data)
    low = low_maker(recipe, seed, [key]).low(0, normal)
    return _formed(low, options), _formed(normal, options)


def _formed(image: Pixels, options: Options) -> Samples:
    """Transform an image: what `samples.BatchTensors` does, without torch."""
    height, width = options.size or image.shape[:2]
    if image.shape[:2] != (height, width):
        image = resized(image, Window(0, 0, *image.shape[:2]), (height, width))
    last = options.layout == "HWC"
    kind = np.uint8 if options.dtype == "uint8" else np.float32
    made = np.empty((height, width, 3) if last else (3, height, width), kind)
    steps = (1, 3 * width, 3) if last else (height * width, width, 1)
    shift, scale = map(np.float32, options.levels_to_values)
    flip_normalize(np.ascontiguousarray(image), (0, 0, 0), shift, scale, steps, made.reshape(-1))
    return made.astype(np.float16) if options.dtype == "float16" else made
