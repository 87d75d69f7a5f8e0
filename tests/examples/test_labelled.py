"""The examples that train on labels: losses fall."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gloam

from ..labelled import class_source, voc_source

EXAMPLES = Path(__file__).parents[2] / "examples"
OPTIONS = {"labels": True, "select": False, "recipe": "even", "low_codec": "none"}


def losses(*command: str) -> list[float]:
    done = subprocess.run(
        [sys.executable, *command, "--device", "cpu"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return [float(text) for text in re.findall(r"loss ([0-9.]+)", done.stdout)]


@pytest.mark.slow
def test_a_classifier_learns_from_lows(tmp_path):
    source = class_source(tmp_path / "classes", 40)
    gloam.build(tmp_path / "set", f"classes={source}", val=10, **OPTIONS)
    found = losses(
        str(EXAMPLES / "classify.py"),
        str(tmp_path / "set"),
        *("--epochs", "3", "--batch-size", "10", "--size", "48"),
    )
    assert len(found) == 3
    assert found[-1] < 0.8 * found[0]


@pytest.mark.skipif(not importlib.util.find_spec("torchvision"), reason="torchvision is missing")
def test_a_detector_learns_from_lows(tmp_path):
    source = voc_source(tmp_path / "VOC", 24)
    gloam.build(tmp_path / "set", f"voc={source}", **OPTIONS)
    found = losses(
        str(EXAMPLES / "detect.py"), str(tmp_path / "set"), "--steps", "40", "--batch-size", "4"
    )
    assert found[-1] < found[0]
