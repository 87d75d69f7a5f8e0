"""README's commands and snippets run as they are printed, on sets of every model."""

from __future__ import annotations

import re
import shlex
import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner

import gloam
from gloam.cli.main import gloam as command

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
BLOCKS = [
    textwrap.dedent(block)
    for block in re.findall(r"(?:^ {4}.*\n|^\n(?= {4}))+", README, re.MULTILINE)
]
COMMANDS = [
    line
    for block in BLOCKS
    for line in block.replace("\\\n", " ").splitlines()
    if line.startswith("gloam ") and "SET" not in line and not line.startswith("gloam studio")
]
SNIPPETS = [
    part
    for block in BLOCKS
    for part in block.split("\n\n")
    if part.strip().startswith(("from ", "import "))
]


def test_there_is_something_to_run():
    assert len(COMMANDS) >= 9
    assert len(SNIPPETS) == 2


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["uneven", "gamma", "train"])
def test_commands_run_on_a_set_of_every_model(recipe, photographs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gloam.build("demo/set", f"folder={photographs}:8", val=2, recipe=recipe, select=False)
    for line in COMMANDS:
        words = shlex.split(line, comments=True)[1:]
        if words[0] == "preview" and recipe != "uneven":
            continue  # of a recipe of its own
        more = ["--source", f"folder={photographs}"] if words[0] == "rebuild" else []
        result = CliRunner().invoke(command, [*words, *more])
        assert result.exit_code == 0, (line, result.output, result.exception)
    for name in ("noisier", "split", "again"):
        assert not gloam.verify(Path("demo") / name)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("CUDA_VISIBLE_DEVICES", "")
        for snippet in SNIPPETS:
            exec(compile(snippet, "README.md", "exec"), {})
