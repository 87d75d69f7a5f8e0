"""The example that trains by TensorFlow: losses fall."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gloam

EXAMPLE = Path(__file__).parents[2] / "examples" / "keras_enhancer.py"


@pytest.mark.skipif(not importlib.util.find_spec("tensorflow"), reason="tensorflow is missing")
def test_an_enhancer_learns_by_keras(photographs, tmp_path):
    gloam.build(
        tmp_path / "set", f"folder={photographs}", select=False, recipe="even", low_codec="none"
    )
    command = [sys.executable, EXAMPLE, tmp_path / "set", "--steps", "60", "--size", "48"]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    losses = [float(text) for text in re.findall(r"loss ([0-9.]+)", done.stdout)]
    assert len(losses) == 10
    assert losses[-1] < losses[0]
