"""Emitters of a low: the light that they add, and their masks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..camera.illumination import CHANNEL_LIGHT, exposure_of
from ..kernels.arrays import Pixels, read_only
from ..kernels.emitters import LAMP, resolve_all
from .kernel_args import KernelArgs


def lamps_of(lit_as: Pixels, args: KernelArgs) -> npt.NDArray[np.float32]:
    """Return the lamps of a photograph (L, LAMP), as `kernels.emitters.resolve` fills them."""
    lamps = np.empty((len(args.emitters), LAMP), np.float32)
    if len(lamps):
        lit_as = read_only(lit_as)
        exposure_ev = exposure_of(lit_as, args.field.draw)
        resolve_all(lit_as, CHANNEL_LIGHT, args.emitters, args.glare, exposure_ev, lamps)
    return lamps
