"""The camera model on the CPU: a normal and a draw become a low.

See docs/recipes.md for the model, `kernels.camera` for its loops.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..camera.illumination import CHANNEL_LIGHT, exposure_of, illumination_rows
from ..degradations.draw import jpeg, jpeg_span
from ..kernels.arrays import Pixels, Window, grown, read_only, window_of
from ..kernels.camera import expose_and_develop
from ..kernels.degradations.blur import spread_light
from ..kernels.demosaic import BILINEAR, BORDER
from ..kernels.emitters import LAMP, Emission, resolve_all
from ..kernels.exposure import Scene
from .kernel_args import KernelArgs


def render_window(
    normal: Pixels, args: KernelArgs, window: Window | None = None, lit_as: Pixels | None = None
) -> Pixels:
    """Make the low of a pair, or a window of it: a pure function of pixels and draw.

    normal: uint8 array (H, W, 3), RGB, the stored normal as decoded; at least 1 x 1, below 2^30
      pixels.
    window: what of the low is made; by default all of it. It costs about its share of the pixels.
    lit_as: uint8 array (H, W, 3), the image that lights and the scene's own light are placed by,
      instead of the normal: the first frame of its clip.

    Returns uint8 array (H, W, 3), or the window's height and width, RGB. Raises ValueError when the
    normal is not a uint8 array (H, W, 3), or empty, or larger than the sample index counts; or the
    window does not lie within it.
    """
    window, normal = window_of(normal, window), read_only(normal)
    height, width = normal.shape[:2]
    made = jpeg_span(window, height, width, args.jpeg)
    span = span_of(made, height, width, args.development.blur)
    low = np.empty((span.height, span.width, 3), np.uint8)
    scene = scene_of(normal, span, args, normal if lit_as is None else lit_as)
    developing = args.development, args.noise
    expose_and_develop(normal, low, span, scene, args.sensor, args.pattern, developing)
    return cut(jpeg(cut(low, span, made), args.jpeg), made, window)


def cut(pixels: Any, own: Window, window: Window) -> Any:
    """Return a window of a picture, of which there is its `own` part, as a view."""
    top, left = window.top - own.top, window.left - own.left
    return pixels[top : top + window.height, left : left + window.width]


def scene_of(normal: Pixels, span: Window, args: KernelArgs, lit_as: Pixels) -> Scene:
    """Return the light that a span of a photograph becomes."""
    height, width = normal.shape[:2]
    linear, spread, exposure = args.linear, args.spread, args.exposure
    illumination, cast = illumination_rows(lit_as, args.field)
    lit = np.empty((3, height * width if len(spread.weights) else 0), np.float32)
    if len(spread.weights):
        border = BORDER if args.sensor.method >= BILINEAR else 0
        part = grown(span, border, height, width)
        before = linear, exposure.highlights, exposure.knee, _lamps(lit_as, args), args.glare
        spread_light(normal, Emission(*before, illumination, cast), *spread, part, lit)
        exposure = exposure._replace(highlights=np.float32(0))
    return Scene(linear, illumination, cast, exposure, args.bands, lit)


def _lamps(lit_as: Pixels, args: KernelArgs) -> npt.NDArray[np.float32]:
    """Return the lamps of a photograph (L, LAMP), as `kernels.emitters.resolve` fills them."""
    lamps = np.empty((len(args.emitters), LAMP), np.float32)
    if len(lamps):
        exposure_ev = exposure_of(lit_as, args.field.draw)
        pixels = read_only(lit_as)
        resolve_all(pixels, CHANNEL_LIGHT, args.emitters, args.glare, exposure_ev, lamps)
    return lamps


def span_of(window: Window, height: int, width: int, blur: npt.NDArray[np.float32]) -> Window:
    """Return the area of a picture that a window of its low depends on.

    It is the window, what the chroma noise reduction sees around it, and an even top and left, at
    which a mosaic begins.
    """
    span = grown(window, max(len(blur) - 1, 0), height, width)
    odd, beside = span.top & 1, span.left & 1
    return Window(span.top - odd, span.left - beside, span.height + odd, span.width + beside)
