"""Pictures of a page: chosen pairs, and histograms as SVG, drawn by hand: they print."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from contextlib import suppress
from html import escape
from typing import Any, NamedTuple

import cv2
import numpy as np

from ...errors import SetError
from ...manifests.sets.pair_set import PairSet
from ...manifests.sets.sample import Sample
from ...manifests.sources.folders import evenly
from ..clips import frames_of, is_clip
from ..kernels.arrays import FloatArray, Pixels
from ..models import parse_draw
from ..renderers import pixels_of
from .columns import columns
from .contact_sheet import brighten, brightening_gain, describe_draw
from .pair_statistics import LABELS
from .set_statistics import Measured, MeasuredPair

EXTREMES = {
    **{"mean": "mean", "exposure_ev": "exposure EV", "field_ev": "field EV"},
    **{"noise_g": "noise G", "zeros": "zeros"},
}
"""Statistics whose extremes are shown, and what they are called beside pictures."""
_TYPICAL = 6
_STRIP = 8  # frames of a clip
_SIDE = 400  # the longer one
_CLOSE = 240, 340  # height, width
_WORDS = 1 << 16  # of a line: all of a draw on one
_WIDTH, _TALL = 320, 84
_ROW = 19  # of a reference, above the bars: its name, and below that its band
_LETTER = 6.3  # most that one is wide, on average
_BINS = 32


class Shown(NamedTuple):
    """A pair on a page.

    words: its draw, and its statistics.
    low, bright, normal, close: data addresses of JPEGs; normal is "" where there is none.
    size: (width, height) of them.
    boxes: labels' boxes, in shares of width and height: left, top, width, height.
    strip: of a clip: its frames, lows over normals; "" of a pair of images.
    """

    key: str
    why: str  # the reason for showing it
    words: str
    low: str
    bright: str
    normal: str
    close: str
    size: tuple[int, int]
    boxes: list[list[float]]
    strip: str = ""


def chosen(measured: Measured) -> dict[int, str]:
    """Choose typical pairs and the extremes of each statistic, with the reason for each."""
    reasons: dict[int, list[str]] = {}
    distance = np.zeros(len(measured.rows))
    for name in LABELS:
        values = columns(measured.rows, [name])[:, 0]
        finite = np.isfinite(values)
        if not finite.any():
            continue
        low, middle, high = np.percentile(values[finite], (25, 50, 75))
        if high > low:
            distance += np.where(finite, np.abs(values - middle) / (high - low), 3)
    for place in np.argsort(distance, kind="stable")[:_TYPICAL].tolist():
        reasons.setdefault(place, []).append("typical")
    for name in EXTREMES:
        values = columns(measured.rows, [name])[:, 0]
        if np.isfinite(values).any():
            what = LABELS[name].partition(",")[0].partition(":")[0]
            reasons.setdefault(int(np.nanargmin(values)), []).append(f"lowest: {what}")
            reasons.setdefault(int(np.nanargmax(values)), []).append(f"highest: {what}")
    return {place: ", ".join(why) for place, why in reasons.items()}


def pictures_of_set(pairs: PairSet, measured: Measured) -> list[Shown]:
    """Make the pictures of the chosen pairs of a set, of units up to where they are damaged."""
    wanted = chosen(measured)
    places = {measured.pairs[place].key: place for place in wanted}
    units = {measured.pairs[place].unit for place in wanted}
    found: dict[int, Shown] = {}
    for unit in pairs.units():
        with suppress(SetError):
            for pair in unit.pairs() if unit.name in units else ():
                place = places.get(pair.key)
                if place is not None:
                    found[place] = _shown_of_set(pair, measured.pairs[place], wanted[place])
    return [found[place] for place in wanted if place in found]


def _shown_of_set(pair: Sample, own: MeasuredPair, why: str) -> Shown:
    low, normal = pixels_of(pair)
    words = ", ".join(describe_draw(parse_draw(pair.record["draw"]), _WORDS))
    return _shown(own, why, low, normal, f"{words}; ")._replace(
        boxes=_boxes(pair.record, normal),
        strip=_strip(*frames_of(pair)) if is_clip(pair.record["members"]) else "",
    )


def pictures_of_files(measured: Measured) -> list[Shown]:
    """Make the pictures of the chosen pairs of folders, or of lows alone."""
    own = ((measured.pairs[place], why) for place, why in chosen(measured).items())
    return [_shown(one, why, *one.files.read()) for one, why in own if one.files]


def _shown(
    own: MeasuredPair, why: str, low: Pixels, normal: Pixels | None, words: str = ""
) -> Shown:
    size = size_within(low, _SIDE)
    bright = brighten(low)
    rows, across = (
        slice(max(0, (side - shown) // 2), max(0, (side - shown) // 2) + shown)
        for side, shown in zip(low.shape, _CLOSE, strict=False)
    )
    close = np.ascontiguousarray(bright[rows, across])
    return Shown(
        own.key,
        why,
        words + _numbers(own.row),
        jpeg_address(scale_image(low, size), 88),
        jpeg_address(scale_image(bright, size), 85),
        "" if normal is None else jpeg_address(scale_image(normal, size), 85),
        jpeg_address(close, 92),
        size,
        [],
    )


def _strip(lows: Sequence[Pixels], normals: Sequence[Pixels]) -> str:
    """Return some frames of a clip beside each other, lows brightened over normals."""
    places = evenly(len(lows), _STRIP)
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
    known = (name for name in EXTREMES if np.isfinite(row.get(name, np.nan)))
    return ", ".join(f"{EXTREMES[name]} {row[name]:.3g}" for name in known)


def _boxes(record: Mapping[str, Any], normal: Pixels) -> list[list[float]]:
    """Return a pair's labelled boxes, in shares of the picture."""
    height, width = normal.shape[:2]
    return [
        [left / width, top / height, (right - left) / width, (bottom - top) / height]
        for left, top, right, bottom in record.get("labels", {}).get("boxes", ())
    ]


def histogram(
    title: str,
    of: Mapping[str, Sequence[float]],
    references: Mapping[str, Any] | None = None,
    logarithmic: bool = False,
) -> str:
    """Return a figure of histograms over one another, of one or two sets.

    of: mapping of a set's name to values, those that are no numbers are left out.
    references: mapping of a name to percentiles 5, 50 and 95, or to a median, drawn as a band and a
      line, or as a line.
    logarithmic: bins of equal ratios.
    """
    kept = {name: _on_axis(values, logarithmic) for name, values in of.items()}
    every = np.concatenate([*kept.values(), np.empty(0)])
    if not len(every):
        return ""
    bands = {name: _on_axis(values, logarithmic) for name, values in (references or {}).items()}
    # All but the last percent at either end is shown, and the references.
    edges = np.concatenate([np.percentile(every, (1, 99)), *bands.values()])
    low, high = float(edges.min()), float(edges.max())
    low, high = (low, high) if high > low else (low - 0.5, high + 0.5)
    base = max(2, len(bands)) * _ROW + 6 + _TALL
    top = base - _TALL - 4  # where the lines begin that the names would be struck through by
    parts = [
        _reference(name, ((band - low) / (high - low)).tolist(), i, (top, base))
        for i, (name, band) in enumerate(bands.items())
    ]
    width = _WIDTH / _BINS
    for number, values in enumerate(kept.values()):
        counts, _ = np.histogram(values, _BINS, (low, high))
        bars = "".join(
            f"M{i * width:.1f} {base}v{-_TALL * height:.1f}h{width - 1:.1f}V{base}z"
            for i, height in enumerate(counts / max(counts.max(), 1))
            if height
        )
        parts.append(f'<path class="bars set{number}" d="{bars}"/>')

    def text(value: float) -> str:
        number = 2.0**value if logarithmic else value
        return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"

    words = "; ".join(
        f"{name}: {' / '.join(map(text, np.percentile(values, (5, 50, 95)).tolist()))}"
        for name, values in kept.items()
        if len(values)
    )
    label = escape(f"{title}: percentiles 5, 50 and 95: {words}")
    return (
        f'<figure class="chart"><svg viewBox="0 0 {_WIDTH} {base + 20}" role="img"'
        f' aria-label="{label}">{"".join(parts)}'
        f'<line class="axis" x1="0" x2="{_WIDTH}" y1="{base}" y2="{base}"/>'
        f'<text x="2" y="{base + 16}">{text(low)}</text>'
        f'<text x="{_WIDTH - 2}" y="{base + 16}" text-anchor="end">{text(high)}</text></svg>'
        f"<figcaption>{escape(title)}<br><small>{escape(words)}</small></figcaption></figure>"
    )


def _on_axis(values: Any, logarithmic: bool) -> FloatArray:
    """Return the numbers among some values, or one: their logarithms on such an axis."""
    found = np.atleast_1d(np.asarray(values, np.float64))
    found = found[np.isfinite(found)]
    return np.log2(found[found > 0]) if logarithmic else found


def _reference(name: str, shares: Sequence[float], number: int, line: tuple[int, int]) -> str:
    """Return a reference's row above the bars: its name, its band; and its median's line below."""
    at = [_WIDTH * share for share in shares]
    middle, top = at[len(at) // 2], _ROW * number
    most = int(_WIDTH / _LETTER)
    text = name if len(name) <= most else f"...{name[3 - most :]}"
    left = max(0.0, min(at[0], _WIDTH - _LETTER * len(text)))
    wide = max(at[-1] - at[0], 1.0)
    return (
        f'<rect class="band" x="{at[0]:.1f}" y="{top + 13}" width="{wide:.1f}" height="5"/>'
        f'<path class="median" d="M{middle:.1f} {top + 12}v6"/>'
        f'<path class="median dashed" d="M{middle:.1f} {line[0]}V{line[1]}"/>'
        f'<text class="name" x="{left:.1f}" y="{top + 10}">{escape(text)}</text>'
    )
