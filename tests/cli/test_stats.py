"""`gloam stats`, of sets and of folders."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from .running import error_line, run


@pytest.fixture(scope="module")
def on_sensor(photographs, tmp_path_factory) -> Path:
    """A set of 24 pairs whose noise is a sensor's, so that it has a photon transfer curve."""
    root = tmp_path_factory.mktemp("on_sensor") / "set"
    chosen = ["--set", "camera.iso=3200", "--val", 4, "--workers", 1]
    assert run("build", root, "--source", f"folder={photographs}", *chosen).exit_code == 0
    return root


def test_stats_shows_the_set_beside_real_ones(on_sensor):
    result = run("stats", on_sensor, "--pairs", 10, "--workers", 1)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0].startswith("10 pairs")
    assert all(word in result.output for word in ("LOL", "DICM", "exposure", "photon transfer"))


def test_stats_as_json(on_sensor):
    result = run("stats", on_sensor, "--json", "--workers", 1)
    table = json.loads(result.stdout)
    assert table["pairs"] == 24
    assert len(table["percentiles"]["exposure_ev"]) == 3
    assert table["photon_transfer"][0]["camera"] == "sony-a7s2"


@pytest.fixture(scope="module")
def copies(photographs, tmp_path_factory) -> Path:
    return shutil.copytree(photographs, tmp_path_factory.mktemp("copies") / "photographs")


def test_stats_shows_noise_and_tone_by_level_when_asked(photographs, copies):
    few = run("stats", copies, photographs, "--pairs", 4, "--workers", 1).output
    full = run("stats", copies, photographs, "--pairs", 4, "--full", "--workers", 1).output
    for words in ("deviation of noise, of 255, G, level", "tone G at 112 to 160 of the normal"):
        assert words in full
        assert words not in few


def test_stats_measures_folders(photographs, copies, tmp_path):
    result = run("stats", copies, photographs, "--workers", 1)
    assert result.exit_code == 0
    assert "0.000 / 0.000 / 0.000" in result.output
    assert "mean of the low" in run("stats", photographs, "--workers", 1).output
    assert "not a folder" in error_line("stats", tmp_path / "nowhere")
