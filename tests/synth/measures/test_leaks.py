"""Leaks: twins are found at other exposures and a little aside, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import cv2
import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import gloam
from gloam.cli.main import gloam as command
from gloam.errors import ConfigError, SourceError
from gloam.manifests.images.decode import decode_as_rgb
from gloam.manifests.images.normals import encode
from gloam.manifests.selection.duplicates import correlate, look_at, number_scenes, thumbnail

from ...manifests.images.making import STORED_FROM_UPRIGHT, exif_of


def written(folder: Path, images: dict[str, np.ndarray]) -> Path:
    folder.mkdir()
    for name, image in images.items():
        (folder / f"{name}.png").write_bytes(encode(np.ascontiguousarray(image), "png"))
    return folder


def aside(image: np.ndarray, stops: float) -> np.ndarray:
    """A picture of the same scene: cropped, exposed otherwise, with noise."""
    height, width = image.shape[:2]
    part = image[height // 40 : -height // 25, width // 30 :]
    light = (part / 255.0) ** 2.2 * 2**stops
    noise = np.random.default_rng(0).normal(0, 2, part.shape)
    return (255 * light.clip(0, 1) ** (1 / 2.2) + noise).clip(0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def pictures(photographs) -> dict[str, np.ndarray]:
    paths = sorted(photographs.iterdir())[:12]
    return {path.stem: decode_as_rgb(path.read_bytes()) for path in paths}


def test_twins_are_found_and_nothing_else(pictures, tmp_path):
    names = list(pictures)
    first = written(tmp_path / "a", {name: pictures[name] for name in names[:9]})
    moved = {f"t{i}": aside(pictures[name], -1.0 + i % 2) for i, name in enumerate(names[5:])}
    second = written(tmp_path / "b", moved)
    (second / "broken.png").write_bytes(b"no image")
    found = gloam.leaks(first, second)
    assert [(Path(one.a).stem, Path(one.b).stem) for one in found.pairs] == [
        (name, f"t{i}") for i, name in enumerate(names[5:9])
    ]
    assert found.counts == {str(first): 9, str(second): 7}
    assert [line.partition(":")[0] for line in found.unreadable] == [str(second / "broken.png")]
    assert set(found.as_json()["pairs"][0]) == {"a", "b", "distance"}
    assert found.sheet().width > 300


def test_sets_are_compared_by_their_normals(photographs, tmp_path):
    photos = sorted(photographs.iterdir())[:3]
    sources = tmp_path / "photos"
    sources.mkdir()
    for photo in photos:
        os.link(photo, sources / photo.name)
    gloam.build(tmp_path / "set", f"folder={sources}", val=1, select=False)
    found = gloam.leaks(sources, tmp_path / "set")
    assert sorted(Path(one.a).name for one in found.pairs) == [photo.name for photo in photos]
    assert all(one.distance == 0 for one in found.pairs)
    assert found.sheet().height > 300


def test_what_shows_nothing_is_like_nothing():
    grey = thumbnail(np.full((40, 40, 3), 90, np.uint8))
    assert not correlate(grey, grey)
    with pytest.raises(SourceError, match="two sets or more"):
        gloam.leaks("somewhere")


def framed(image: np.ndarray, size: tuple[int, int], inner: tuple[int, int], value: int):
    """A picture in the middle of a flat one; sizes are (height, width)."""
    whole = np.full((*size, 3), value, np.uint8)
    top, left = (np.array(size) - inner) // 2
    whole[top : top + inner[0], left : left + inner[1]] = cv2.resize(
        image, inner[::-1], interpolation=cv2.INTER_AREA
    )
    return whole


def nested(image: np.ndarray) -> np.ndarray:
    return framed(framed(image, (300, 300), (200, 200), 255), (360, 360), (300, 300), 0)


def lamp(seed: int, noise: float = 2) -> np.ndarray:
    """A lamp in the dark, whose other pixels are those of the seed."""
    rng = np.random.default_rng(seed)
    image = np.abs(cv2.resize(rng.normal(0, noise, (32, 42, 3)).astype(np.float32), (320, 240)))
    y, x = np.mgrid[:240, :320]
    glow = 255 * np.exp(-(((y - 60) / 14) ** 2 + ((x - 160) / 14) ** 2))
    return (image + glow[..., None]).clip(0, 255).astype(np.uint8)


def twins_of(tmp_path: Path, first: list[np.ndarray], second: list[np.ndarray]) -> list[str]:
    a = written(tmp_path / "a", {f"{i}": image for i, image in enumerate(first)})
    b = written(tmp_path / "b", {f"{i}": image for i, image in enumerate(second)})
    return [f"{Path(x).stem}-{Path(y).stem}" for x, y, _ in gloam.leaks(a, b).pairs]


@pytest.mark.parametrize("value", [0, 128, 255])
@pytest.mark.parametrize(
    ("size", "inner"),
    [((360, 640), (360, 202)), ((480, 480), (192, 192)), ((360, 480), (150, 480))],
)
def test_equal_frames_make_no_twins(pictures, tmp_path, value, size, inner):
    images = [framed(image, size, inner, value) for image in list(pictures.values())[:10]]
    assert twins_of(tmp_path, images[:5], images[5:]) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda one: framed(one, (480, 480), (270, 480), 0),
        lambda one: framed(one, (300, 400), (200, 300), 255),
        nested,
        lambda one: one[:, ::-1],
        lambda one: one[len(one) // 10 :],
        lambda one: one[:, one.shape[1] // 10 : -one.shape[1] // 10],
        lambda one: (one * 0.6).astype(np.uint8)[len(one) // 10 :, : -one.shape[1] // 10],
    ],
    ids=["letterbox", "frame", "frame in a frame", "mirrored", "cut", "sides", "corner, darker"],
)
@pytest.mark.parametrize("turned", [False, True])
def test_copies_in_frames_mirrored_and_cut_are_found(pictures, tmp_path, change, turned):
    images = list(pictures.values())[:5]
    sides = [images, [change(image) for image in images]]
    assert twins_of(tmp_path, *sides[:: -1 if turned else 1]) == [f"{i}-{i}" for i in range(5)]


def test_equal_pictures_of_one_colour_are_found(tmp_path):
    flat = [np.full((48, 64, 3), value, np.uint8) for value in (0, 1, 128)]
    assert twins_of(tmp_path, flat, [*flat, np.zeros((64, 48, 3), np.uint8)]) == [
        "0-0",
        "1-1",
        "2-2",
    ]


@pytest.mark.parametrize("noise", [1, 2, 6])
def test_lamps_in_the_dark_are_no_twins_but_their_copies_are(tmp_path, noise):
    first, second = ([lamp(seed + i, noise) for i in range(4)] for seed in (0, 100))
    copies = [lamp(2, noise)] + ([(lamp(3, noise) * 0.8).astype(np.uint8)] if noise > 2 else [])
    found = ["2-4"] + ["3-5"] * (noise > 2)
    assert twins_of(tmp_path, first, second + copies) == found


def test_pictures_of_one_scene_have_one_number(pictures):
    first, second = list(pictures.values())[:2]
    black = np.zeros((40, 60, 3), np.uint8)
    made = [first, second, second[:, ::-1], black, nested(first), black, lamp(1), lamp(2)]
    assert number_scenes([look_at(np.ascontiguousarray(one)) for one in made]) == [
        *(0, 1, 1, 3, 0, 3, 6, 7)
    ]
    assert number_scenes([]) == []


@pytest.mark.skipif("GLOAM_REAL" not in os.environ, reason="real pictures are not there")
def test_no_two_scenes_of_lol_are_twins(tmp_path):
    folder = Path(os.environ["GLOAM_REAL"]) / "lol"
    lows, normals = folder / "low", folder / "normal"
    found = gloam.leaks(lows, normals)
    assert len(found.pairs) >= 50  # a low is a twin of its normal
    assert all(Path(one.a).name == Path(one.b).name for one in found.pairs)


def test_names_that_a_terminal_would_obey_are_shown(pictures, tmp_path):
    name, image = next(iter(pictures.items()))
    first = written(tmp_path / "a", {f"{name}\x1b[2J\nforged": image})
    second = written(tmp_path / "b", {name: image})
    said = CliRunner().invoke(command, ["leaks", str(first), str(second)]).output
    assert f"{name}\\x1b[2J\\nforged.png" in said
    assert "\x1b" not in said
    assert len(said.splitlines()) == 3


@pytest.mark.skipif("GLOAM_REAL" not in os.environ, reason="real pictures are not there")
def test_frames_of_a_bracket_are_twins_of_no_other_scene(tmp_path):
    paths = sorted((Path(os.environ["GLOAM_REAL"]) / "sice" / "brackets").iterdir())[:200]
    looks = [look_at(decode_as_rgb(path.read_bytes())) for path in paths]
    scenes = number_scenes(looks)
    names = {
        (scene, path.stem.partition("_")[0]) for scene, path in zip(scenes, paths, strict=True)
    }
    assert len({scene for scene, _ in names}) == len(names)
    assert len(names) < 60  # of 200 frames: those that show nearly nothing are alone


@pytest.mark.parametrize("turn", [3, 6, 8])
def test_photographs_that_exif_turns_are_twins_of_their_upright_copies(pictures, tmp_path, turn):
    """A build's normals are upright: a photograph of a telephone is its own normal's twin."""
    upright = next(iter(pictures.values()))
    (tmp_path / "a").mkdir()
    stored = Image.fromarray(np.ascontiguousarray(STORED_FROM_UPRIGHT[turn](upright)))
    stored.save(tmp_path / "a" / "x.jpg", quality=95, exif=exif_of(turn))
    written(tmp_path / "b", {"y": upright})
    written(tmp_path / "c", {"z": upright.swapaxes(0, 1)[::-1]})
    assert len(gloam.leaks(tmp_path / "a", tmp_path / "b").pairs) == 1
    assert not gloam.leaks(tmp_path / "a", tmp_path / "c").pairs
    for known in "ab":  # whose measures are those of what is stored
        with pytest.raises(ConfigError, match="of a scene to keep out 1"):
            gloam.build(
                tmp_path / f"set-{known}", f"folder={tmp_path / 'a'}",
                exclude=[tmp_path / known], select=False, val=0,
            )  # fmt: skip
