"""The page of `gloam judge`: figures, and each output's worst and typical pictures."""

from __future__ import annotations

from html import escape
from pathlib import Path

import numpy as np

from ...synth.reporting.page import document, section, table
from ...synth.reporting.pictures import jpeg_address, scale_image
from .judge import read_image
from .results import CONVENTIONS, Floats, Judged

_WIDTH = 320
_EACH = 3


def render_page(found: Judged) -> str:
    """Return the page: one HTML file without scripts or links to other files."""
    figures = "".join(
        table(
            (head, *found.columns), "".join(_row(found, *one) for one in rows), len(found.columns)
        )
        for head, rows in (("method", found.rows()), ("difference", found.differences()))
        if rows
    )
    means = "".join(f"<li>{escape(line)}</li>" for line in (*CONVENTIONS, *found.notes))
    body = (
        f"<header>\n<h1>{escape(found.name)}</h1>\n<p>{escape(found.about)}</p>\n</header>\n"
        + section("Figures", figures)
        + section("What they mean", f"<ul>{means}</ul>")
        + "".join(_pictures(found, method) for method in list(found.values)[2:])
    )
    return document(f"{found.name}, judged", body)


def _row(found: Judged, name: str, mean: Floats, lower: Floats, upper: Floats) -> str:
    cells = "".join(
        f'<td class="number">{value}<br><small>{bounds}</small></td>'
        for value, _, bounds in (cell.partition(" ") for cell in found.cells(mean, lower, upper))
    )
    return f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>'


def _pictures(found: Judged, method: str) -> str:
    """Show the worst pictures of a method by PSNR, and those about its median."""
    order = np.argsort(found.values[method][:, 0], kind="stable").tolist()
    middle = max(0, len(order) // 2 - _EACH // 2)
    chosen = dict.fromkeys(order[middle : middle + _EACH], "typical")
    chosen |= dict.fromkeys(order[:_EACH], "worst")
    figures = "".join(
        _figure(found, method, place, why)
        for place, why in sorted(chosen.items(), key=lambda one: (one[1] != "worst", one[0]))
    )
    return section(
        f"Pictures of {method}",
        "<p>The worst ones by PSNR, then those about the median. Each: low, output, normal.</p>"
        f'<div class="pairs">{figures}</div>',
    )


def _figure(found: Judged, method: str, place: int, why: str) -> str:
    own, key = found.files[place], escape(found.pictures[place])
    views = "".join(
        f'<img src="{_address(own[name])}" alt="{escape(text)} of {key}">'
        for name, text in (("low", "low"), (method, f"output of {method}"), ("normal", "normal"))
    )
    psnr, ssim = found.values[method][place, :2]
    return (
        f'<figure class="pair"><div class="views three">{views}</div>'
        f"<figcaption><strong>{why}</strong>: {key}<br><small>PSNR {psnr:.2f} dB, SSIM"
        f" {ssim:.3f}</small></figcaption></figure>\n"
    )


def _address(path: Path) -> str:
    image = np.rint(read_image(path) * 255).astype(np.uint8)
    width = min(_WIDTH, image.shape[1])
    height = max(1, round(width * image.shape[0] / image.shape[1]))
    return jpeg_address(scale_image(image, (width, height)), 85)
