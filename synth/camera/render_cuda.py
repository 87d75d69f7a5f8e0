"""Lows of the camera model on a CUDA GPU, with the bytes of the CPU. Needs numba-cuda."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda

from ..kernels.arrays import Pixels
from ..kernels.camera_cuda import (
    blur_columns,
    demosaic_planes,
    develop_planes,
    merge_chroma,
    sense_mosaic,
    sense_quads,
)
from ..kernels.compiling.cuda import plain_arithmetic
from ..kernels.demosaic import BILINEAR, BORDER
from ..kernels.exposure import CHROMA
from .draw import CameraDraw
from .render import Arguments, arguments

_THREADS = 256


def render_on_gpu(normal: Pixels, draw: CameraDraw) -> Pixels:
    """As `camera_model.render_camera`, on the current CUDA device.

    Parameters
    ----------
    normal : uint8 array (H, W, 3)
    draw : CameraDraw

    Returns
    -------
    uint8 array (H, W, 3)
    """
    given = arguments(normal, draw)
    low = cuda.device_array(normal.shape, np.uint8)
    launch(cuda.to_device(np.ascontiguousarray(normal)), on_device(given), given, low)
    return np.asarray(low.copy_to_host())


def on_device(given: Arguments) -> dict[str, Any]:
    """The tables and parameters of one image in device memory."""
    return {name: cuda.to_device(value) for name, value in given.arrays().items()}


def launch(
    rgb: Any, held: dict[str, Any], given: Arguments, low: Any, work: dict[str, Any] | None = None
) -> None:
    """Run the kernels of one image: `rgb` and `low` are device arrays (H, W, 3) uint8.

    Parameters
    ----------
    held : dict
        Of `on_device`.
    work : dict, optional
        Device arrays to work in, of `workspace`; made anew when not given.
    """
    height, width = rgb.shape[:2]
    work = work or workspace(height, width)
    blocks = -(-height * width // _THREADS)
    noises = held["normal"], held["alias"]
    scene = rgb, held["linear"], held["illumination"], held["cast"], held["p"]
    with plain_arithmetic():
        if given.method >= BILINEAR:
            sites_blocks = -(-(height + 2 * BORDER) * (width + 2 * BORDER) // _THREADS)
            sense_mosaic[sites_blocks, _THREADS](
                *scene, held["seed"], held["read"], *noises, work["mosaic"]
            )
            demosaic_planes[blocks, _THREADS](work["mosaic"], given.method, work["raw"])
        else:
            sense_quads[blocks, _THREADS](
                *scene,
                held["seed"],
                held["read"],
                held["read_pair"],
                *noises,
                given.method,
                work["raw"],
            )
        smooth = len(given.blur) > 0
        develop_planes[blocks, _THREADS](
            work["raw"], held["p"], smooth, held["table"], held["fine"], low, work["planes"]
        )
        if smooth:
            blur_columns[2 * blocks, _THREADS](work["planes"], held["blur"], work["columns"])
            merge_chroma[blocks, _THREADS](
                work["planes"], work["columns"], held["blur"], given.p[CHROMA], low
            )


def workspace(height: int, width: int) -> dict[str, Any]:
    """Device arrays that `launch` works in, for images of one size."""
    return {
        "raw": cuda.device_array((3, height, width), np.float32),
        "mosaic": cuda.device_array((height + 2 * BORDER, width + 2 * BORDER), np.float32),
        "planes": cuda.device_array((3, height, width), np.int16),
        "columns": cuda.device_array((2, height, width), np.float32),
    }
