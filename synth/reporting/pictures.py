"""Choose pairs for a page, and make their pictures."""

from __future__ import annotations

import base64
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np

from ...errors import SetError
from ...manifests.images.decode import read_rgb
from ...manifests.sets.pair_set import PairSet, Unit
from ...manifests.sets.sample import Sample
from ...manifests.sources.folders import image_files
from ..analysis.contact_sheet import brighten, brightening_gain, describe_draw
from ..analysis.pair_statistics import LABELS
from ..analysis.set_statistics import Measured
from ..clips import frames_of, is_clip
from ..kernels.arrays import Pixels
from ..models import parse_draw
from ..renderers import pixels_of

EXTREMES = ("mean", "exposure_ev", "field_ev", "noise_g", "zeros")
_TYPICAL = 6
_STRIP = 8  # frames of a clip
_SIDE = 400  # the longer one
_CLOSE = 240, 340  # height, width
_WORDS = 1 << 16  # of a line: all of a draw on one


class Shown(NamedTuple):
    """A pair on a page.

    boxes: labels' boxes, in shares of width and height: left, top, width, height.
    """

    key: str
    why: str  # the reason for showing it
    words: str  # its draw, and its statistics
    low: str  # data addresses of JPEGs; "" where there is no normal
    bright: str  # data addresses of JPEGs; "" where there is no normal
    normal: str  # data addresses of JPEGs; "" where there is no normal
    close: str  # data addresses of JPEGs; "" where there is no normal
    size: tuple[int, int]  # (width, height) of them
    boxes: list[list[float]]
    strip: str = ""  # of a clip: its frames, lows over normals; "" of a pair of images


def chosen(measured: Measured) -> dict[int, str]:
    """Choose typical pairs and the extremes of each statistic, with the reason for each."""
    reasons: dict[int, list[str]] = {}
    distance = np.zeros(len(measured.rows))
    for name in LABELS:
        values = np.array([row.get(name, np.nan) for row in measured.rows])
        finite = np.isfinite(values)
        if not finite.any():
            continue
        low, middle, high = np.percentile(values[finite], (25, 50, 75))
        if high > low:
            distance += np.where(finite, np.abs(values - middle) / (high - low), 3)
    for place in np.argsort(distance, kind="stable")[:_TYPICAL].tolist():
        reasons.setdefault(place, []).append("typical")
    for name in EXTREMES:
        values = np.array([row.get(name, np.nan) for row in measured.rows])
        if np.isfinite(values).any():
            what = LABELS[name].partition(",")[0].partition(":")[0]
            reasons.setdefault(int(np.nanargmin(values)), []).append(f"lowest: {what}")
            reasons.setdefault(int(np.nanargmax(values)), []).append(f"highest: {what}")
    return {place: ", ".join(why) for place, why in reasons.items()}


def pictures_of_set(pairs: PairSet, measured: Measured) -> list[Shown]:
    """Make the pictures of the chosen pairs of a set."""
    wanted = {measured.keys[place]: (place, why) for place, why in chosen(measured).items()}
    units = {measured.units[place] for place, _ in wanted.values()}
    found: dict[int, Shown] = {}
    for unit in pairs.units():
        if unit.name not in units:
            continue
        for pair in _measured(unit, wanted):
            place, why = wanted[pair.key]
            low, normal = pixels_of(pair)
            drawn = parse_draw(pair.record["draw"])
            strip = _strip(*frames_of(pair)) if is_clip(pair.record["members"]) else ""
            words = ", ".join(describe_draw(drawn, _WORDS))
            boxes = _boxes(pair.record, normal)
            row = measured.rows[place]
            shown = _shown(pair.key, why, [words, _numbers(row)], (low, normal), boxes)
            found[place] = shown._replace(strip=strip)
    return [found[place] for place in chosen(measured) if place in found]


def _measured(unit: Unit, wanted: Container[str]) -> Iterator[Sample]:
    """Yield the wanted pairs of a unit, which were measured, up to where it is damaged."""
    with suppress(SetError):
        yield from (pair for pair in unit.pairs() if pair.key in wanted)


def pictures_of_folders(lows: Path, normals: Path | None, measured: Measured) -> list[Shown]:
    """Make the pictures of the chosen pairs of two folders, or lows of one."""
    files = image_files(lows)
    partners = {} if normals is None else image_files(normals)
    made = []
    for place, why in chosen(measured).items():
        key = measured.keys[place]
        low = read_rgb(files[key])
        normal = read_rgb(partners[key]) if key in partners else None
        made.append(_shown(key, why, [_numbers(measured.rows[place])], (low, normal), []))
    return made


def _shown(
    key: str,
    why: str,
    words: Sequence[str],
    pair: tuple[Pixels, Pixels | None],
    boxes: list[list[float]],
) -> Shown:
    low, normal = pair
    size = size_within(low, _SIDE)
    bright = brighten(low)
    rows, columns = (
        slice(max(0, (side - shown) // 2), max(0, (side - shown) // 2) + shown)
        for side, shown in zip(low.shape, _CLOSE, strict=False)
    )
    close = np.ascontiguousarray(bright[rows, columns])
    return Shown(
        key,
        why,
        "; ".join(words),
        jpeg_address(scale_image(low, size), 88),
        jpeg_address(scale_image(bright, size), 85),
        "" if normal is None else jpeg_address(scale_image(normal, size), 85),
        jpeg_address(close, 92),
        size,
        boxes,
    )


def _strip(lows: Sequence[Pixels], normals: Sequence[Pixels]) -> str:
    """Return some frames of a clip beside each other, lows brightened over normals."""
    places = np.unique(np.linspace(0, len(lows) - 1, min(_STRIP, len(lows))).astype(int))
    width = 2 * _SIDE // len(places)
    height = max(1, round(width * lows[0].shape[0] / lows[0].shape[1]))
    gain = brightening_gain(lows[0])
    rows = [
        np.hstack([scale_image(frame, (width, height)) for frame in frames])
        for frames in (
            [brighten(lows[place], gain) for place in places],
            [normals[place] for place in places],
        )
    ]
    return jpeg_address(np.ascontiguousarray(np.vstack(rows)), 85)


def size_within(image: Pixels, side: int) -> tuple[int, int]:
    """Return (width, height) of an image that is made smaller if its longer side is beyond that."""
    height, width = image.shape[:2]
    share = min(1.0, side / max(height, width))
    return max(1, round(width * share)), max(1, round(height * share))


def scale_image(image: Pixels, size: tuple[int, int]) -> Pixels:
    """Return an image at another size (width, height), by means over areas."""
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)


def jpeg_address(image: Pixels, quality: int) -> str:
    """Return the data address of an image as JPEG."""
    options = [cv2.IMWRITE_JPEG_QUALITY, quality]
    made, data = cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), options)
    assert made, "OpenCV writes JPEG"
    return "data:image/jpeg;base64," + base64.b64encode(data.tobytes()).decode()


def _numbers(row: Mapping[str, float]) -> str:
    names = {"mean": "mean", "exposure_ev": "exposure EV", "field_ev": "field EV"}
    names |= {"noise_g": "noise G", "zeros": "zeros"}
    return ", ".join(
        f"{text} {row[name]:.3g}"
        for name, text in names.items()
        if np.isfinite(row.get(name, np.nan))
    )


def _boxes(record: Mapping[str, Any], normal: Pixels) -> list[list[float]]:
    """Return a pair's labelled boxes, in shares of the picture."""
    height, width = normal.shape[:2]
    return [
        [left / width, top / height, (right - left) / width, (bottom - top) / height]
        for left, top, right, bottom in record.get("labels", {}).get("boxes", ())
    ]
