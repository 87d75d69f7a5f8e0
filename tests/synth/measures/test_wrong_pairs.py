"""Pairs that are none: swapped folders, other scenes, mirrored and moved normals."""

from __future__ import annotations

import shutil
import warnings
from itertools import chain
from pathlib import Path

import cv2
import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image
from skimage import data

import gloam
from gloam.cli.main import gloam as command
from gloam.errors import GloamWarning, SourceError
from gloam.manifests.images.decode import read_rgb
from gloam.synth.measures.wrong_pairs import (
    are_swapped,
    brighter_area,
    mismatch,
    mismatch_line,
    those_told,
)

SCENES = [
    np.ascontiguousarray(one)
    for whole in (data.astronaut(), data.coffee(), data.rocket())
    for one in (whole[:200, :260], whole[180:380, 200:460])
]


def dark(normal: np.ndarray, seed: int = 0, noise: float = 2.0) -> np.ndarray:
    """A low: an eighth as bright, darker to one side, with noise."""
    falling = np.linspace(0.05, 0.2, normal.shape[1])[None, :, None]
    grain = np.random.default_rng(seed).normal(0, noise, normal.shape)
    return np.rint(normal * falling + grain).clip(0, 255).astype(np.uint8)


def moved(normal: np.ndarray, low: np.ndarray, down: int, across: int) -> str:
    height, width = normal.shape[:2]
    return mismatch(
        np.ascontiguousarray(low[down:, across:]),
        np.ascontiguousarray(normal[: height - down, : width - across]),
    )


@pytest.mark.parametrize("number", range(len(SCENES)))
def test_what_does_not_match_is_named(number):
    normal = SCENES[number]
    low = dark(normal)
    assert mismatch(low, normal) == ""
    assert mismatch(dark(SCENES[number - 1]), normal) == "another scene"
    assert mismatch(low, np.ascontiguousarray(normal[:, ::-1])) == "mirrored"
    assert mismatch(low, np.ascontiguousarray(normal[::-1])) == "upside down"
    assert mismatch(low, np.ascontiguousarray(normal[::-1, ::-1])) == "turned by 180 degrees"
    assert moved(normal, low, 0, 3) == "moved by 3 pixels"
    assert moved(normal, low, 12, 0) == "moved by 12 pixels"
    assert moved(normal, low, 1, 1) == ""


def test_what_shows_nothing_is_not_named():
    normal = SCENES[0]
    black, white = (np.full_like(normal, level) for level in (0, 255))
    assert mismatch(black, normal) == mismatch(dark(black), normal) == ""
    assert mismatch(dark(normal), white) == ""
    assert mismatch(normal[:20, :20], normal[:20, :20]) == ""


def test_blurred_and_bordered_pairs_and_large_ones():
    normal = SCENES[0]
    assert mismatch(cv2.GaussianBlur(dark(normal), (0, 0), 4), normal) == ""
    boxed = [cv2.copyMakeBorder(one, 40, 40, 0, 0, 0) for one in SCENES[:2]]
    assert mismatch(dark(boxed[0]), boxed[1]) == "another scene"
    large = [cv2.resize(one, (1040, 800), interpolation=cv2.INTER_CUBIC) for one in SCENES[:2]]
    assert mismatch(dark(large[0]), large[0]) == ""
    assert mismatch(dark(large[0]), large[1])
    assert mismatch(dark(large[0]), np.ascontiguousarray(large[0][:, ::-1])) == "mirrored"


def test_lol_pairs_match_and_neighbours_do_not(real_pairs):
    names = sorted(path.name for path in (real_pairs / "lol/low").iterdir())[::4]
    sides = [
        [read_rgb(real_pairs / "lol" / side / name) for name in names] for side in ("low", "normal")
    ]
    assert not any(mismatch(*pair) for pair in zip(*sides, strict=True))
    mirrored = [np.ascontiguousarray(one[:, ::-1]) for one in sides[1]]
    assert all(mismatch(*pair) == "mirrored" for pair in zip(sides[0], mirrored, strict=True))
    others = zip(sides[0], sides[1][5:] + sides[1][:5], strict=True)
    assert sum(bool(mismatch(*pair)) for pair in others) >= len(names) - 1


def test_red_and_blue_that_are_exchanged_are_named_where_half_of_the_pairs_say_it(
    real_pairs, tmp_path
):
    names = sorted(path.name for path in (real_pairs / "lol/low").iterdir())[::6]
    for name in names:
        for side in ("low", "normal"):
            picture = read_rgb(real_pairs / "lol" / side / name)
            picture = picture[..., ::-1] if side == "low" else picture
            (tmp_path / side).mkdir(exist_ok=True)
            Image.fromarray(np.ascontiguousarray(picture)).save(tmp_path / side / name)
    sides = tmp_path / "low", tmp_path / "normal"
    said = "red and blue exchanged, as OpenCV has them"
    for words in (("stats", *sides), ("judge", "--low", sides[0], "--normal", sides[1], sides[1])):
        code, shown = run(*words, "--workers", 1)
        assert code == 0
        assert f"({said})" in shown
    with pytest.raises(SourceError, match=f"do not show the same: .*{said}"):
        gloam.fit(*sides, workers=1)
    few = {"a": said, "b": said, "c": "mirrored", "d": ""}
    assert those_told(few) == {"c": "mirrored"}
    assert list(those_told(few | {"e": said})) == ["a", "b", "c", "e"]


def test_half_of_the_lows_decide():
    assert are_swapped([(9, 1), (1, 9)])
    assert not are_swapped([(9, 1), (1, 9), (1, 9)])
    assert not are_swapped([(10, 9), (10, 9)])
    assert not are_swapped([])
    named = mismatch_line({str(i): "mirrored" for i in range(60)}, 80)
    assert named.startswith("60 of 80 pairs")
    assert named.endswith("and 10 more")


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> tuple[Path, Path]:
    root = tmp_path_factory.mktemp("pairs")
    sides = root / "low", root / "normal"
    for side in sides:
        side.mkdir()
    for i, normal in enumerate(SCENES):
        for side, image in zip(sides, (dark(normal, i), normal), strict=True):
            Image.fromarray(image).save(side / f"{i}.png")
    return sides


def run(*words: object) -> tuple[int, str]:
    said = CliRunner().invoke(command, [str(word) for word in words])
    return said.exit_code, said.output


def test_swapped_folders_end_in_one_line_unless_that_is_meant(folders, tmp_path):
    low, normal = folders
    out = tmp_path / "r.html"
    line = "6 of 6 images are brighter than their normals"
    swapped: list[tuple[object, ...]] = [
        ("stats", normal, low),
        ("report", normal, low, "--out", out),
        ("judge", "--low", normal, "--normal", low, "--no-perceptual"),
        ("fit", normal, low, "--out", tmp_path / "r.yaml"),
    ]
    for words in swapped:
        code, said = run(*words, "--workers", 1)
        assert (code, said.count("\n")) == (1, 1)
        assert f"{normal}: {line}" in said
        assert "--brighter-lows" in said
    for words in swapped[:3]:
        assert run(*words, "--workers", 1, "--brighter-lows")[0] == 0
    code, said = run("realism", normal, "--photos", low, "--recipe", "even")
    assert (code, said.count("\n")) == (1, 1)
    assert f"{normal}: 6 of 6 images are brighter than the photographs" in said
    with pytest.raises(SourceError, match=line):
        gloam.judge(low=normal, normal=low, perceptual=False)
    assert gloam.stats(normal, low, brighter_lows=True).means[0][0] > 50


@pytest.mark.slow
def test_wrong_pairs_are_named_and_left_out(folders, tmp_path):
    low, normal = folders
    wrong = tmp_path / "normal"
    shutil.copytree(normal, wrong)
    Image.fromarray(np.ascontiguousarray(SCENES[0][:, ::-1])).save(wrong / "0.png")
    Image.fromarray(SCENES[1]).save(wrong / "3.png")
    line = "2 of 6 pairs: low and normal do not show the same: 0 (mirrored), 3 (another scene)"
    assert line in run("stats", low, wrong, "--workers", 1)[1]
    assert gloam.stats(low, wrong).as_json()["mismatched"].keys() == {"0", "3"}
    assert "mismatched" not in gloam.stats(low, normal).as_json()
    assert line in run("report", low, wrong, "--out", tmp_path / "r.html")[1]
    assert line in (tmp_path / "r.html").read_text()
    assert line in run("judge", "--low", low, "--normal", wrong, "--no-perceptual")[1]
    found = gloam.fit(low, wrong)
    assert sum(found.settings) == 4
    assert f"{line}: left out" in found.notes
    for i in range(4):
        Image.fromarray(SCENES[i - 1]).save(wrong / f"{i}.png")
    with pytest.raises(SourceError, match="4 of 6 pairs: low and normal do not show the same"):
        gloam.fit(low, wrong)


def test_swapped_pairs_are_warned_of_when_they_are_listed_and_loaded(folders):
    low, normal = map(str, folders)
    options = {"batch_size": 2, "size": 64, "workers": 0, "device": "cpu"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pairs = gloam.pairs_in(low, normal)
        assert len(list(gloam.TorchLoader(pairs, **options))) == 3
    with pytest.warns(GloamWarning, match="brighter"):
        listed = gloam.pairs_in(normal, low)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it was said
        list(gloam.TorchLoader(listed, **options))
    swapped = [(two, one) for one, two in pairs]
    for given in (swapped, gloam.mix({"right": (pairs, 1), "wrong": (swapped, 1)})):
        loader = gloam.TorchLoader(given, **options)
        with pytest.warns(GloamWarning, match="brighter") as said:
            list(chain(loader, loader))
        assert len(said) == 1
        assert ("component wrong" in str(said[0].message)) == (given is not swapped)
    lists = list(zip(*pairs, strict=True))
    options |= {"unpaired": True}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(gloam.TorchLoader((lists[0], lists[1]), **options))
    with pytest.warns(GloamWarning, match="brighter"):
        list(gloam.TorchLoader((lists[1], lists[0]), **options))


def test_parts_of_lows_that_are_brighter_are_measured():
    normal = np.full((100, 100, 3), 100, np.uint8)
    low = normal // 4
    assert brighter_area(low, normal) == 0
    low[:40, :50] = 130
    assert brighter_area(low, normal) == pytest.approx(0.18, abs=0.02)
    normal[:60, :70] = 255  # what is clipped may shine
    assert brighter_area(low, normal) == 0
