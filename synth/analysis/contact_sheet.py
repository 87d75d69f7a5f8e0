"""Contact sheets: photographs darkened by recipes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from ..clips import render_clip
from ..degradations.draw import DegradationsDraw, LastDegradationsDraw
from ..draws.record import CameraDraw, SceneLightDraw
from ..kernels.arrays import Pixels
from ..kernels.curves import LEVEL_LIGHT, linear_to_srgb
from ..models import Draw, component_of, draw, low_maker, render
from ..recipes.load import Recipe

_GAP = 8
_TEXT = 13
_LINE = 17
_PAPER = (24, 24, 24)
_INK = (224, 224, 224)
_GREY = 0.18
"""Mean linear light that a brightened low is shown at: photographic middle grey."""


@dataclass(frozen=True)
class Tile:
    """A picture of a sheet with lines of text beneath."""

    pixels: Pixels
    caption: tuple[str, ...] = ()


def brightening_gain(low: Pixels) -> float:
    """Return the gain in linear light that takes the mean of a low to middle grey."""
    counts = sum(np.bincount(row.ravel(), minlength=256) for row in low)
    return _GREY / max(float(counts @ LEVEL_LIGHT) / low.size, 1e-6)


def brighten(low: Pixels, gain: float | None = None) -> Pixels:
    """Brighten a low by a gain in linear light, which by default takes its mean to middle grey.

    It shows what the low hides, noise and all.
    """
    gain = brightening_gain(low) if gain is None else gain
    levels = np.rint(255 * linear_to_srgb(np.minimum(LEVEL_LIGHT * gain, 1.0))).astype(np.uint8)
    return levels[low]


def row_of(normal: Pixels, recipe: Recipe, seed: int, key: str, width: int) -> list[Tile]:
    """Make tiles of a normal, its low, the brightened low, and the middle of the latter at 1:1.

    Noise can be judged in the last one.

    normal: uint8 array (H, W, 3). width: of each tile, pixels; pictures are scaled to it, the
    close-up is not.
    """
    drawn = draw(recipe, seed, key)
    name = component_of(recipe, seed, key)
    named = f"{recipe.name}: {name}" if name else recipe.name
    return tiles_of(
        normal, render(normal, drawn), (named, *describe_draw(drawn, width)), key, width
    )


def tiles_of(
    normal: Pixels, low: Pixels, words: tuple[str, ...], key: str, width: int
) -> list[Tile]:
    """Make tiles of a pair; see `row_of`.

    normal, low: uint8 arrays (H, W, 3). words: lines under the low. key: under the normal.
    """
    bright = brighten(low)
    height = max(1, round(width * normal.shape[0] / normal.shape[1]))
    return [
        Tile(_scaled(normal, width), (key,)),
        Tile(_scaled(low, width), words),
        Tile(_scaled(bright, width), ("brightened to middle grey",)),
        Tile(_close_up(bright, min(height, width), width), ("close-up at 1:1",)),
    ]


def strip_of(frames: list[Pixels], recipe: Recipe, seed: int, key: str, width: int) -> list[Tile]:
    """Make tiles of a clip's lows, all brightened by the gain of the first, under its normals.

    frames: list of uint8 arrays (H, W, 3), the normals. recipe, seed, key, width: as of `row_of`.
    """
    drawn = draw(recipe, seed, key)
    lows = render_clip(frames, drawn)
    gain = brightening_gain(lows[0])
    words = (recipe.name, *describe_draw(drawn, width))
    return [
        Tile(
            np.concatenate([_scaled(image, width) for image in (normal, low, brighten(low, gain))]),
            (f"frame {number}",) if number else (key, *words),
        )
        for number, (normal, low) in enumerate(zip(frames, lows, strict=True))
    ]


def small_tile(normal: Pixels, recipe: Recipe, label: str, seed: int, key: str, width: int) -> Tile:
    """Make a tile of a normal's low, over the middle of it brightened; see `row_of`."""
    low = low_maker(recipe, seed, [key]).low(0, normal)
    close = _close_up(brighten(low), width // 2, width)
    return Tile(np.concatenate([_scaled(low, width), close]), (label,))


def describe_draw(drawn: Draw, width: int) -> list[str]:
    """Describe the drawn parameters that one sees, in lines that fit under a tile."""
    if isinstance(drawn, CameraDraw):
        exposure = drawn.exposure
        words = [f"{exposure.ev:.1f} EV"]
        if exposure.by_brightness:  # times the normal's stops above middle grey
            words.append(f"{exposure.by_brightness:+.1f} EV per stop of brightness")
        words += [_noise(drawn), f"contrast {drawn.isp.contrast:.2f}"]
        red, blue = drawn.white_balance.error_ev
        words.append(f"white balance {red:+.2f} {blue:+.2f} EV")
        field, gain = drawn.illumination, drawn.isp.digital_gain_ev
        lights = field.lights.count + field.lamps.count
        words += [f"smooth {np.std(field.smooth.values):.1f} EV"] if field.smooth.cells else []
        words += [f"{lights} lights"] if lights else []
        words += [f"{drawn.emitters.count} lamps"] if drawn.emitters else []
        words += [f"scene {field.scene.strength:.2f}"] if field.scene.strength else []
        words += _scene_light(field.scene_light) if field.scene_light else []
        words += [f"highlights +{drawn.highlights.ev:.1f} EV"] if drawn.highlights.ev else []
        words += [f"vignette {field.vignette.ev:.1f} EV"] if field.vignette.ev else []
        words += [f"digital gain {gain:.1f} EV"] if gain else []
    else:
        values = drawn.curve.model_dump() | drawn.noise.model_dump()
        words = [
            f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in values.items()
        ]
    words += _degradations(drawn.degradations)
    lines: list[str] = []
    for word in words:
        joined = f"{lines[-1]}, {word}" if lines else word
        if lines and _font().getlength(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(word)
    return lines


def _scene_light(own: SceneLightDraw) -> list[str]:
    """Describe light by lightness."""
    words = []
    if any(own.undone):
        words.append(f"black {own.undone[0]:+.1f}, white {own.undone[-1]:+.1f} EV")
    words += [f"by place {np.std(own.grid.values):.1f} EV"] if own.grid.cells else []
    words += [f"{own.pools.count} pools of light"] if own.pools.count else []
    return words


def _noise(drawn: CameraDraw) -> str:
    """Describe whose noise it is: a sensor's, or what pictures show, of green, in dark levels."""
    own = drawn.noise
    if own is None:
        return f"{drawn.camera.name} ISO {drawn.camera.iso:.0f}"
    return f"read noise {own.read.green:.2f}, shot {own.shot.green:.2f}"


def _degradations(drawn: LastDegradationsDraw | None) -> list[str]:
    """Describe degradations that an image has."""
    if drawn is None:
        return []
    words = []
    if isinstance(drawn, DegradationsDraw):
        fixed = drawn.fixed_pattern
        words += [f"motion {drawn.motion.length:.1f} pixels"] if drawn.motion.length else []
        words += [f"defocus {drawn.defocus.radius:.1f} pixels"] if drawn.defocus.radius else []
        words += [f"bands of {drawn.banding.depth:.2f}"] if drawn.banding.depth else []
        words += ["fixed pattern"] if fixed.columns or fixed.hot_share else []
    return words + ([f"JPEG {drawn.jpeg.quality}"] if drawn.jpeg.quality else [])


def sheet(rows: list[list[Tile]]) -> Image.Image:
    """Put rows of tiles on one sheet."""
    widths = [max(tile.pixels.shape[1] for tile in row) for row in rows]
    total = max(len(row) * (width + _GAP) + _GAP for row, width in zip(rows, widths, strict=True))
    heights = [
        max(tile.pixels.shape[0] + _LINE * len(tile.caption) for tile in row) for row in rows
    ]
    paper = Image.new("RGB", (total, sum(heights) + _GAP * (len(rows) + 1)), _PAPER)
    pen = ImageDraw.Draw(paper)
    top = _GAP
    for row, width, height in zip(rows, widths, heights, strict=True):
        for i, tile in enumerate(row):
            left = _GAP + i * (width + _GAP)
            paper.paste(Image.fromarray(tile.pixels), (left, top))
            for j, line in enumerate(tile.caption):
                pen.text(
                    (left, top + tile.pixels.shape[0] + 1 + j * _LINE),
                    _fitting(line, width),
                    _INK,
                    _font(),
                )
        top += height + _GAP
    return paper


def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(_TEXT)


def _fitting(line: str, width: int) -> str:
    while len(line) > 1 and _font().getlength(line) > width:
        line = line[:-2] + "…" if line.endswith("…") else line[:-1] + "…"
    return line


def _scaled(pixels: Pixels, width: int) -> Pixels:
    height = max(1, round(width * pixels.shape[0] / pixels.shape[1]))
    return np.asarray(Image.fromarray(pixels).resize((width, height), Image.Resampling.LANCZOS))


def _close_up(pixels: Pixels, height: int, width: int) -> Pixels:
    """Return the middle of a picture, never scaled, padded with paper where that is smaller."""
    top, left = max(0, (pixels.shape[0] - height) // 2), max(0, (pixels.shape[1] - width) // 2)
    part = pixels[top : top + height, left : left + width]
    padded = np.full((height, width, 3), _PAPER, np.uint8)
    padded[: part.shape[0], : part.shape[1]] = part
    return padded
