"""Compiling CUDA kernels where there is no GPU."""

from __future__ import annotations

import types
from typing import Any

import numba
import numpy as np
from numba import cuda
from numba.cuda import dispatcher

from gloam.synth.kernels.args import DRAW
from gloam.synth.kernels.batch.arrays import IMAGE, Batch
from gloam.synth.kernels.batch.map_steps import Maps
from gloam.synth.kernels.batch.resize_steps import OutputLayout, Resizing
from gloam.synth.kernels.compiling.for_cuda import plain_arithmetic

CAPABILITY = (9, 0)


def array_type(dtype: Any, dimensions: int) -> Any:
    return numba.types.Array(numba.from_dtype(np.dtype(dtype)), dimensions, "C")


DIMENSIONS = {
    "images": (IMAGE, 1),
    "draws": (DRAW, 1),
    "normal": ("u1", 1),
    "low": ("u1", 1),
    "linear": ("f4", 1),
    "curves": ("f4", 3),
    "grains": ("f4", 3),
    "read": ("f4", 3),
    "alias": ("u4", 1),
    "blur": ("f4", 2),
    "smooth": ("f8", 1),
    "lights": ("f8", 2),
    "emitters": ("f8", 2),
    "lures": ("f8", 2),
    "lamps": ("f4", 3),
    "cubic": ("f8", 3),
    "grids": ("f8", 1),
    "pools": ("f8", 2),
    "shining": ("f8", 2),
    "pool_cell": ("i4", 2),
    "own": ("f8", 2),
    "binomial": ("f8", 2),
    "channel_light": ("f8", 2),
    "log_light": ("f8", 1),
    "luminance": ("f8", 2),
    "cumulative": ("f8", 2),
    "field": ("f8", 2),
    "light_cell": ("i4", 2),
    "mean": ("f8", 1),
    "exposure": ("f8", 1),
    "light": ("f4", 2),
    "colour": ("f4", 3),
    "table": ("u1", 2),
    "fine_table": ("i2", 2),
    "bright": ("i2", 1),
    "differences": ("i4", 1),
    "columns": ("u8", 1),
    "mosaic": ("f4", 1),
    "rows": ("f4", 1),
    "gaussians": ("f4", 1),
    "lit": ("f4", 1),
    "pattern": ("f4", 1),
    "made": ("u1", 1),
    "samples": ("f4", 1),
    "coefficients": ("f4", 1),
    "spread_places": ("i4", 2),
    "spread_weights": ("f4", 1),
    "quantisers": ("f4", 3),
    "cosines": ("f4", 1),
}
BATCH = numba.types.NamedTuple([array_type(*DIMENSIONS[name]) for name in Batch._fields], Batch)
OF_MAPS = {
    "into": ("f4", 1),
    "kinds": ("i4", 1),
    "change": ("f4", 2),
    "levels": ("f4", 2),
    "roots": ("f4", 2),
    "shared": ("f4", 2),
    "light": ("f4", 4),
    "smoothed": ("f4", 6),
    "channels": ("f4", 4),
    "first": ("i8", 1),
    "pixels": ("f4", 1),
    "blurred": ("f4", 1),
    "normal": ("f4", 2),
    "laguerre": ("f4", 2),
    "around": ("f4", 6),
}
MAPS = numba.types.NamedTuple(
    [
        array_type(*kind) if kind[1] else numba.from_dtype(np.dtype(kind[0]))
        for kind in (OF_MAPS.get(name, ("i8", 0)) for name in Maps._fields)
    ],
    Maps,
)
FORMS = numba.types.NamedTuple(
    [*[array_type("f4", 1)] * 2, *[numba.float32] * 2, *[numba.int64] * 2], OutputLayout
)
RESIZING = numba.types.NamedTuple(
    [*[numba.int64] * 3, *[array_type("i4", 1)] * 2, array_type("f4", 1)], Resizing
)


def ptx_of(kernel: Any, *arguments: Any) -> str:
    """The PTX of a kernel of `kernels.batch.launch_cuda`, compiled as on a GPU."""
    before = dispatcher.get_current_device
    dispatcher.get_current_device = lambda: types.SimpleNamespace(compute_capability=CAPABILITY)
    try:
        with plain_arithmetic():
            text, _ = cuda.compile(
                kernel.py_func,
                numba.void(*arguments),
                device=False,
                cc=CAPABILITY,
                output="ptx",
                abi="numba",
            )
    finally:
        dispatcher.get_current_device = before
    return str(text)
