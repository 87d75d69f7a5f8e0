"""Whole comparisons of folders, by the face and by the command."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import gloam
from gloam.cli.main import gloam as command
from gloam.errors import ConfigError, SourceError
from gloam.synth.measures.features import PATCH, Patch, patch_features, patch_places
from gloam.synth.measures.two_sample import Realism, Told

pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def pairs(photographs, tmp_path_factory) -> tuple[Path, Path]:
    """Lows of one seed, and their normals."""
    lows = tmp_path_factory.mktemp("realism") / "low"
    lows.mkdir()
    for path in photographs.iterdir():
        normal = np.asarray(Image.open(path))
        low = gloam.darken(normal, "even", seed=9, key=path.stem, overrides=["exposure.ev=3.5"])
        Image.fromarray(low).save(lows / f"{path.stem}.png")
    return lows, photographs


def run(*arguments: object):
    return CliRunner().invoke(command, [str(one) for one in arguments], catch_exceptions=False)


@pytest.mark.slow
def test_the_command_tells_lows_and_says_what_gives_them_away(pairs, tmp_path):
    figure = tmp_path / "figure.png"
    said = run(
        "realism", *pairs, "--recipe", "even", "--set", "exposure.ev=6", "--figure", figure,
        "--workers", 1,
    )  # fmt: skip
    assert said.exit_code == 0
    assert "24 real lows, 24 of even, 24 scenes" in said.output
    assert "control: lows of another seed" in said.output
    assert "too dark" in said.output
    with Image.open(figure) as image:
        assert image.width > 1000


def test_names_that_are_no_text_or_formulas_are_drawn():
    figure = pytest.importorskip("gloam.synth.measures.figure")
    name, told = "$a_^$\udcff\33", Told(0.5, 0.4, 0.6, ((4, 0.5),))
    patches = [Patch(name, real, np.zeros((PATCH, PATCH, 3), np.uint8)) for real in (True, False)]
    rows = [{"deviation_g_0": 1.0}] * 3
    drawn = figure.realism_figure(Realism(name, rows, rows, 4, {"noise": told}, {}, [], patches))
    assert drawn.startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_patches_of_pairs_are_of_the_same_places(pairs):
    lows, normals = pairs
    found = gloam.realism(lows, normals, recipe="even", overrides=["exposure.ev=6"], workers=1)
    real, made = ([one for one in found.patches if one.real is kind] for kind in (True, False))
    assert [one.key for one in real] == [one.key for one in made]
    assert len({one.key for one in real}) == 6
    recipe = gloam.load_recipe("even", ["exposure.ev=6"])
    for one, other in zip(real, made, strict=True):
        low = np.asarray(Image.open(lows / f"{one.key}.png"))
        normal = np.asarray(Image.open(next(normals.glob(f"{one.key}.*"))))
        again = gloam.darken(normal, recipe, key=one.key)
        places = [
            (top, left)
            for top, left in patch_places(*low.shape[:2])
            if np.array_equal(low[top : top + PATCH, left : left + PATCH], one.pixels)
        ]
        assert any(
            np.array_equal(again[top : top + PATCH, left : left + PATCH], other.pixels)
            for top, left in places
        )


@pytest.mark.slow
def test_lows_against_lows_without_normals(pairs, tmp_path):
    others = tmp_path / "others"
    shutil.copytree(pairs[0], others)
    found = json.loads(
        run("realism", pairs[0], "--against", others, "--json", "--workers", 1).stdout
    )
    # The same pictures are the same scenes: none is learned on and judged.
    assert found["scenes"] == 24
    assert found["told"]["noise"]["accuracy"] < 0.6
    assert found["tells"] == []
    assert "registration" not in found["told"]  # that is of pairs


@pytest.mark.slow
def test_damaged_images_are_left_out_and_named(pairs, tmp_path):
    lows, normals = (shutil.copytree(one, tmp_path / one.name) for one in pairs)
    first, second = sorted(lows.iterdir())[0], sorted(normals.iterdir())[1]
    first.write_bytes(b"")
    second.write_bytes(second.read_bytes()[:300])
    found = gloam.realism(lows, normals, recipe="even", workers=1)
    assert (len(found.real), len(found.other)) == (22, 23)  # a recipe needs the normal alone
    assert [str(path) for path in (first, second)] == [
        one.partition(":")[0] for one in found.damaged
    ]
    assert found.lines()[-1].startswith("images left out, 2: ")
    for path in lows.iterdir():
        path.write_bytes(b"")
    with pytest.raises(SourceError, match="has no bytes"):
        gloam.realism(lows, normals, recipe="even")


@pytest.mark.slow
def test_scenes_without_normals_go_by_names_where_these_mean_the_same(pairs, tmp_path):
    lows, photographs = pairs
    turned = tmp_path / "turned"  # looks like none of the others
    turned.mkdir()
    for path in lows.iterdir():
        Image.open(path).transpose(Image.Transpose.ROTATE_90).save(turned / path.name)
    assert gloam.realism(lows, against=turned, workers=1).scenes == 24
    assert gloam.realism(turned, recipe="even", photos=photographs, workers=1).scenes == 48


def test_what_is_missing_or_too_much_is_said(pairs, tmp_path):
    lows, normals = pairs
    with pytest.raises(ConfigError, match="give a recipe, or a folder"):
        gloam.realism(lows, normals)
    with pytest.raises(ConfigError, match="--photos"):
        gloam.realism(lows, recipe="even")
    with pytest.raises(ConfigError, match="leave out --photos, or --against"):
        gloam.realism(lows, against=lows, photos=normals)
    with pytest.raises(ConfigError, match="leave out --recipe and --set, or --against"):
        gloam.realism(lows, normals, recipe="even", against=lows, overrides=["camera.iso=800"])
    with pytest.raises(ConfigError, match="leave out one of the two"):
        gloam.realism(lows, normals, recipe="even", photos=normals)
    with pytest.raises(SourceError, match="not a folder"):
        gloam.realism(tmp_path / "nowhere", normals, recipe="even")
    few = tmp_path / "few"
    few.mkdir()
    for path in sorted(lows.iterdir())[:5]:
        shutil.copy(path, few)
    with pytest.raises(ConfigError, match="5 scenes"):
        gloam.realism(few, against=few)
    Image.new("RGB", (32, 32)).save(few / "tiny.png")
    with pytest.raises(SourceError, match=r"tiny\.png.*64 are the least"):
        gloam.realism(few, against=few)


def test_patches_lie_within_the_picture():
    for height, width in ((64, 64), (300, 400), (640, 100), (65, 640)):
        places = patch_places(height, width)
        assert 1 <= len(places) <= 12
        assert (places >= 0).all()
        assert (places <= [height - PATCH, width - PATCH]).all()
        low = np.zeros((height, width, 3), np.uint8)
        assert np.isfinite(patch_features(low, None)).all()


@pytest.mark.slow
def test_a_sensor_is_told_from_lol(real_pairs):
    found = gloam.realism(
        real_pairs / "lol/low", real_pairs / "lol/normal", recipe="upi", pairs=20, workers=1
    )
    assert 0.3 < found.control["noise and tone"].accuracy < 0.7
    assert found.told["noise and tone"].accuracy > found.control["noise and tone"].most


def test_swapped_folders_are_refused(pairs):
    lows, normals = pairs
    with pytest.raises(SourceError, match="24 of 24 images are brighter than their normals"):
        gloam.realism(normals, lows, recipe="gamma", workers=1)
