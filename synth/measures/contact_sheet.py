"""Contact sheets: photographs darkened by recipes."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from pydantic import BaseModel

from ...errors import ConfigError, GloamWarning, ImageRefused, SourceError
from ...manifests.clips.listing import Windows, list_clips, sequence_of, warn_of_videos
from ...manifests.clips.load_clip import load_clip
from ...manifests.images.normals import load_normal
from ...manifests.images.opening import byte_limit
from ...manifests.sets.info import SET_FILE
from ...manifests.sources import Location, list_source, read
from ...manifests.sources.collections import SAMPLE_NAMES
from ...manifests.sources.folders import images_below
from ...storage.stores import as_path
from ...storage.untrusted import read_regular, whole
from ..clips import render_clip
from ..degradations.draw import DegradationsDraw, LastDegradationsDraw
from ..draws.record import CameraDraw, SceneLightDraw
from ..kernels.arrays import Pixels
from ..kernels.curves import LEVEL_LIGHT, linear_to_srgb
from ..models import Draw, component_of, draw, low_maker, render
from ..recipes.load import DEFAULT, Recipe, load_recipe
from ..recipes.overrides import Overrides, override_texts
from . import WIDTH

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


def mean_light(pixels: Pixels) -> float:
    """Return the mean linear light of a picture, 0 to 1."""
    counts = sum(np.bincount(row.ravel(), minlength=256) for row in pixels)
    return float(counts @ LEVEL_LIGHT) / pixels.size


def brightening_gain(low: Pixels) -> float:
    """Return the gain in linear light that takes the mean of a low to middle grey."""
    return _GREY / max(mean_light(low), 1e-6)


def brighten(low: Pixels, gain: float | None = None) -> Pixels:
    """Brighten a low by a gain in linear light, which by default takes its mean to middle grey.

    It shows what the low hides, noise and all.
    """
    gain = brightening_gain(low) if gain is None else gain
    levels = np.rint(255 * linear_to_srgb(np.minimum(LEVEL_LIGHT * gain, 1.0))).astype(np.uint8)
    return levels[low]


def tiles_of(
    normal: Pixels, low: Pixels, words: tuple[str, ...], key: str, width: int
) -> list[Tile]:
    """Make tiles of a normal, its low, the brightened low, and the middle of the latter at 1:1.

    Noise can be judged in the last one.

    normal, low: uint8 arrays (H, W, 3). words: lines under the low. key: under the normal. width:
    of each tile, pixels; pictures are scaled to it, the close-up is not.
    """
    bright = brighten(low)
    height = max(1, round(width * normal.shape[0] / normal.shape[1]))
    return [
        Tile(scaled(normal, width), (key,)),
        Tile(scaled(low, width), words),
        Tile(scaled(bright, width), ("brightened to middle grey",)),
        Tile(_close_up(bright, min(height, width), width), ("close-up at 1:1",)),
    ]


def strip_of(frames: list[Pixels], recipe: Recipe, seed: int, key: str, width: int) -> list[Tile]:
    """Make tiles of a clip's lows, all brightened by the gain of the first, under its normals.

    frames: list of uint8 arrays (H, W, 3), the normals. key, width: as of `tiles_of`.
    """
    drawn = draw(recipe, seed, key)
    lows = render_clip(frames, drawn)
    gain = brightening_gain(lows[0])
    words = (recipe.name, *describe_draw(drawn, width))
    return [
        Tile(
            np.concatenate([scaled(image, width) for image in (normal, low, brighten(low, gain))]),
            (f"frame {number}",) if number else (key, *words),
        )
        for number, (normal, low) in enumerate(zip(frames, lows, strict=True))
    ]


def small_tile(normal: Pixels, recipe: Recipe, label: str, seed: int, key: str, width: int) -> Tile:
    """Make a tile of a normal's low, over the middle of it brightened; see `tiles_of`."""
    low = low_maker(recipe, seed, [key]).low(0, normal)
    close = _close_up(brighten(low), width // 2, width)
    return Tile(np.concatenate([scaled(low, width), close]), (label,))


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
        words += [f"lights {lights}"] if lights else []
        words += [f"lamps {drawn.emitters.count}"] if drawn.emitters else []
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
    words += [f"pools of light {own.pools.count}"] if own.pools.count else []
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


def scaled(pixels: Pixels, width: int) -> Pixels:
    """Return a picture at another width, uint8 array (H, W, 3), by Lanczos' filter."""
    height = max(1, round(width * pixels.shape[0] / pixels.shape[1]))
    return np.asarray(Image.fromarray(pixels).resize((width, height), Image.Resampling.LANCZOS))


def _close_up(pixels: Pixels, height: int, width: int) -> Pixels:
    """Return the middle of a picture, never scaled, padded with paper where that is smaller."""
    top, left = max(0, (pixels.shape[0] - height) // 2), max(0, (pixels.shape[1] - width) // 2)
    part = pixels[top : top + height, left : left + width]
    padded = np.full((height, width, 3), _PAPER, np.uint8)
    padded[: part.shape[0], : part.shape[1]] = part
    return padded


_MOST = 40


def preview(
    photos: str | Path | Iterable[str | Path] = (),
    recipe: Recipe | str | Iterable[Recipe | str] = DEFAULT,
    *,
    overrides: Overrides = (),
    grid: tuple[str, str] | None = None,
    frames: int | None = None,
    seed: int = 0,
    width: int = WIDTH,
) -> Image.Image:
    """Make a contact sheet: each photograph, its low, the low brightened, and a close-up.

    Parameters
    ----------
    photos : str, Path, or several
        Photographs, or folders, whose first four are shown; by default some inside scikit-image.
    recipe : Recipe, str, or several
        Names, YAML files or loaded recipes, each with rows of its own.
    overrides : dict, str or iterable of str
        Single values of the recipes to change.
    grid : (str, str), optional
        Values to vary over rows and columns: "camera.iso=400,1600", "exposure.ev=4,6".
    frames : int, optional
        For folders of frames or video files: number of frames shown of each clip.
    seed : int
        Random seed. The key of each low is its file's name.
    width : int
        Width of each picture, pixels.

    Returns
    -------
    Pillow image, RGB

    Raises
    ------
    ConfigError
        When a recipe or an option is wrong.
    SourceError
        When a photograph cannot be read.

    Examples
    --------
    >>> import gloam
    >>> sheet = gloam.preview("photos", ["even", "uneven"], width=64)
    >>> sheet.mode
    'RGB'
    """
    seed, width = whole("seed", seed), whole("width", width, 1, 1 << 14)
    paths = list(map(as_path, [photos] if isinstance(photos, str | Path) else photos))
    chosen = [recipe] if isinstance(recipe, str | BaseModel) else list(recipe)
    changes = override_texts(overrides)
    loaded = [] if grid else [load_recipe(one, changes) for one in chosen]
    rows: list[list[Tile]] = []
    if frames is not None:
        if grid is not None:
            raise ConfigError("--frames and --grid exclude each other")
        for name, clip in _clips(paths, frames):
            rows += [strip_of(clip, one, seed, name, width) for one in loaded]
        return sheet(rows)
    downs, acrosses = ([], []) if grid is None else map(_axis, grid)
    refused: list[tuple[str, ImageRefused]] = []
    for name, data in read_photographs(paths):
        try:
            normal = load_normal(data).pixels
        except ImageRefused as refusal:
            refused.append((name, refusal))
            continue
        for own in loaded:
            drawn, part = draw(own, seed, name), component_of(own, seed, name)
            words = f"{own.name}: {part}" if part else own.name, *describe_draw(drawn, width)
            rows.append(tiles_of(normal, render(normal, drawn), words, name, width))
        for one, down in product(chosen, downs):
            tiles = []
            for across in acrosses:
                varied = load_recipe(one, [*changes, down, across])
                tiles.append(small_tile(normal, varied, f"{down}, {across}", seed, name, width))
            rows.append(tiles)
    say_refused(refused, len(rows))
    return sheet(rows)


def say_refused(refused: Sequence[tuple[str, ImageRefused]], used: int) -> None:
    """Warn of photographs that are passed over. Raises SourceError when none is used."""
    if not refused:
        return
    name, refusal = refused[0]
    more = f", and {len(refused) - 1:,} more" if len(refused) > 1 else ""
    if not used:
        raise SourceError(f"{name}: {refusal}{more}", path=name) from refusal
    warnings.warn(f"passed over: {name}: {refusal}{more}", GloamWarning, stacklevel=3)


def _clips(photos: Sequence[Path], frames: int) -> Iterator[tuple[str, list[Pixels]]]:
    """Yield the first clip of each sequence, of some."""
    if not photos:
        raise ConfigError("--frames: name folders of frames, or of video files")
    for photo in photos:
        first: dict[str, Location] = {}
        passed: Counter[str] = Counter()
        for listed in list_clips(str(photo), Windows(frames), passed):
            first.setdefault(sequence_of(listed.path), listed.location)
            if len(first) > 4:
                break
        warn_of_videos(photo, passed)
        for name, place in list(first.items())[:4]:
            try:
                yield name, [frame.pixels for frame in load_clip(place, cuts=True)]
            except ImageRefused as refusal:
                warnings.warn(f"{photo}: {name}: {refusal}", GloamWarning, stacklevel=3)


def _axis(text: str) -> list[str]:
    """Read `camera.iso=400,1600` as two overrides; commas inside brackets do not part."""
    key, equals, values = text.partition("=")
    parts = re.split(r",(?![^(]*\))", values)
    if not equals or not all(part.strip() for part in parts):
        raise ConfigError(
            f"--grid {text}: write it as KEY=VALUE,VALUE,..., for example camera.iso=400,1600"
        )
    return [f"{key}={part.strip()}" for part in parts]


def read_photographs(
    photos: Sequence[Path], each: int = 4, most: int = _MOST
) -> list[tuple[str, bytes]]:
    """Read photographs: of a folder the first `each`; where none are named, scikit-image's.

    Raises SourceError when one cannot be read, or a folder holds none; ConfigError when they are
    more than `most`.
    """
    if not photos:
        first = sorted(list_source("sample", ""), key=lambda item: SAMPLE_NAMES.index(item.path))
        return [(item.path, read(item.location)) for item in first[:each]]
    files: list[Path] = []
    for photo in photos:
        if photo.is_dir():
            found = images_below(photo)
            if not found:
                what = "; gloam report shows a set" if (photo / SET_FILE).is_file() else ""
                raise SourceError.at(photo, f"holds no photographs{what}")
            files += found[:each]
        else:
            files.append(photo)
    if len(files) > most:
        raise ConfigError(f"{len(files)} photographs are too many, {most} the most; name fewer")
    try:
        return [(path.name, read_regular(path, byte_limit())) for path in files]
    except OSError as error:
        raise SourceError(f"{error.filename}: {error.strerror}", path=error.filename) from error
