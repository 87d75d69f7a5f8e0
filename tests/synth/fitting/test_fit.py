"""Fits: lows of a known recipe are made again by the one that is found."""

from __future__ import annotations

import math
from pathlib import Path

import cv2
import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import gloam
from gloam.cli.main import gloam as command
from gloam.errors import SourceError
from gloam.synth.camera.sensors import sensor_at
from gloam.synth.fitting.fit import _image, fit
from gloam.synth.fitting.measure import LEVELS, even_keys, noise_at_levels, without_bright_levels
from gloam.synth.fitting.parameters import Parameters
from gloam.synth.fitting.search import by_least_squares, distance, residuals
from gloam.synth.fitting.untold import _blockiness
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
    found = fit(lows, normals, workers=2, tries=12)
    for name, apart in (("exposure_ev", 0.3), ("field_ev", 0.15), ("exponent", 0.3)):
        assert abs(found.found[name][2] - found.wanted[name][2]) < apart, name
    assert found.found["noise_g"][2] == pytest.approx(found.wanted["noise_g"][2], rel=0.25)
    start = fit(lows, normals, workers=2, tries=0, rounds=0)
    assert distance(found.wanted, found.found) < 0.6 * distance(start.wanted, start.found)
    again = fit(lows, normals, workers=1, tries=12)
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
        ("even", ["exposure.ev=0", "isp.contrast=1"], "hardly darker than their normals"),
        ("even", ["exposure.ev=1", "isp.contrast=0.9"], "hardly low-light"),
        ("even", [], "JPEG took the noise"),
    ],
)
def test_what_cannot_be_known_is_said(photographs, tmp_path, recipe, overrides, words):
    lows, normals = real_pairs(tmp_path, photographs, recipe, overrides)
    if not overrides:
        for path in lows.iterdir():
            Image.open(path).save(path.with_suffix(".jpg"), quality=12)
            path.unlink()
    found = fit(lows, normals, workers=2, tries=0, rounds=1)
    assert any(words in warning for warning in found.warnings), found.warnings


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("count", [1, 3])
def test_one_image_and_three_are_enough(photographs, tmp_path, count, paired):
    lows, normals = real_pairs(tmp_path, photographs, "even")
    for folder in (lows, normals) if paired else (lows,):
        for path in sorted(folder.iterdir())[count:]:
            path.unlink()
    found = fit(lows, *((normals,) if paired else (None, normals)), workers=2, tries=22)
    assert f"{count} images: the spread" in found.warnings[0]
    found.parameters.recipe()


@pytest.mark.parametrize("side", [648, 650, 660])
def test_blocks_of_jpeg_are_seen_in_the_middle_of_large_images(tmp_path, side):
    rng = np.random.default_rng(0)
    smooth = cv2.GaussianBlur(rng.normal(0, 1, (side, side, 3)), (0, 0), 6)
    dark = np.clip(30 + 400 * smooth + rng.normal(0, 3, smooth.shape), 0, 255).astype(np.uint8)
    Image.fromarray(dark).save(tmp_path / "a.jpg", quality=25)
    assert _blockiness(_image(tmp_path / "a.jpg")) > 1.5


def test_wrong_folders_get_one_line(photographs, tmp_path):
    lows, normals = real_pairs(tmp_path, photographs, "even")
    with pytest.raises(SourceError, match="name a folder of ordinary photographs"):
        fit(lows)
    with pytest.raises(SourceError, match="name the lows first"):
        fit(normals, lows)
    black = tmp_path / "black"
    black.mkdir()
    for path in normals.iterdir():
        cv2.imwrite(str(black / path.name), 0 * cv2.imread(str(path)))
    for more in ((normals,), (None, normals)):
        with pytest.raises(SourceError, match="one value each"):
            fit(black, *more)
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
    Parameters(ev=12, gain=8, ev_spread=0.1).recipe()  # beyond what an exposure may be


def test_a_camera_may_have_another_read_noise():
    one_iso = {"ev": 3.0, "iso": math.log2(6400), "iso_spread": 0.0, "ev_spread": 0.0}
    plain, noisy = (Parameters(read=read, **one_iso).recipe() for read in (0.0, 2.0))
    assert not plain.camera.own
    known, found = (
        sensor_at(str(one.camera.name.value), 6400, own=one.camera.own) for one in (plain, noisy)
    )
    assert (found.gain, found.row_sigma) == (known.gain, known.row_sigma)
    assert found.gaussian_sigma == pytest.approx(4 * known.gaussian_sigma, rel=1e-3)
    assert found.tukey_scale == pytest.approx(4 * known.tukey_scale, rel=1e-3)
    # It is in black that it is seen most.
    louder = []
    for level in (20, 250):
        grey = np.full((60, 80, 3), level, np.uint8)
        before, after = (
            gloam.darken(grey, one, seed=1, key="a").astype(float).std() for one in (plain, noisy)
        )
        louder.append(after / before)
    assert louder[0] > 1.2 * louder[1]


def test_all_parameters_are_found_together():
    """Of statistics that two parameters move, each."""

    def measure(one):
        mean = np.full(5, 0.3 - 0.02 * one.ev + 0.03 * one.contrast)
        spread = one.ev_spread * np.array([-1.6, -0.7, 0, 0.7, 1.6])
        return {
            "mean": mean,
            "exposure_ev": one.ev + 0.5 * one.contrast + spread,
            "exponent": np.full(5, one.contrast),
        }

    hidden = Parameters(ev=5.2, ev_spread=0.6, contrast=1.4)
    target, names = measure(hidden), ["ev", "ev_spread", "contrast"]
    found, table = by_least_squares(target, Parameters(), (measure, measure), names, 30)
    assert distance(target, table) < 0.1
    for name in names:
        assert abs(found.values()[name] - hidden.values()[name]) < 0.03, name
    assert found.iso == Parameters().iso
    assert np.abs(residuals(target, {})).min() > 1  # what nobody has is far away


def test_noise_at_a_level_is_that_of_the_camera(photographs):
    """Not of the scene: two halves of the photographs have it alike, and more of it at more ISO."""
    images = [cv2.imread(str(path))[..., ::-1].copy() for path in sorted(photographs.iterdir())]

    def noise(iso, chosen):
        lows = [
            gloam.darken(image, "even", seed=3, key=str(i), overrides=[f"camera.iso={iso}"])
            for i, image in enumerate(chosen)
        ]
        rows = [noise_at_levels(low) for low in lows]
        return np.nanmedian([[row["level_g_6"], row["level_g_12"]] for row in rows], axis=0)

    few, many = noise(1000, images), noise(16000, images)
    assert (many > 2 * few).all()
    first, second = noise(4000, images[::2]), noise(4000, images[1::2])
    np.testing.assert_allclose(first, second, rtol=0.25)


def test_levels_that_show_textures_are_left_out():
    table = {f"level_g_{level}": np.ones(5) for level in LEVELS[:-1]}
    dark = without_bright_levels(table | {"mean": np.full(5, 0.05)})
    bright = without_bright_levels(table | {"mean": np.full(5, 0.25)})
    assert sorted(dark) == ["level_g_12", "level_g_3", "level_g_6", "mean"]
    assert set(bright) - set(dark) == {"level_g_24"}


def test_a_part_of_a_set_may_have_lights(photographs, tmp_path):
    recipe = "even:0.5,uneven:0.5"
    lows, normals = real_pairs(tmp_path, photographs, recipe)
    found = fit(lows, normals, workers=2, tries=0, rounds=2)
    assert found.parameters.lit
    assert 0.2 < found.parameters.share < 0.7
    assert set(found.parameters.recipe().mixture) == {"lit", "others"}
    (tmp_path / "mine.yaml").write_text(found.yaml("mine"))
    read = gloam.load_recipe(str(tmp_path / "mine.yaml"))
    assert read.mixture == found.parameters.recipe("mine").mixture


def test_lights_are_those_of_the_parameters():
    lit = Parameters(lit=True, lamps=4.0, warmth=2.0, scene=0.3).recipe()
    assert lit.illumination.lamps.ev.low == 2.5
    assert lit.illumination.lights.warmth_ev.high == 2.0
    assert lit.illumination.scene.strength.high == 0.3
    plain = Parameters(lamps=4.0).recipe()
    assert plain.illumination.lamps.count.value == 0
