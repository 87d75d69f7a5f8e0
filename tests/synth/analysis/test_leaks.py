"""Leaks: twins are found at other exposures and a little aside, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import gloam
from gloam.cli.main import gloam as command
from gloam.errors import SourceError
from gloam.manifests.images.decode import decode_as_rgb
from gloam.manifests.images.encode import encode
from gloam.manifests.selection.twins import correlate, thumbnail


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
