"""Brackets of scikit-image's photographs, exposed, moved by parts of pixels, and tampered with."""

from __future__ import annotations

import csv
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image
from skimage import data

import gloam
from gloam.errors import SetError, SourceError
from gloam.progress import Silent
from gloam.synth.brackets.alignment import align
from gloam.synth.brackets.frames import Frame, group_frames, read_frames
from gloam.synth.brackets.motion import find_moved
from gloam.synth.kernels.curves import LEVEL_LIGHT, linear_to_srgb

STOPS = (-4.0, -2.5, -1.0, 0.5, 2.0)


def scene(name: str) -> np.ndarray:
    """Linear light of a photograph, 300 x 300."""
    picture = cv2.resize(getattr(data, name)()[..., :3], (330, 330), interpolation=cv2.INTER_AREA)
    return LEVEL_LIGHT[picture]


def expose(light: np.ndarray, ev: float, move: tuple[float, float], seed: int) -> np.ndarray:
    """A frame, 300 x 300, of a camera that was moved by (down, across), with noise."""
    matrix = np.array([[1, 0, 15 + move[1]], [0, 1, 15 + move[0]]], np.float64)
    flags = cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP
    part = cv2.warpAffine(light.astype(np.float32), matrix, (300, 300), flags=flags)
    levels = 255 * linear_to_srgb(np.clip(part * 2**ev, 0, 1).astype(np.float64))
    noise = np.random.default_rng(seed).normal(0, 0.7, levels.shape)
    return np.rint(np.clip(levels + noise, 0, 255)).astype(np.uint8)


def bracket(name: str, seed: int = 0) -> tuple[list[np.ndarray], np.ndarray]:
    moves = np.random.default_rng(seed).uniform(-5, 5, (len(STOPS), 2))
    light = scene(name)
    frames = [
        expose(light, ev, tuple(move), seed + i)
        for i, (ev, move) in enumerate(zip(STOPS, moves, strict=True))
    ]
    return frames, moves


def write(folder: Path, frames: dict[str, np.ndarray], times: dict[str, int] | None = None) -> Path:
    folder.mkdir(exist_ok=True)
    for name, pixels in frames.items():
        more = {}
        if times is not None:
            exif = Image.Exif()
            tags = exif.get_ifd(0x8769)
            second = times[name]
            tags[0x9003] = f"2020:01:01 10:{second // 60:02}:{second % 60:02}"
            tags[0x829A] = 0.001 * 4 ** (second % 10)
            more["exif"] = exif.tobytes()
        Image.fromarray(pixels).save(folder / name, quality=95, **more)
    return folder


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two brackets, their frames mixed and named by nothing; one frame has an object in it."""
    named = {}
    for number, name in enumerate(("coffee", "astronaut")):
        frames, _ = bracket(name, seed=number)
        named |= {f"{(7 * i + 3 * number) % 10}{number}.png": own for i, own in enumerate(frames)}
    moved = named["71.png"] = named["71.png"].copy()
    moved[60:120, 80:160] = (250, 40, 90)
    named["alone.png"] = data.chelsea()[:300, :300]
    return write(tmp_path_factory.mktemp("brackets") / "in", named)


def test_pairs_are_made_and_every_frame_is_told_of(two, tmp_path):
    found = gloam.brackets(two, tmp_path / "out", workers=1)
    assert len(found.pairs) == 2
    uses = {one.file: one for one in found.uses}
    assert len(uses) == 11
    assert uses["71.png"].note == "something moved in it"
    assert uses["alone.png"].note == "is like no other frame"
    assert sum(one.role == "left out" for one in found.uses) == 2
    rows = list(csv.DictReader((tmp_path / "out/brackets.csv").read_text().splitlines()))
    assert [row["file"] for row in rows] == sorted(uses)
    for name in found.pairs:
        low, normal = (
            np.asarray(Image.open(tmp_path / "out" / side / f"{name}.png")).astype(float)
            for side in ("low", "normal")
        )
        assert low.shape == normal.shape
        assert low.mean() < 60
        assert 80 < normal.mean() < 190


def test_a_low_keeps_its_pixels(two, tmp_path):
    found = gloam.brackets(two, tmp_path / "out", workers=1)
    lows = [one for one in found.uses if one.role.startswith("low")]
    assert len(lows) == 2
    for use in lows:
        whole = np.asarray(Image.open(two / use.file))
        low = np.asarray(Image.open(tmp_path / "out/low" / f"{use.bracket}.png"))
        height, width = low.shape[:2]
        places = [
            (y, x)
            for y in range(whole.shape[0] - height + 1)
            for x in range(whole.shape[1] - width + 1)
            if np.array_equal(whole[y : y + height, x : x + width], low)
        ]
        assert places


@pytest.mark.slow
def test_two_runs_give_the_same_bytes(two, tmp_path):
    for name in ("a", "b"):
        gloam.brackets(two, tmp_path / name, workers=1)
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*.*"))
    assert len(files) == 5
    for file in files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


@pytest.mark.parametrize("name", ["coffee", "chelsea", "rocket"])
def test_frames_are_aligned_to_parts_of_a_pixel(name):
    frames, moves = bracket(name, seed=5)
    places = align([cv2.cvtColor(own, cv2.COLOR_RGB2GRAY) for own in frames])
    errors = places + moves - (places + moves)[2]
    np.testing.assert_allclose(errors, 0, atol=0.2)


def test_no_frame_lies_nowhere():
    """As of a bracket none of whose frames can be read any more."""
    assert align([]).shape == (0, 2)


def test_frames_that_show_other_parts_of_a_scene_are_aligned_by_outlines():
    light = 0.6 * scene("coffee")
    light[90:240, 110:250] = 200 * scene("astronaut")[90:240, 110:250]
    moves = [(-3.2, 4.6), (1.7, -2.4), (5.1, 0.8), (-4.4, -1.3)]
    stops = (-9.0, -8.0, 0.0, 1.0)
    frames = [expose(light, stops[i], moves[i], i) for i in range(4)]
    both = [np.mean((own > 6) & (own < 247)) for own in frames]
    assert np.mean((frames[1] > 8) & (frames[2] < 247)) < 0.03 < min(both)
    errors = align([cv2.cvtColor(own, cv2.COLOR_RGB2GRAY) for own in frames]) + moves
    np.testing.assert_allclose(errors - errors[2], 0, atol=0.5)  # nothing but an outline


@pytest.mark.slow
def test_moved_objects_are_found_in_their_frames_alone():
    frames = [expose(scene("coffee"), ev, (0, 0), i) for i, ev in enumerate(STOPS)]
    assert find_moved(frames) == []
    for number in range(len(frames)):
        changed = [own.copy() for own in frames]
        changed[number][30:80, 200:260] = changed[number][150:200, 20:80]
        assert find_moved(changed) == [number]
    two = [own.copy() for own in frames]
    two[1][30:50, 200:220], two[3][200:260, 40:90] = 250, (250, 40, 90)
    assert sorted(find_moved(two)) == [1, 3]


@pytest.mark.parametrize("number", [2, 4])
def test_objects_of_a_thirtieth_of_the_width_are_found(number):
    frames = [expose(scene("coffee"), ev, (0, 0), i) for i, ev in enumerate(STOPS)]
    frames[number] = frames[number].copy()
    frames[number][100:110, 60:70] = frames[number][150:160, 200:210]
    assert find_moved(frames) == [number]


def test_brackets_of_one_scene_are_told_apart_by_time_and_exposure(tmp_path):
    frames, times = {}, {}
    for number in range(2):
        for i, own in enumerate(bracket("coffee", seed=number)[0]):
            frames[f"{number}{i}.jpg"] = own
            times[f"{number}{i}.jpg"] = 20 * number + i
    folder = write(tmp_path / "in", frames, times)
    looked = read_frames([str(folder / name) for name in frames], 1, Silent())
    grouping = group_frames([one for one in looked if isinstance(one, Frame)])
    groups = [sorted(Path(one.path).name[0] for one in own) for own in grouping.brackets]
    assert groups == [["0"] * 5, ["1"] * 5]


def test_a_frame_of_another_hour_does_not_part_a_bracket(tmp_path):
    frames = {f"{i}.jpg": own for i, own in enumerate(bracket("coffee")[0])}
    frames["9.jpg"] = frames["3.jpg"]
    times = {f"{i}.jpg": 100 + i for i in range(5)} | {"9.jpg": 53}
    folder = write(tmp_path / "in", frames, times)
    looked = read_frames([str(folder / name) for name in frames], 1, Silent())
    grouping = group_frames([one for one in looked if isinstance(one, Frame)])
    assert [len(own) for own in grouping.brackets] == [5]
    assert [(Path(path).name, why) for path, why in grouping.left_out] == [
        ("9.jpg", "is like no other frame")
    ]


def test_best_takes_a_frame_and_lows_may_be_several(two, tmp_path):
    found = gloam.brackets(two, tmp_path / "out", normal="best", lows=2, workers=1)
    assert len(found.pairs) == 4
    assert {one.role for one in found.uses} >= {"low", "normal", "left out"}


def test_folders_without_brackets_end_in_a_line(tmp_path):
    unlike = {f"{name}.png": getattr(data, name)()[:300, :300] for name in ("coffee", "chelsea")}
    folder = write(tmp_path / "in", unlike)
    with pytest.raises(SourceError, match="holds no brackets among its 2 photographs"):
        gloam.brackets(folder, tmp_path / "out", workers=1)
    burst = {f"{i}.png": expose(scene("coffee"), 0, (0, 0), i) for i in range(4)}
    with pytest.raises(SourceError, match="no brackets"):
        gloam.brackets(write(tmp_path / "burst", burst), tmp_path / "out", workers=1)
    assert not (tmp_path / "out").exists()


def test_an_output_that_is_there_is_left_alone(two, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine.txt").write_text("mine")
    with pytest.raises(SetError, match="give a new folder"):
        gloam.brackets(two, tmp_path / "out", workers=1)


@pytest.mark.slow
def test_damaged_frames_are_told_of(two, tmp_path):
    folder = tmp_path / "in"
    write(folder, {path.name: np.asarray(Image.open(path)) for path in two.iterdir()})
    (folder / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 no image")
    found = gloam.brackets(folder, tmp_path / "out", workers=1)
    assert next(one for one in found.uses if one.file == "broken.jpg").role == "left out"
