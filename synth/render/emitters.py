"""Emitters of a low: the light that they add, and their masks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..camera.illumination import CHANNEL_LIGHT, exposure_of
from ..draws.record import CameraDraw
from ..draws.table import table_of_records
from ..kernels.arrays import Pixels, Window, read_only, window_of
from ..kernels.emitters import LAMP, fill_shine, resolve_all
from .kernel_args import KernelArgs, kernel_args


def lamps_of(lit_as: Pixels, args: KernelArgs) -> npt.NDArray[np.float32]:
    """Return the lamps of a photograph (L, LAMP), as `kernels.emitters.resolve` fills them."""
    lamps = np.empty((len(args.emitters), LAMP), np.float32)
    if len(lamps):
        lit_as = read_only(lit_as)
        exposure_ev = exposure_of(lit_as, args.field.draw)
        resolve_all(lit_as, CHANNEL_LIGHT, args.emitters, args.glare, exposure_ev, lamps)
    return lamps


def emitter_light(
    normal: Pixels, drawn: CameraDraw, window: Window | None = None
) -> npt.NDArray[np.float32]:
    """Return the light that emitters add to a low, before the sensor clips it.

    normal: uint8 array (H, W, 3), RGB, the stored normal as decoded; of a clip its first frame.
    window: what of the picture is wanted; by default all of it.

    Returns float32 array (h, w, 3), linear sRGB light; 1 is what the sensor holds of white. Blur
    and bands come after. Raises ValueError when the normal is not of that type and shape, or the
    window does not lie within it.
    """
    part, lamps, args = _placed(normal, drawn, window)
    planes = np.empty((3, part.height, part.width), np.float32)
    fill_shine(lamps, args.glare, part.top, part.left, planes)
    return np.ascontiguousarray(planes.transpose(1, 2, 0))


def emitter_mask(
    normal: Pixels, drawn: CameraDraw, window: Window | None = None
) -> npt.NDArray[np.bool_]:
    """Return which pixels' middles lie within an emitter's disc, without its glow.

    Parameters and errors are those of `emitter_light`. Returns bool array (h, w).
    """
    part, lamps, _ = _placed(normal, drawn, window)
    y, x = np.ogrid[part.top : part.top + part.height, part.left : part.left + part.width]
    mask = np.zeros((part.height, part.width), np.bool_)
    for row, column, radius in lamps[:, :3].astype(np.float64).tolist():
        mask |= (y - row) ** 2 + (x - column) ** 2 <= radius**2
    return mask


def _placed(
    normal: Pixels, drawn: CameraDraw, window: Window | None
) -> tuple[Window, npt.NDArray[np.float32], KernelArgs]:
    part = window_of(normal, window)
    args = kernel_args(table_of_records([drawn]), 0)
    return part, lamps_of(normal, args), args
