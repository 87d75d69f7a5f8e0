"""Texts of others in Markdown, YAML and BibTeX: they are shown as they are, and do nothing."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

_MARKS = re.compile(r"([\\`*_\[\]|~#$])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_MARKUP = re.compile(r"[^\w\s.,:/+-]")
_BIBTEX = {
    **{mark: f"\\{mark}" for mark in "{}%#&$_"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
_TICKS = re.compile("`+")


def _line(value: object) -> str:
    """Return a text on one line, without characters that are not seen."""
    return " ".join("".join(c if c.isprintable() else " " for c in str(value)).split())


def plain(value: object) -> str:
    """Return a text as Markdown that shows it: no markup of its own, no HTML, no link."""
    text = "".join(_ENTITIES.get(c, c) for c in _line(value))
    return _MARKS.sub(r"\\\1", text)


def code(value: object) -> str:
    """Return a text as a code span of Markdown."""
    text = _line(value)
    if "`" not in text:
        return f"`{text}`"
    fence = "`" * (1 + max(map(len, _TICKS.findall(text))))
    return f"{fence} {text} {fence}"


def block(text: str, language: str) -> str:
    """Return lines as a code block of Markdown, whose fence is longer than any in them."""
    fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(text)), default=0))
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def bibtex(value: object) -> str:
    """Return a text as a value of BibTeX, between braces."""
    return "".join(_BIBTEX.get(c, c) for c in _line(value))


def front_matter(values: dict[str, Any]) -> str:
    """Return the YAML head of a README.

    Readers that know no such head show it as Markdown, so that texts with marks are escaped.
    """
    lines = []
    for name, value in values.items():
        if isinstance(value, str) and _MARKUP.search(value):
            quoted = json.dumps(value)
            text = "".join(c if c in '"\\' or not _MARKUP.match(c) else _escape(c) for c in quoted)
            lines.append(f"{name}: {text}\n")
        else:
            lines.append(yaml.safe_dump({name: value}, sort_keys=False, allow_unicode=True))
    return f"---\n{''.join(lines)}---\n"


def _escape(character: str) -> str:
    return f"\\u{ord(character):04x}"
