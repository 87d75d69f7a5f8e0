"""The camera model: a normal and a draw become a low. See the README for the model, `photograph` for its loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import pixels as places
from .camera_draw import CameraDraw
from .chroma import blur_weights
from .demosaic import METHODS
from .illumination import illumination_rows
from .photograph import photograph
from .tables import normal_quantile, poisson_alias_table, tukey_lambda_quantile
from .transfer import encode_table, fine_table, linear_table

Pixels = npt.NDArray[np.uint8]
_U32 = 0xFFFFFFFF
_NO_TABLE, _NO_FINE_TABLE = np.zeros(places.ENCODE_CELLS, np.uint8), np.zeros(places.ENCODE_CELLS, np.int16)
_NO_BLUR = np.empty(0, np.float32)


@dataclass(frozen=True)
class Arguments:
    """What a kernel needs besides the pixels: see `photograph.photograph`."""

    linear: npt.NDArray[np.float32]
    illumination: npt.NDArray[np.float32]
    cast: npt.NDArray[np.float32]
    p: npt.NDArray[np.float32]
    seed: npt.NDArray[np.uint32]
    read: npt.NDArray[np.uint32]
    read_units: npt.NDArray[np.float32]
    normal: npt.NDArray[np.uint32]
    normal_units: npt.NDArray[np.float32]
    alias: npt.NDArray[np.uint32]
    table: npt.NDArray[np.uint8]
    fine: npt.NDArray[np.int16]
    blur: npt.NDArray[np.float32]
    method: int

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays among them, by name."""
        return {name: value for name, value in self.__dict__.items() if name != "method"}


def check_normal(normal: Pixels) -> None:
    """That an array can be darkened.

    Raises
    ------
    ValueError
        When it is not uint8 (H, W, 3), or empty, or larger than the sample index counts.
    """
    if normal.dtype != np.uint8 or normal.ndim != 3 or normal.shape[2] != 3:
        raise ValueError(f"normal must be uint8 (H, W, 3), not {normal.dtype} {normal.shape}")
    height, width = normal.shape[:2]
    if not height * width > 0 or (height + 4) * (width + 4) >= 1 << 30:
        raise ValueError(f"normal is {width} x {height}: must have between 1 and about 2^30 pixels")


def arguments(normal: Pixels, draw: CameraDraw) -> Arguments:
    """Work out what a kernel needs for one image, in float64, rounded once.

    Raises
    ------
    ValueError
        When the normal is not a uint8 array (H, W, 3), or empty, or larger than the sample index counts.
    """
    check_normal(normal)
    read = normal_quantile() if draw.read_noise == "gaussian" else tukey_lambda_quantile(draw.read_shape)
    standard = normal_quantile()
    tone = draw.tone if draw.tone_applied == "both" else 0.0
    smooth = draw.chroma_strength > 0
    return Arguments(
        linear_table(draw.tone, draw.gamma),
        *illumination_rows(normal, draw),
        parameters(draw),
        np.array([draw.pixel_seed & _U32, draw.pixel_seed >> 32], dtype=np.uint32),
        read.entries,
        (read.units * draw.read_scale).astype(np.float32),
        standard.entries,
        standard.units,
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
    photograph(normal, low, given.linear, given.illumination, given.cast, given.p, given.seed, given.read, given.read_units,
               given.normal, given.normal_units, given.alias, given.table, given.fine, given.blur, given.method)  # fmt: skip
    return low


def parameters(draw: CameraDraw) -> npt.NDArray[np.float32]:
    """The vector that `pixels` describes: computed in float64, rounded once."""
    p = np.zeros(places.PARAMETERS)
    gains = np.array([draw.red_gain, 1.0, draw.blue_gain])
    errors = np.exp2([draw.red_error_ev, 0.0, draw.blue_error_ev])
    # Plain division keeps highlights neutral here. Brooks et al. divide clipped light by less, which holds its colour only
    # when it is clipped again on the way out; in the dark it would turn magenta. `highlights_ev` brightens it instead.
    matrix = np.array(draw.matrix).reshape(3, 3)
    to_camera = np.diag(1 / gains) @ matrix
    # A gain below 1 would lift white above what the sensor holds; its exposure is such that the brightest colour just fits.
    headroom = max(1.0, float(np.maximum(to_camera, 0).sum(axis=1).max()))
    p[places.TO_CAMERA : places.TO_CAMERA + 9] = (to_camera / headroom).ravel()
    p[places.TO_SRGB : places.TO_SRGB + 9] = np.linalg.inv(matrix).ravel()
    p[places.DEVELOP_GAINS : places.DEVELOP_GAINS + 3] = gains * errors * headroom * 2**draw.digital_gain_ev
    p[places.ELECTRONS] = (draw.white - draw.black) / draw.gain
    p[places.GAIN] = draw.gain
    p[places.ROW_SIGMA] = draw.row_sigma
    p[places.BLACK] = draw.black
    p[places.WHITE] = draw.white
    p[places.CHROMA] = draw.chroma_strength
    p[places.HIGHLIGHTS] = 2**draw.highlights_ev - 1
    return p.astype(np.float32)
