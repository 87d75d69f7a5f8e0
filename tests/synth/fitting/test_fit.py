"""Fits: lows of a known recipe are made again by the one that is found."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import gloam
from gloam.cli.main import gloam as command
from gloam.errors import SourceError
from gloam.synth.fitting.fit import fit
from gloam.synth.fitting.measure import even_keys
from gloam.synth.fitting.parameters import Parameters
from gloam.synth.fitting.search import distance
from gloam.synth.parameters.columns import KeyedColumns


def real_pairs(folder: Path, photographs: Path, recipe: str, overrides=()) -> tuple[Path, Path]:
    """Lows of a recipe that the fit is not told, and their normals."""
    lows, normals = folder / "lows", folder / "normals"
    lows.mkdir()
    normals.mkdir()
    for path in photographs.iterdir():
        normal = np.ascontiguousarray(cv2.imread(str(path))[..., ::-1])
        low = gloam.darken(normal, recipe, seed=5, key=path.stem, overrides=overrides)
        Image.fromarray(low).save(lows / f"{path.stem}.png")
        Image.fromarray(normal).save(normals / f"{path.stem}.png")
    return lows, normals


def test_lows_of_a_known_recipe_are_made_again(photographs, tmp_path):
    lows, normals = real_pairs(tmp_path, photographs, "even")
    found = fit(lows, normals, workers=2, evaluations=12)
    for name, apart in (("exposure_ev", 0.3), ("field_ev", 0.15), ("exponent", 0.3)):
        assert abs(found.found[name][2] - found.wanted[name][2]) < apart, name
    assert found.found["noise_g"][2] == pytest.approx(found.wanted["noise_g"][2], rel=0.25)
    start = fit(lows, normals, workers=2, evaluations=0, rounds=0)
    assert distance(found.wanted, found.found) < 0.6 * distance(start.wanted, start.found)
    again = fit(lows, normals, workers=1, evaluations=12)
    assert again.parameters == found.parameters


def test_what_is_written_is_a_recipe(photographs, tmp_path):
    lows, _ = real_pairs(tmp_path, photographs, "even")
    out = tmp_path / "mine.yaml"
    arguments = [str(lows), "--photos", str(photographs), "--out", str(out), "--tries", "0"]
    said = CliRunner().invoke(command, ["fit", *arguments])
    assert said.exit_code == 0, said.output
    recipe = gloam.load_recipe(str(out))
    assert recipe.name == "mine"
    assert "median of" in said.output
    assert "without normals exposure cannot be told" in said.output
    assert "24 images" in said.output  # few


@pytest.mark.parametrize(
    ("recipe", "overrides", "words"),
    [
        ("even", ["exposure.ev=0", "isp.contrast=1"], "hardly low-light"),
        ("even", [], "JPEG took the noise"),
    ],
)
def test_what_cannot_be_known_is_said(photographs, tmp_path, recipe, overrides, words):
    lows, normals = real_pairs(tmp_path, photographs, recipe, overrides)
    if not overrides:
        for path in lows.iterdir():
            Image.open(path).save(path.with_suffix(".jpg"), quality=12)
            path.unlink()
    found = fit(lows, normals, workers=2, evaluations=0, rounds=1)
    assert any(words in warning for warning in found.warnings), found.warnings


def test_wrong_folders_get_one_line(photographs, tmp_path):
    lows, normals = real_pairs(tmp_path, photographs, "even")
    with pytest.raises(SourceError, match="name a folder of ordinary photographs"):
        fit(lows)
    with pytest.raises(SourceError, match="name the lows first"):
        fit(normals, lows)
    next(normals.iterdir()).unlink()
    with pytest.raises(SourceError, match="1 images have no partner of equal name"):
        fit(lows, normals)
    with pytest.raises(SourceError, match="not a folder"):
        fit(tmp_path / "nothing", normals)


def test_few_keys_stand_for_many():
    keys = even_keys(64, seed=0)
    assert len(set(keys)) == 64
    for purpose in ("exposure.ev", "camera.iso", "isp.contrast"):
        drawn = np.sort(KeyedColumns(0, keys).uniform(purpose))
        assert np.abs(drawn - (np.arange(64) + 0.5) / 64).max() < 0.08


def test_parameters_stay_within_their_bounds():
    moved = Parameters().moved(ev=99, iso=99, chroma=-3, field=99, iso_spread=99, contrast=0)
    moved.recipe()
    assert moved.chroma == 0
