"""Docs name commands, options and files that are there."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import click
import pytest

from gloam.cli.main import gloam as command

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def options(name: str) -> set[str]:
    """Those of a command, and of all below it."""
    found = command.get_command(click.Context(command), name)
    assert found is not None, name
    commands = (found, *(found.commands.values() if isinstance(found, click.Group) else ()))
    known = [(*what.opts, *what.secondary_opts) for one in commands for what in one.params]
    return {"--help", *(text for texts in known for text in texts)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_in_docs_have_their_options(page: Path) -> None:
    text = page.read_text("utf-8").replace("\\\n", " ")
    lines = re.findall(r"^ {4,}gloam ([a-z-]+) (?!the )(.*)", text, re.MULTILINE)
    lines += re.findall(r"`gloam\s+([a-z-]+)([^`]*)`", text)
    for name, rest in lines:
        given = re.findall(r"(?<![\w-])--[a-z][a-z-]*", re.sub(r"'[^']*'|#.*", "", rest))
        assert set(given) <= options(name), (name, rest)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_scripts_in_docs_lead_to_files(page: Path) -> None:
    text = page.read_text("utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    scripts = re.findall(r"(?<!\w)((?:examples|benchmarks)/\w+\.py)", text)
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing + [script for script in scripts if not (ROOT / script).is_file()]


def test_pages_of_reference_are_those_of_the_code() -> None:
    spec = importlib.util.spec_from_file_location("make_reference", ROOT / "docs/make_reference.py")
    assert spec is not None
    assert spec.loader is not None
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    for name, text in maker.pages().items():
        page = ROOT / "docs/reference" / name
        assert page.read_text("utf-8") == text, f"{name}: make docs writes it anew"
