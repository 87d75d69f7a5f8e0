"""Random crops and flips of pairs: a function of seed, epoch, key and the image's size.

Every loader and backend takes them from here, so that all cut the same window of a pair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..synth.kernels.arrays import Window
from ..synth.parameters.keyed_random import KeyedRandom, Keys, uniform_of
from .options import Options
from .order import epoch_seed

_AREA = (0.35, 1.0)  # shares of the area that "random-resized" keeps
_ASPECT = (3 / 4, 4 / 3)  # its widths to heights, as in ImageNet training

_MATH = SimpleNamespace(floor=math.floor, sqrt=math.sqrt, minimum=min, maximum=max)
"""What `window_of` computes with for one image: an array of one would take four times as long."""

Floats = npt.NDArray[np.float64]


class CropFlip(NamedTuple):
    """Window, flips and transposition of both images of a pair.

    top, left, height, width: the window that is kept, in pixels of the whole image.
    across, down: whether left and right, top and bottom of the resized window are swapped.
    turned: whether its rows and columns are swapped then.
    """

    top: int
    left: int
    height: int
    width: int
    across: bool
    down: bool
    turned: bool

    @property
    def window(self) -> Window:
        """Return the window that is kept of both images."""
        return Window(self.top, self.left, self.height, self.width)


def crop_numbers(options: Options, epoch: int, keys: Sequence[str] | Keys) -> Floats:
    """Draw the random numbers of crops and flips, before sizes are known.

    keys: sequence of str or Keys; keys of N pairs.

    Returns float64 array (N, 7): share of the area and aspect of a "random-resized" window, its
    place from 0 (top, left) to below 1 (bottom, right), and 0 or 1 for each of `CropFlip`'s flips.
    """
    if not options.cuts and not options.augment:
        return np.zeros((len(keys), 7))
    random = KeyedRandom(epoch_seed(options.seed, epoch, "forms"), keys)
    numbers = np.zeros((len(keys), 7))
    purposes = ["area", "aspect"] * (options.crop == "random-resized")
    purposes += ["top", "left"] * options.cuts + ["flips"] * options.augment
    bits = dict(zip(purposes, random.bits(purposes), strict=True))
    if options.crop == "random-resized":
        area, aspect = uniform_of(bits["area"]), uniform_of(bits["aspect"])
        numbers[:, 0] = _AREA[0] + (_AREA[1] - _AREA[0]) * area
        numbers[:, 1] = _ASPECT[0] * (_ASPECT[1] / _ASPECT[0]) ** aspect
    if options.cuts:
        numbers[:, 2], numbers[:, 3] = uniform_of(bits["top"]), uniform_of(bits["left"])
    if options.augment:
        for i in range(3 if options.square else 2):
            numbers[:, 4 + i] = (bits["flips"] >> np.uint64(i)) & np.uint64(1)
    return numbers


def window_of(height: Any, width: Any, numbers: Any, options: Options, math: Any) -> list[Any]:
    """Return top, left, height and width of windows, whole numbers as float64.

    The same operations serve many images and one, and give both the same window.

    height, width: float64 arrays (N), or floats; sizes of the images.
    numbers: sequence of 4; the first columns of `crop_numbers`, as arrays or floats.
    math: `floor`, `sqrt`, `minimum` and `maximum`: numpy, or `_MATH`.
    """
    area, aspect, top, left = numbers
    h, w = height, width
    if options.crop == "random" and options.size is not None:
        # Of smaller images a window of the asked aspect is enlarged, as large as it can be.
        share = math.maximum(options.size[0] / height, options.size[1] / width)
        share = math.maximum(share, 1.0)
        h = math.minimum(height, math.floor(options.size[0] / share + 0.5))
        w = math.minimum(width, math.floor(options.size[1] / share + 0.5))
    elif options.crop == "random-resized":
        pixels = area * height * width
        h, w = math.sqrt(pixels / aspect), math.sqrt(pixels * aspect)
        h = math.minimum(height, math.maximum(math.floor(h + 0.5), 1.0))
        w = math.minimum(width, math.maximum(math.floor(w + 0.5), 1.0))
    return [math.floor(top * (height - h + 1)), math.floor(left * (width - w + 1)), h, w]


def crops_of(numbers: Floats, options: Options, sizes: Any) -> npt.NDArray[np.int32]:
    """Return the crops and flips that random numbers are for images of some sizes.

    numbers: float64 array (N, 7); see `crop_numbers`.
    sizes: array (N, 2); height and width of each image.

    Returns int32 array (N, 7): rows are `CropFlip`.
    """
    height, width = np.array(sizes, np.float64).reshape(-1, 2).T
    crops = np.empty((len(numbers), 7), np.int32)
    crops[:, :4] = np.stack(window_of(height, width, numbers[:, :4].T, options, np), axis=1)
    crops[:, 4:] = numbers[:, 4:]
    return crops


def draw_crop(options: Options, numbers: Floats, height: int, width: int) -> CropFlip:
    """Return the crop and flips of one image, by its row (7) of `crop_numbers`."""
    *place, across, down, turned = numbers.tolist()
    window = window_of(float(height), float(width), place, options, _MATH)
    top, left, h, w = map(int, window)
    return CropFlip(top, left, h, w, across > 0, down > 0, turned > 0)
