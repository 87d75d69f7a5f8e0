"""The page of `gloam report`: one HTML file that loads nothing else and works without scripts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import resources
from typing import Any

from ...errors import visible
from .checks import Check
from .columns import ALL_LABELS, columns, statistic_rows
from .pair_statistics import LABELS, percentile_text, reference_statistics, summary
from .pictures import Shown, histogram
from .set_statistics import Measured, median_rows
from .two_sample import Realism

DRAWN = {
    "draw_exposure_ev": ("exposure, EV", False),
    "draw_camera_iso": ("ISO", True),
    "draw_isp_contrast": ("contrast", False),
    "draw_illumination_smooth_sigma_ev": ("smooth field, EV", False),
    "draw_illumination_lights_count": ("pools of light", False),
    "draw_illumination_scene_light_pools_count": ("pools of light that stop at edges", False),
    "draw_illumination_scene_light_grid_sigma_ev": ("light by place and lightness, EV", False),
    "draw_isp_chroma_strength": ("chroma noise reduction", False),
    "draw_curve_gamma": ("gamma", False),
    "draw_noise_deviation": ("deviation of noise", False),
    "draw_degradations_motion_length": ("motion blur, pixels, where there is", False),
    "draw_degradations_defocus_radius": ("defocus, pixels, where there is", False),
    "draw_degradations_banding_depth": ("depth of bands, where there are", False),
    "draw_degradations_fixed_pattern_columns": ("offsets of columns, electrons", False),
    "draw_degradations_jpeg_quality": ("JPEG quality, where there is", False),
}
"""Columns of drawn parameters that are shown: title, and whether on a logarithmic axis."""
References = dict[str, dict[str, Any]]
_CHARTS = (
    *("mean", "exposure_ev", "field_ev", "low_grid_ev", "noise_g", "correlation_rg"),
    *("autocorrelation", "zeros"),
)
_LOGARITHMIC = "noise_g"
_PASSED = ('<span class="failed">look</span>', '<span class="passed">passed</span>')


@dataclass(frozen=True)
class Subject:
    """Everything of one set.

    counts: dict of source to dict of split to pairs. refused: list of (reason, count, examples).
    drawn: dict of a column of `DRAWN` to values, of all pairs. names: dict of camera to pairs.
    """

    name: str
    about: str
    facts: list[tuple[str, str]]
    total: int  # pairs, of which some are measured
    measured: Measured
    checks: list[Check]
    shown: list[Shown]
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    refused: list[tuple[str, int, list[str]]] = field(default_factory=list)
    drawn: dict[str, Any] = field(default_factory=dict)
    cameras: dict[str, int] = field(default_factory=dict)
    recipe: str = ""  # YAML; "" where there is none


def page(
    subjects: Sequence[Subject],
    references: References | None = None,
    compared: Sequence[Realism] = (),
) -> str:
    """Return the page of one subject, or of two beside each other.

    references: dict of a name to statistics, what they are compared with: percentiles 5, 50 and 95,
    or medians. By default LOL and DICM. compared: how well lows of a subject are told from real
    ones.
    """
    references = reference_statistics() if references is None else references
    title = " and ".join(subject.name for subject in subjects)
    whose = [f" of {subject.name}" if len(subjects) > 1 else "" for subject in subjects]
    sections = [
        *(_head(subject, i, len(subjects) > 1) for i, subject in enumerate(subjects)),
        *map(_checks, subjects, whose),
        _statistics(subjects, references),
        *(_realism(one) for one in compared),
        _drawn(subjects),
        *map(_counts, subjects, whose),
        *map(_pairs, subjects, whose),
        *(_again(subject) for subject in subjects if subject.recipe),
    ]
    return document(title, "".join(sections), wipe=True)


def document(title: str, body: str, wipe: bool = False, broad: bool = False) -> str:
    """Return a whole page, with the script that wipes pairs or without any; broad: for pictures."""
    script = f"<script>\n{_file('wipe.js')}</script>\n" if wipe else ""
    broadly = ' class="broad"' if broad else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:;'
        " style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
        f"<title>{escape(title)}: gloam report</title>\n"
        f"<style>\n{_file('page.css')}</style>\n</head>\n<body{broadly}>\n<main>\n"
        f"{body}</main>\n{script}</body>\n</html>\n"
    )


def _file(name: str) -> str:
    return (resources.files(__package__) / name).read_text("utf-8")


def _head(subject: Subject, number: int, several: bool) -> str:
    key = f'<span class="key set{number}"></span> ' if several else ""
    rows = "".join(_row(name, texts=[value]) for name, value in subject.facts)
    level = "h1" if number == 0 else "h2"
    return (
        f"<header>\n<{level}>{key}{escape(subject.name)}</{level}>\n"
        f"<p>{escape(subject.about)}</p>\n"
        f'<div class="wide" tabindex="0"><table><tbody>{rows}</tbody></table></div>\n</header>\n'
    )


def _checks(subject: Subject, whose: str) -> str:
    rows = "".join(
        f"<tr><td>{_PASSED[check.passed]}</td><td>{escape(check.name)}</td>"
        f"<td>{escape(visible(check.found))}</td><td>{escape(check.bound)}</td></tr>"
        for check in subject.checks
    )
    return section(f"Checks{whose}", table(("", "what", "found", "bound"), rows))


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{content}</details>"


def _statistics(subjects: Sequence[Subject], references: References) -> str:
    every = [*(summary(subject.measured.rows) for subject in subjects), *references.values()]
    charts = "".join(
        histogram(
            LABELS[name],
            {s.name: columns(s.measured.rows, [name])[:, 0].tolist() for s in subjects},
            {
                reference: values[name]
                for reference, values in references.items()
                if values.get(name) is not None
            },
            name == _LOGARITHMIC,
        )
        for name in _CHARTS
        if any(name in one for one in every[: len(subjects)])
    )

    def percentiles(names: Iterable[str]) -> str:
        heads = ["statistic", *(subject.name for subject in subjects), *references]
        rows = statistic_rows(every, names, _cell, len(subjects))
        return table(heads, "".join(_row(*row) for row in rows), len(every))

    said = "; ".join(
        f"{len(subject.measured.rows):,} of {subject.total:,} pairs of {subject.name} measured"
        for subject in subjects
    )
    others = [name for name in ALL_LABELS if name not in LABELS]
    return section(
        "Darkness, light and noise",
        f"<p>{escape(said)}. Bands and lines: percentiles 5 to 95 and medians of"
        f' {escape(" and ".join(references))}.</p><div class="charts">{charts}</div>'
        + _folded("Percentiles 5 / 50 / 95", percentiles(LABELS))
        + _folded("The same of noise and tone, by level and channel", percentiles(others))
        + "".join(_components(subject) for subject in subjects),
    )


def _cell(values: Any) -> str:
    return percentile_text(values) or "-"


def _components(subject: Subject) -> str:
    """Return the medians of each component of a mixture."""
    parts = subject.measured.by_component()
    if not parts:
        return ""
    heads = ["statistic", *(f"{name} ({len(held):,})" for name, held in parts.items())]
    rows = "".join(_row(*row) for row in median_rows(parts, _cell))
    title = f"Medians of each component of the mixture, {subject.name}"
    return _folded(title, table(heads, rows, len(parts)))


def _realism(found: Realism) -> str:
    rows = "".join(
        _row(bank, [str(one), str(found.control.get(bank, "-"))])
        for bank, one in found.told.items()
    )
    given = "".join(f"<li>{escape(str(tell))}</li>" for tell in found.tells)
    return section(
        f"{found.name}, told from real lows",
        f"<p>{len(found.other):,} lows and {len(found.real):,} real ones. A classifier learns to"
        " tell them on two thirds of the scenes and tells those of the last third; 50% cannot be"
        " told apart, and two halves of the set are the control. In brackets the 95% interval."
        " Other scenes than the real ones are told by what they show, too: <code>gloam"
        " realism</code> compares lows of the same normals.</p>"
        + table(("told apart by", "lows", "control"), rows, 2)
        + (given and f"<p>What gives them away, and how many it tells alone:</p><ul>{given}</ul>"),
    )


def _drawn(subjects: Sequence[Subject]) -> str:
    charts = ""
    for column, (title, logarithmic) in DRAWN.items():
        of = {s.name: s.drawn[column] for s in subjects if len(s.drawn.get(column, ()))}
        if any(len(set(values.tolist())) > 1 for values in of.values()):
            charts += histogram(title, of, None, logarithmic)
    cameras = "; ".join(
        f"{one.name}: " + ", ".join(f"{name} {count:,}" for name, count in one.cameras.items())
        for one in subjects
        if one.cameras
    )
    if not charts and not cameras:
        return ""
    return section(
        "What was drawn",
        f"<p>Of all pairs.{escape(cameras and f' Cameras: {cameras}.')}</p>"
        f'<div class="charts">{charts}</div>',
    )


def _counts(subject: Subject, whose: str) -> str:
    if not subject.counts:
        return ""
    splits = sorted({split for counts in subject.counts.values() for split in counts})
    rows = "".join(
        _row(source, [f"{counts.get(split, 0):,}" for split in splits])
        for source, counts in subject.counts.items()
    )
    refused = "".join(
        _row(reason, [f"{count:,}"], [", ".join(examples)])
        for reason, count, examples in subject.refused
    )
    if refused:
        refused = table(("reason", "photographs", "such as"), refused)
        refused = f"<h3>Photographs that were refused</h3>{refused}"
    return section(
        f"Sources{whose}",
        table(("source", *splits), rows, len(splits))
        + (refused or "<p>No photograph was refused.</p>"),
    )


def _pairs(subject: Subject, whose: str) -> str:
    return section(
        f"Pairs{whose}",
        "<p>Typical ones, then the extreme ones of those measured. One row each: low and normal,"
        " the low brightened to middle grey, and its middle at 1:1.</p>"
        f'<div class="pairs">{"".join(map(_pair, subject.shown))}</div>',
    )


def _pair(shown: Shown) -> str:
    width, height = shown.size
    key = escape(visible(shown.key))
    sides = f'width="{width}" height="{height}"'
    low = f'<img class="over" src="{shown.low}" {sides} alt="low of {key}">'
    bright = f'<div><img src="{shown.bright}" {sides} alt="low of {key}, brightened"></div>'
    close = f'<div class="close"><img src="{shown.close}" alt="middle of it at 1:1"></div>'
    wiped = f"<div>{low}</div>"
    if shown.normal:
        normal = f'<img src="{shown.normal}" {sides} alt="normal of {key}">'
        wiped = (
            f'<div><div class="wipe"><div class="of">{normal}{_boxes(shown)}</div>{low}</div>'
            '<input type="range" min="0" max="100" value="50"'
            f' aria-label="wipe from normal to low, {key}"></div>'
        )
    strip = shown.strip and (
        f'<img class="strip" src="{shown.strip}" alt="frames of {key}: lows, brightened, over'
        ' normals">'
    )
    return (
        f'<figure class="pair"><div class="views" style="--shape: {width / height:.4f}">'
        f"{wiped}{bright}{close}{strip}</div>"
        f"<figcaption><strong>{escape(shown.why)}</strong>: {key}<br>"
        f"<small>{escape(shown.words)}</small></figcaption></figure>\n"
    )


def _boxes(shown: Shown) -> str:
    """Return labelled boxes over the normal."""
    if not shown.boxes:
        return ""
    drawn = "".join(
        f'<rect x="{left:.4f}" y="{top:.4f}" width="{width:.4f}" height="{height:.4f}"'
        ' vector-effect="non-scaling-stroke"/>'
        for left, top, width, height in shown.boxes
    )
    return (
        '<svg viewBox="0 0 1 1" preserveAspectRatio="none" role="img"'
        f' aria-label="{len(shown.boxes)} labelled boxes">{drawn}</svg>'
    )


def _again(subject: Subject) -> str:
    return section(
        f"To make {subject.name} again",
        "<p>Recipe and seed decide every low; the plan is in the set, and <code>gloam regenerate"
        "</code> makes its pairs with other lows.</p><details><summary>The recipe</summary>"
        f'<pre tabindex="0">{escape(subject.recipe)}</pre></details>',
    )


def section(title: str, content: str) -> str:
    """Return a section of a page; the content is HTML."""
    return f"<section>\n<h2>{escape(title)}</h2>\n{content}\n</section>\n"


def _row(head: str, numbers: Iterable[str] = (), texts: Iterable[str] = ()) -> str:
    """Return a row of a table: its head, cells of numbers, cells of text."""
    cells = [f'<td class="number">{escape(one)}</td>' for one in numbers]
    cells += [f"<td>{escape(one)}</td>" for one in texts]
    return f'<tr><th scope="row">{escape(head)}</th>{"".join(cells)}</tr>'


def table(heads: Iterable[str], rows: str, numbers: int = 0) -> str:
    """Return a table of rows of HTML, the last columns of numbers."""
    names = list(heads)
    kinds = [""] * (len(names) - numbers) + [' class="number"'] * numbers
    cells = "".join(
        f'<th scope="col"{kind}>{escape(name) or "<span class=soft>result</span>"}</th>'
        for kind, name in zip(kinds, names, strict=True)
    )
    return (
        f'<div class="wide" tabindex="0"><table><thead><tr>{cells}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )
