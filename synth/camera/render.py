"""The camera model: a normal and a draw become a low. See the README for the model, `photograph`
for its loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..kernels import exposure as places
from ..kernels.arrays import Pixels, check_normal
from ..kernels.camera import photograph
from ..kernels.chroma import blur_weights
from ..kernels.curves import encode_table, fine_table, linear_table
from ..kernels.demosaic import METHODS
from ..kernels.develop import ENCODE_CELLS
from ..kernels.numbers.poisson import poisson_alias_table
from ..kernels.numbers.quantiles import (
    normal_pair_quantile,
    normal_quantile,
    scaled,
    tukey_lambda_pair_quantile,
    tukey_lambda_quantile,
)
from .draw import CameraDraw
from .illumination import illumination_rows

_U32 = 0xFFFFFFFF
_NO_TABLE, _NO_FINE_TABLE = np.zeros(ENCODE_CELLS, np.uint8), np.zeros(ENCODE_CELLS, np.int16)
_NO_BLUR = np.empty(0, np.float32)


@dataclass(frozen=True)
class Arguments:
    """What a kernel needs besides the pixels: see `photograph.photograph`."""

    linear: npt.NDArray[np.float32]
    illumination: npt.NDArray[np.float32]
    cast: npt.NDArray[np.float32]
    p: npt.NDArray[np.float32]
    seed: npt.NDArray[np.uint32]
    read: npt.NDArray[np.float32]
    read_pair: npt.NDArray[np.float32]
    normal: npt.NDArray[np.float32]
    alias: npt.NDArray[np.uint32]
    table: npt.NDArray[np.uint8]
    fine: npt.NDArray[np.int16]
    blur: npt.NDArray[np.float32]
    method: int

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays among them, by name."""
        return {name: value for name, value in self.__dict__.items() if name != "method"}


def arguments(normal: Pixels, draw: CameraDraw) -> Arguments:
    """Work out what a kernel needs for one image, in float64, rounded once.

    Raises
    ------
    ValueError
        When the normal is not a uint8 array (H, W, 3), or empty, or larger than the sample index
        counts.
    """
    check_normal(normal)
    gaussian, shape = draw.read_noise == "gaussian", draw.read_shape
    read = normal_quantile() if gaussian else tukey_lambda_quantile(shape)
    read_pair = normal_pair_quantile() if gaussian else tukey_lambda_pair_quantile(shape)
    tone = draw.tone if draw.tone_applied == "both" else 0.0
    smooth = draw.chroma_strength > 0
    return Arguments(
        linear_table(draw.tone, draw.gamma),
        *illumination_rows(normal, draw),
        parameters(draw),
        np.array([draw.pixel_seed & _U32, draw.pixel_seed >> 32], dtype=np.uint32),
        scaled(read, draw.read_scale),
        scaled(read_pair, draw.read_scale),
        scaled(normal_quantile(), 1.0),
        poisson_alias_table(),
        _NO_TABLE if smooth else encode_table(draw.contrast, tone, draw.gamma),
        fine_table(draw.contrast, tone, draw.gamma) if smooth else _NO_FINE_TABLE,
        blur_weights(draw.chroma_sigma) if smooth else _NO_BLUR,
        METHODS[draw.demosaic],
    )


def render_camera(normal: Pixels, draw: CameraDraw) -> Pixels:
    """Make the low of a pair: a pure function, the same bytes on every machine.

    Parameters
    ----------
    normal : uint8 array (H, W, 3)
        RGB, the stored normal as decoded; at least 1 x 1, below 2^30 pixels.
    draw : CameraDraw

    Returns
    -------
    uint8 array (H, W, 3)
        RGB.
    """
    given = arguments(normal, draw)
    normal = np.ascontiguousarray(normal)
    low = np.empty_like(normal)
    photograph(
        normal,
        low,
        given.linear,
        given.illumination,
        given.cast,
        given.p,
        given.seed,
        given.read,
        given.read_pair,
        given.normal,
        given.alias,
        given.table,
        given.fine,
        given.blur,
        given.method,
    )
    return low


def parameters(draw: CameraDraw) -> npt.NDArray[np.float32]:
    """The vector that `pixels` describes: computed in float64, rounded once. In plain numbers: a
    LAPACK's last bits depend on the machine.
    """
    p = [0.0] * places.PARAMETERS
    gains = draw.red_gain, 1.0, draw.blue_gain
    errors = 2.0**draw.red_error_ev, 1.0, 2.0**draw.blue_error_ev
    # Plain division keeps highlights neutral here. Brooks et al. divide clipped light by less,
    # which holds its colour only when it is clipped again on the way out; in the dark it would turn
    # magenta. `highlights_ev` brightens it instead.
    to_camera = [draw.matrix[i] / gains[i // 3] for i in range(9)]
    # A gain below 1 would lift white above what the sensor holds; its exposure is such that the
    # brightest colour just fits.
    headroom = max(
        1.0,
        *(sum(max(value, 0.0) for value in to_camera[3 * row : 3 * row + 3]) for row in range(3)),
    )
    p[places.TO_CAMERA : places.TO_CAMERA + 9] = [value / headroom for value in to_camera]
    p[places.TO_SRGB : places.TO_SRGB + 9] = inverse(draw.matrix)
    for channel in range(3):
        p[places.DEVELOP_GAINS + channel] = (
            gains[channel] * errors[channel] * headroom * 2**draw.digital_gain_ev
        )
    p[places.ELECTRONS] = (draw.white - draw.black) / draw.gain
    p[places.GAIN] = draw.gain
    p[places.ROW_SIGMA] = draw.row_sigma
    p[places.BLACK] = draw.black
    p[places.WHITE] = draw.white
    p[places.CHROMA] = draw.chroma_strength
    p[places.HIGHLIGHTS] = 2**draw.highlights_ev - 1
    return np.array(p, dtype=np.float32)


def inverse(matrix: Sequence[float]) -> list[float]:
    """The inverse of a 3 x 3 matrix, row by row, by its adjugate."""
    a, b, c, d, e, f, g, h, i = matrix
    cofactors = e * i - f * h, f * g - d * i, d * h - e * g
    scale = 1 / (a * cofactors[0] + b * cofactors[1] + c * cofactors[2])
    rows = (
        (cofactors[0], c * h - b * i, b * f - c * e),
        (cofactors[1], a * i - c * g, c * d - a * f),
        (cofactors[2], b * g - a * h, a * e - b * d),
    )
    return [scale * value for row in rows for value in row]
