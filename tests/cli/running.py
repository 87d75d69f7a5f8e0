"""Commands run in this process, and what they say."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner
from PIL import Image

from gloam.cli.main import gloam


def run(*arguments: object):
    return CliRunner().invoke(
        gloam, [str(argument) for argument in arguments], catch_exceptions=False
    )


def error_line(*arguments: object, code: int = 1) -> str:
    result = run(*arguments)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    lines = [
        line for line in result.stderr.splitlines() if "gloam: compiling kernels" not in line
    ]  # at the first use
    assert len(lines) == 1, lines
    return lines[0]


def width_of(path: Path) -> int:
    with Image.open(path) as image:
        return image.size[0]
