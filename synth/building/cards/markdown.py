"""Texts of others in Markdown, YAML and BibTeX: they are shown as they are, and do nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

_MARKS = re.compile(r"([\\`*_\[\]|~#$])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_MARKUP = re.compile(r"[^\w .,:/+-]")
_OWN = ("configs", "size_categories", "tags", "task_categories")
"""Keys of a card's head whose values gloam alone writes."""
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


def escape_markdown(value: object) -> str:
    """Escape a text for Markdown: no markup, no HTML, no link."""
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
        if name not in _OWN and any(map(_MARKUP.search, _strings(value))):
            lines.append(f"{name}: {_flow(value)}\n")
        else:
            lines.append(yaml.safe_dump({name: value}, sort_keys=False, allow_unicode=True))
    return f"---\n{''.join(lines)}---\n"


def _strings(value: Any) -> Iterator[str]:
    """Yield the texts in nested values."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _strings(one)


def _flow(value: Any) -> str:
    """Return nested values as YAML on one line, with the marks of texts escaped."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_flow(key)}: {_flow(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    quoted = json.dumps(value)
    return "".join(f"\\u{ord(c):04x}" if c not in '"\\' and _MARKUP.match(c) else c for c in quoted)
