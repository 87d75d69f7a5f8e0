"""The power_law model: beta (alpha x)^gamma on encoded values, then optional Poisson and Gaussian noise.

It is not how light behaves; it covers what others published, so that sets can be compared. Noise is added to encoded values, or
(space: raw) to the mosaic of a sensor behind an sRGB response.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

from .camera_model import check_normal
from .camera_recipe import Section, about
from .compiling import fma, kernel
from .demosaic import BILINEAR, BORDER, demosaic_row
from .distributions import Constant, Distribution, OneOf, Within
from .hashing import READ, SHOT, SHOT_REST, random_word, sample_state
from .noise import large_poisson, small_poisson, symmetric_quantile
from .pixels import encoding_cell
from .quantiles import normal_quantile, scaled
from .randomness import Source
from .tables import POISSON_LIMIT, poisson_alias_table
from .transfer import encode_table, srgb_to_linear

Pixels = npt.NDArray[np.uint8]
u32 = np.uint32
f32 = np.float32
u8 = np.uint8
_LIMIT = f32(POISSON_LIMIT)
_U32 = 0xFFFFFFFF


class Curve(Section):
    """beta (alpha x)^gamma of encoded values x in [0, 1]."""

    alpha: Annotated[Distribution, Within(0, 4), about("factor before the power")] = Constant(1.0)
    beta: Annotated[Distribution, Within(0, 4), about("factor after it")] = Constant(1.0)
    gamma: Annotated[Distribution, Within(0.1, 10), about("exponent")] = Constant(1.0)
    stretch: Annotated[
        Distribution, OneOf(("none", "range")), about("range first scales the image's values to 0 to 1, as MATLAB's imadjust")
    ] = Constant("none")


class Noise(Section):
    """Poisson noise, and Gaussian noise that for light L, white 1, has the variance
    variance + deviation^2 + (deviation_per_light L)^2."""

    space: Annotated[Distribution, OneOf(("srgb", "raw")), about("raw: linear light behind a Bayer mosaic, bilinear")] = Constant(
        "srgb"
    )
    peak: Annotated[Distribution, Within(0, 1e6, "photons"), about("of white, of Poisson noise; 0 for none")] = Constant(0.0)
    variance: Annotated[Distribution, Within(0, 1), about("of Gaussian noise")] = Constant(0.0)
    deviation: Annotated[Distribution, Within(0, 1), about("of Gaussian noise, standard")] = Constant(0.0)
    deviation_per_light: Annotated[Distribution, Within(0, 1), about("the same, of light 1")] = Constant(0.0)


class PowerLawRecipe(Section):
    """A recipe of the power_law model.

    name and about are for people; every other part is documented at its class.
    """

    name: str = "custom"
    about: str = ""
    model: Literal["power_law"] = "power_law"
    curve: Curve = Curve()
    noise: Noise = Noise()


class PowerLawDraw(BaseModel):
    """Parameters of one low; see `Curve` and `Noise`. pixel_seed: 63 bits that key the noise of all samples."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: Literal["power_law"] = "power_law"
    pixel_seed: int
    alpha: float
    beta: float
    gamma: float
    stretch: Literal["none", "range"]
    space: Literal["srgb", "raw"]
    peak: float
    variance: float
    deviation: float
    deviation_per_light: float


def draw_power_law(recipe: PowerLawRecipe, source: Source) -> PowerLawDraw:
    """Draw one image's parameters, each with a random number keyed by its path in the recipe."""
    values: dict[str, float | str] = {}
    for section in ("curve", "noise"):
        part = getattr(recipe, section)
        for name in type(part).model_fields:
            values[name] = getattr(part, name).quantile(source.uniform(f"{section}.{name}"))
    return PowerLawDraw.model_validate({"pixel_seed": source.bits("pixels") >> 1, **values})


def render_power_law(normal: Pixels, draw: PowerLawDraw) -> Pixels:
    """Make the low of a pair: a pure function.

    Parameters
    ----------
    normal : uint8 array (H, W, 3)
        RGB, the stored normal as decoded.
    draw : PowerLawDraw

    Returns
    -------
    uint8 array (H, W, 3)
        RGB.
    """
    check_normal(normal)
    height, width = normal.shape[:2]
    curve = curve_table(normal, draw)
    if not (draw.peak or draw.variance or draw.deviation or draw.deviation_per_light):
        plain: Pixels = np.rint(255 * curve).astype(np.uint8)[normal]
        return plain
    noise = np.array([draw.peak, draw.variance + draw.deviation**2, draw.deviation_per_light], dtype=np.float32)
    seeds = np.uint32(draw.pixel_seed & _U32), np.uint32(draw.pixel_seed >> 32)
    tables = scaled(normal_quantile(), 1.0), poisson_alias_table()
    low = np.empty((height, width, 3), np.uint8)
    if draw.space == "srgb":
        values = curve.astype(np.float32)[normal.ravel()]
        _add_noise(values, u32(0), *seeds, noise, *tables)
        _round(values, low.reshape(-1))
    else:
        light = srgb_to_linear(curve).astype(np.float32)
        _through_mosaic(np.ascontiguousarray(normal), light, *seeds, noise, *tables, encode_table(1.0, 0.0), low)
    return low


def curve_table(normal: Pixels, draw: PowerLawDraw) -> npt.NDArray[np.float64]:
    """Darkened values in [0, 1] of the 256 levels of a photograph."""
    x = np.arange(256) / 255
    if draw.stretch == "range":
        least, most = int(normal.min()) / 255, int(normal.max()) / 255
        x = np.clip((x - least) / ((most - least) or 1.0), 0, 1)
    table: npt.NDArray[np.float64] = np.clip(draw.beta * (draw.alpha * x) ** draw.gamma, 0, 1)
    return table


@kernel
def _add_noise(values, first, seed_low, seed_high, noise, normal, alias):  # type: ignore[no-untyped-def]
    """Add noise to samples (N) in [0, 1], in place; `first` is the index of the first, `noise` the peak, variance and
    deviation per light."""
    peak, constant, per_light = noise[0], noise[1], noise[2]
    per_photon = f32(1) / peak if peak > f32(0) else f32(0)
    for x in range(values.shape[0]):
        state = sample_state(u32(first + u32(x)), seed_low, seed_high)
        v = values[x]
        sigma = np.sqrt(fma(per_light * v, per_light * v, constant))
        if peak > f32(0):
            word = random_word(state, SHOT)
            mean = v * peak
            few = small_poisson(mean, word, random_word(state, SHOT_REST), alias)
            many = large_poisson(mean, symmetric_quantile(word, normal))
            v = min((few if mean < _LIMIT else many) * per_photon, f32(1))
        z = symmetric_quantile(random_word(state, READ), normal)
        values[x] = fma(sigma, z, v)


@kernel
def _round(values, low):  # type: ignore[no-untyped-def]
    for x in range(values.shape[0]):
        low[x] = u8(np.rint(min(max(values[x], f32(0)), f32(1)) * f32(255)))


@kernel
def _through_mosaic(rgb, light, seed_low, seed_high, noise, normal, alias, table, low):  # type: ignore[no-untyped-def]
    height, width = rgb.shape[0], rgb.shape[1]
    mosaic = np.empty((height + 2 * BORDER, width + 2 * BORDER), np.float32)
    sites = mosaic.shape[1]
    for row in range(mosaic.shape[0]):
        y = min(max(row - BORDER, 0), height - 1)
        for site in range(sites):
            x = min(max(site - BORDER, 0), width - 1)
            channel = (row & 1) + (site & 1)  # RGGB
            mosaic[row, site] = light[rgb[y, x, channel]]
        _add_noise(mosaic[row], u32(u32(row) * u32(sites)), seed_low, seed_high, noise, normal, alias)
    red, greens, blue = np.empty(width, np.float32), np.empty(width, np.float32), np.empty(width, np.float32)
    for y in range(height):
        demosaic_row(mosaic, y, BILINEAR, red, greens, blue)
        for x in range(width):
            low[y, x, 0] = table[encoding_cell(red[x])]
            low[y, x, 1] = table[encoding_cell(greens[x] * f32(0.5))]
            low[y, x, 2] = table[encoding_cell(blue[x])]
