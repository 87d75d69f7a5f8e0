"""The windows of a batch's pairs, flipped and turned, as what a model trains on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..compiling.compile import scalar

u32 = np.uint32
u64 = np.uint64
f32 = np.float32


class Forms(NamedTuple):
    """Where the pairs of a batch of N images go, all of one size.

    Attributes
    ----------
    low, normal : uint8 or float32 arrays
    shift, scale : float32
        A sample becomes (sample - shift) * scale.
    channel, pixel : int
        Steps from a channel to the next, and from a pixel: (rows * columns, 1) for CHW, (1, 3) for
        HWC.
    """

    low: npt.NDArray[Any]
    normal: npt.NDArray[Any]
    shift: np.float32
    scale: np.float32
    channel: int
    pixel: int


@scalar
def form_places(image, batch):
    """Count the pixels of an image's window."""
    return u32(image.rows * image.columns if image.height > 0 else 0)


@scalar
def form_step(number, place, batch, forms):
    """Copy a pixel of a pair's window to where it belongs."""
    image = batch.images[number]
    rows, columns = u32(image.rows), u32(image.columns)
    across = u32(rows if image.turned else columns)
    y = u32(place // across)
    x = u32(place - u32(y * across))
    if image.turned:
        y, x = x, y
    if image.down:
        y = u32(rows - u32(1) - y)
    if image.across:
        x = u32(columns - u32(1) - x)
    low = image.low + u64(u32(3) * u32(y * columns + x))
    y, x = u32(y + u32(image.top)), u32(x + u32(image.left))
    normal = image.normal + u64(u32(3) * u32(y * u32(image.width) + x))
    for channel in range(3):
        to = u64(u32(forms.pixel) * place) + u64(u32(forms.channel) * u32(channel))
        value = f32(batch.low[low + u64(channel)])
        forms.low[image.formed_low + to] = (value - forms.shift) * forms.scale
        value = f32(batch.normal[normal + u64(channel)])
        forms.normal[image.formed_normal + to] = (value - forms.shift) * forms.scale
