"""The page of `gloam judge`: figures, and pictures of all methods side by side."""

from __future__ import annotations

from html import escape
from pathlib import Path

import cv2
import numpy as np

from ...synth.kernels.arrays import Pixels
from ...synth.measures.contact_sheet import brighten, brightening_gain
from ...synth.measures.page import document, section, table
from ...synth.measures.pictures import jpeg_address, scale_image, size_within
from .judge import read_image
from .results import CONVENTIONS, Board, Judged

_SIDE, _CLOSE = 480, 160  # pixels: the longer side of a picture, and a side of what is enlarged
_SEARCHED = 1000  # pixels: the longer side of what detail is looked for in
_LEAST = 17  # rem, of a column
_EACH = 3


def render_page(found: Judged | Board) -> str:
    """Return the page: one HTML file without scripts or links to other files."""
    figures = "".join(
        table((head, *columns), "".join(_figures_row(*one) for one in rows), len(columns))
        for head, columns, rows in found.tables()
    )
    means = "".join(f"<li>{escape(line)}</li>" for line in (*CONVENTIONS, *found.notes))
    sets = {"Pictures": found} if isinstance(found, Judged) else found.sets
    body = (
        f"<header>\n<h1>{escape(found.name)}</h1>\n<p>{escape(found.about)}</p>\n</header>\n"
        + section("Figures", figures)
        + section("What they mean", f"<ul>{means}</ul>")
        + "".join(_pictures_section(title, one) for title, one in sets.items())
    )
    return document(f"{found.name}, judged", body, broad=True)


def _figures_row(name: str, said: list[str]) -> str:
    cells = "".join(
        f'<td class="number">{value}<br><small>{bounds}</small></td>'
        for value, _, bounds in (cell.partition(" ") for cell in said)
    )
    return f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>'


def _choose(found: Judged, methods: list[str]) -> dict[int, str]:
    """Choose pictures by PSNR, with the reasons: the worst, each method's own, typical ones."""
    psnr = np.stack([found.values[method][:, 0] for method in methods])
    order = np.argsort(psnr.mean(axis=0), kind="stable").tolist()
    reasons = dict.fromkeys(order[:_EACH], "worst" if len(methods) == 1 else "worst on average")
    own = psnr.argmin(axis=1).tolist() if len(methods) > 1 else []
    for place in dict.fromkeys(own):
        of = ", ".join(name for name, one in zip(methods, own, strict=True) if one == place)
        reasons[place] = f"{reasons[place]}, and of {of}" if place in reasons else f"worst of {of}"
    middle = max(0, len(order) // 2 - _EACH // 2)
    typical = dict.fromkeys(order[middle : middle + _EACH], "typical")
    return reasons | {place: why for place, why in typical.items() if place not in reasons}


def _pictures_section(title: str, found: Judged) -> str:
    """Show pictures, one row each: the low, every method, the normal."""
    methods = found.outputs
    if not methods:
        return ""
    shown = ["low", *methods, "normal"]
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in shown)
    rows = "".join(
        _picture_rows(found, shown, place, why) for place, why in _choose(found, methods).items()
    )
    return section(
        title,
        "<p>The worst ones by PSNR, of all methods and of each, then those about the median. Below"
        " each its most detailed part, enlarged; the low's is brightened to middle grey.</p>"
        '<div class="wide" tabindex="0" role="region" aria-label="pictures">'
        f'<table class="pictures" style="min-width: {_LEAST * len(shown)}rem">'
        f"<thead><tr>{heads}</tr></thead>{rows}</table></div>",
    )


def _picture_rows(found: Judged, shown: list[str], place: int, why: str) -> str:
    """Return the rows of a picture: what it is, all of it, and its most detailed part."""
    own, key = found.files[place], escape(found.pictures[place])
    part = _most_detailed_part(_read_levels(own["normal"]))
    whole, close = [], []
    for name in shown:  # one after the other: they may be large
        image, said = _read_levels(own[name]), escape(name)
        near = np.ascontiguousarray(image[part])
        if name == "low":
            near = brighten(near, brightening_gain(image))
        small = scale_image(image, size_within(image, _SIDE))
        if name in found.values:
            psnr, ssim = found.values[name][place, :2]
            figures = f": PSNR {psnr:.2f} dB, SSIM {ssim:.3f}"
        else:
            figures = ""
        whole.append(
            f'<td><img src="{jpeg_address(small, 85)}" alt="{said} of {key}">'
            f"<small>{said}{figures}</small></td>"
        )
        close.append(f'<td><img src="{jpeg_address(near, 92)}" alt="part of it, {said}"></td>')
    return (
        f'<tbody><tr><th scope="rowgroup" colspan="{len(shown)}">'
        f"<span>{key}: <strong>{escape(why)}</strong></span></th></tr>"
        f'<tr>{"".join(whole)}</tr><tr class="close">{"".join(close)}</tr></tbody>\n'
    )


def _read_levels(path: Path) -> Pixels:
    return read_image(path).levels()


def _most_detailed_part(image: Pixels) -> tuple[slice, slice]:
    """Return the square of an image that holds the most detail, as a small copy of it shows."""
    size = size_within(image, _SEARCHED)
    share = max(image.shape[:2]) / max(size)
    grey = cv2.cvtColor(scale_image(image, size), cv2.COLOR_RGB2GRAY)
    sums = cv2.integral(np.abs(cv2.Laplacian(grey, cv2.CV_32F)))
    height, width = (max(1, min(round(_CLOSE / share), side)) for side in grey.shape)
    below, above = sums[height:], sums[:-height]
    held = below[:, width:] - below[:, :-width] - above[:, width:] + above[:, :-width]
    found = np.unravel_index(int(held.argmax()), held.shape)
    first = (
        max(0, min(round(int(at) * share), side - _CLOSE))
        for at, side in zip(found, image.shape[:2], strict=True)
    )
    top, left = first
    return slice(top, top + _CLOSE), slice(left, left + _CLOSE)
