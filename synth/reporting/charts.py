"""Histograms as SVG, drawn by hand: no script, no request, and they print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from ..kernels.arrays import FloatArray

_WIDTH, _TALL = 320, 84
_ROW = 19  # of a reference, above the bars: its name, and below that its band
_LETTER = 6.3  # most that one is wide, on average
_BINS = 32


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
    kept = {name: _finite(values, logarithmic) for name, values in of.items()}
    every = np.concatenate([*kept.values(), np.empty(0)])
    if not len(every):
        return ""
    bands = {name: _band(values, logarithmic) for name, values in (references or {}).items()}
    low, high = _span(every, [edge for band in bands.values() for edge in band])
    base = max(2, len(bands)) * _ROW + 6 + _TALL
    top = base - _TALL - 4  # where the lines begin that the names would be struck through by
    parts = [
        _reference(name, [(edge - low) / (high - low) for edge in band], i, (top, base))
        for i, (name, band) in enumerate(bands.items())
    ]
    for i, values in enumerate(kept.values()):
        counts, _ = np.histogram(values, _BINS, (low, high))
        parts.append(_bars(counts / max(counts.max(), 1), i, base))
    words = "; ".join(
        f"{name}: {_shown(np.percentile(values, 5), logarithmic)} /"
        f" {_shown(np.median(values), logarithmic)} /"
        f" {_shown(np.percentile(values, 95), logarithmic)}"
        for name, values in kept.items()
        if len(values)
    )
    ends = (
        f'<text x="2" y="{base + 16}">{_shown(low, logarithmic)}</text>'
        f'<text x="{_WIDTH - 2}" y="{base + 16}" text-anchor="end">'
        f"{_shown(high, logarithmic)}</text>"
    )
    label = escape(f"{title}: percentiles 5, 50 and 95: {words}")
    return (
        f'<figure class="chart"><svg viewBox="0 0 {_WIDTH} {base + 20}" role="img"'
        f' aria-label="{label}">{"".join(parts)}'
        f'<line class="axis" x1="0" x2="{_WIDTH}" y1="{base}" y2="{base}"/>{ends}</svg>'
        f"<figcaption>{escape(title)}<br><small>{escape(words)}</small></figcaption></figure>"
    )


def _finite(values: Sequence[float], logarithmic: bool) -> FloatArray:
    found = np.asarray(values, np.float64)
    found = found[np.isfinite(found)]
    return np.log2(found[found > 0]) if logarithmic else found


def _band(values: Any, logarithmic: bool) -> list[float]:
    edges = [values] if isinstance(values, int | float) else list(values)
    return [float(np.log2(edge)) for edge in edges] if logarithmic else [float(e) for e in edges]


def _span(values: FloatArray, others: Sequence[float]) -> tuple[float, float]:
    """Return what is shown: all but the last percent at either end, and the references."""
    low, high = (float(end) for end in np.percentile(values, (1, 99)))
    low, high = min([low, *others]), max([high, *others])
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _bars(heights: FloatArray, number: int, base: int) -> str:
    width = _WIDTH / len(heights)
    rectangles = (
        f"M{i * width:.1f} {base}v{-_TALL * height:.1f}h{width - 1:.1f}V{base}z"
        for i, height in enumerate(heights)
        if height
    )
    return f'<path class="bars set{number}" d="{"".join(rectangles)}"/>'


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


def _shown(value: Any, logarithmic: bool) -> str:
    number = 2.0 ** float(value) if logarithmic else float(value)
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"
