"""The camera model: a normal and a draw become a low. See the README for the model, `pixels` for its loops."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from . import pixels as kernels
from .draw import Draw
from .illumination import illumination_rows
from .tables import normal_quantile, poisson_alias_table, tukey_lambda_quantile
from .transfer import encode_table, linear_table

Pixels = npt.NDArray[np.uint8]
_U32 = 0xFFFFFFFF


def render(normal: Pixels, draw: Draw) -> Pixels:
    """Make the low of a pair: a pure function, the same bytes on every machine.

    Parameters
    ----------
    normal : uint8 array (H, W, 3)
        RGB, the stored normal as decoded; at least 1 x 1, below 2^30 pixels.
    draw : Draw

    Returns
    -------
    uint8 array (H, W, 3)
        RGB.
    """
    if normal.dtype != np.uint8 or normal.ndim != 3 or normal.shape[2] != 3:
        raise ValueError(f"normal must be uint8 (H, W, 3), not {normal.dtype} {normal.shape}")
    height, width = normal.shape[:2]
    if not 0 < height * width < 1 << 30:
        raise ValueError(f"normal is {width} x {height}: must have between 1 and 2^30 pixels")
    normal = np.ascontiguousarray(normal)
    low = np.empty_like(normal)
    read = normal_quantile() if draw.read_noise == "gaussian" else tukey_lambda_quantile(draw.read_shape)
    standard = normal_quantile()
    kernels.photograph(
        normal,
        low,
        linear_table(draw.tone),
        illumination_rows(normal, draw),
        parameters(draw),
        np.uint32(draw.pixel_seed & _U32),
        np.uint32(draw.pixel_seed >> 32),
        read.entries,
        (read.units * draw.read_scale).astype(np.float32),
        standard.entries,
        standard.units,
        poisson_alias_table(),
        encode_table(draw.contrast, draw.tone),
    )
    return low


def parameters(draw: Draw) -> npt.NDArray[np.float32]:
    """The vector of `pixels`: computed in float64, rounded once."""
    p = np.zeros(kernels.PARAMETERS)
    gains = np.array([draw.red_gain, 1.0, draw.blue_gain])
    errors = np.exp2([draw.red_error_ev, 0.0, draw.blue_error_ev])
    # Plain division keeps highlights neutral here. Brooks et al. divide clipped light by less, which holds its colour only
    # when it is clipped again on the way out; in the dark it would turn magenta. `highlights_ev` brightens it instead.
    matrix = np.array(draw.matrix).reshape(3, 3)
    to_camera = np.diag(1 / gains) @ matrix
    # A gain below 1 would lift white above what the sensor holds; its exposure is such that the brightest colour just fits.
    headroom = max(1.0, float(np.maximum(to_camera, 0).sum(axis=1).max()))
    p[kernels.TO_CAMERA : kernels.TO_CAMERA + 9] = (to_camera / headroom).ravel()
    p[kernels.TO_SRGB : kernels.TO_SRGB + 9] = np.linalg.inv(matrix).ravel()
    p[kernels.DEVELOP_GAINS : kernels.DEVELOP_GAINS + 3] = gains * errors * headroom * 2**draw.digital_gain_ev
    p[kernels.ELECTRONS] = (draw.white - draw.black) / draw.gain
    p[kernels.GAIN] = draw.gain
    p[kernels.ROW_SIGMA] = draw.row_sigma
    p[kernels.BLACK] = draw.black
    p[kernels.WHITE] = draw.white
    p[kernels.HIGHLIGHTS] = 2**draw.highlights_ev - 1
    return p.astype(np.float32)
