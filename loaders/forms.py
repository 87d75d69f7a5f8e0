"""The form of a pair: crop, resize, flips and turn, a function of a seed and the image's size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import LoaderError
from ..synth.kernels.arrays import Window
from ..synth.parameters.columns import KeyedColumns, Keys
from .options import Options

_AREA = (0.35, 1.0)


class Change(NamedTuple):
    """What becomes of both images of a pair: a window of them, flips and a turn."""

    top: int
    left: int
    height: int
    width: int
    across: bool
    down: bool
    turned: bool

    @property
    def window(self) -> Window:
        """What is kept of both images."""
        return Window(self.top, self.left, self.height, self.width)

    def within(self) -> Change:
        """Return the same change of the window alone."""
        return self._replace(top=0, left=0)


def check_sizes(shapes: Sequence[tuple[int, ...]], options: Options) -> None:
    """Check that images can be one batch.

    Parameters
    ----------
    shapes : sequence of tuples
        Their height, width.
    options : Options

    Raises
    ------
    LoaderError
        When they differ and are not padded.
    """
    different = sorted(set(shapes))
    if len(different) > 1 and not options.pad:
        shown = ", ".join(map(str, different[:3]))
        raise LoaderError(
            f"images of one batch have different sizes ({shown}): give size=, pad=True or"
            " batch_size=1"
        )


def change_of(height: int, width: int, options: Options, seed: int) -> Change:
    """Draw one pair's crop, flips and turn."""
    if not options.changes:
        return Change(0, 0, height, width, False, False, False)
    draws = np.random.Generator(np.random.Philox(key=seed))
    h, w = height, width
    if options.crop == "random" and options.size is not None:
        share = max(1.0, options.size[0] / height, options.size[1] / width)
        h, w = (
            min(height, round(options.size[0] / share)),
            min(width, round(options.size[1] / share)),
        )
    elif options.crop == "random-resized":
        area, aspect = (
            draws.uniform(*_AREA) * height * width,
            np.exp(draws.uniform(np.log(3 / 4), np.log(4 / 3))),
        )
        h, w = (
            min(height, max(1, round((area / aspect) ** 0.5))),
            min(width, max(1, round((area * aspect) ** 0.5))),
        )
    top, left = int(draws.integers(0, height - h + 1)), int(draws.integers(0, width - w + 1))
    across, down, turned = (bool(bit) and options.augment for bit in draws.integers(0, 2, 3))
    return Change(top, left, h, w, across, down, turned and options.square)


def changes_of(
    sizes: Sequence[tuple[int, int]], options: Options, seed: int, keys: Sequence[str] | Keys
) -> npt.NDArray[np.int32]:
    """Draw the changes of many pairs, by their keys: (N, 7) as `Change`."""
    random = KeyedColumns(seed, keys)
    height, width = np.array(sizes, np.int64).reshape(-1, 2).T
    h, w = height, width
    if options.crop == "random" and options.size is not None:
        share = np.maximum(1.0, np.maximum(options.size[0] / height, options.size[1] / width))
        h = np.minimum(height, np.rint(options.size[0] / share).astype(np.int64))
        w = np.minimum(width, np.rint(options.size[1] / share).astype(np.int64))
    elif options.crop == "random-resized":
        low, high = _AREA
        area = (low + (high - low) * random.uniform("area")) * height * width
        aspect = (3 / 4) * (16 / 9) ** random.uniform("aspect")
        h = np.clip(np.rint(np.sqrt(area / aspect)).astype(np.int64), 1, height)
        w = np.clip(np.rint(np.sqrt(area * aspect)).astype(np.int64), 1, width)
    made = np.zeros((len(sizes), 7), np.int32)
    made[:, 0] = random.uniform("top") * (height - h + 1)
    made[:, 1] = random.uniform("left") * (width - w + 1)
    made[:, 2], made[:, 3] = h, w
    if options.augment:
        bits = random.bits("flips")
        for i in range(3 if options.square else 2):
            made[:, 4 + i] = (bits >> np.uint64(i)) & np.uint64(1)
    return made
