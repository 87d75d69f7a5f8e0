from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gloam.manifests.images.encode import encode
from gloam.manifests.selection.bounds import EVERYTHING
from gloam.manifests.selection.plan import PlanOptions
from gloam.manifests.sources import Source
from gloam.synth.building.build import build
from gloam.synth.building.regenerate import regenerate
from gloam.synth.building.request import OutputOptions, Request
from gloam.synth.recipes.load import load_recipe

TRAIN, VAL = 37, 11


def numbered(i: int, height: int = 40, width: int = 56) -> np.ndarray:
    """A picture that carries its number in red; green and blue tell where one is in it."""
    y, x = np.mgrid[0:height, 0:width]
    return np.stack([np.full_like(x, 4 * i), y * 255 // height, x * 255 // width], axis=2).astype(
        np.uint8
    )


@pytest.fixture(scope="session")
def photos(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("numbered")
    for i in range(TRAIN + VAL):
        (folder / f"n{i:02d}.png").write_bytes(encode(numbered(i), "png"))
    return folder


def make_set(root: Path, photos: Path, layout: str, **changes: object) -> Path:
    """A set whose lows are half of their normals."""
    source = Source(kind="folder", path=str(photos), name="n")
    recipe = load_recipe("gamma", ["curve.gamma=1", "curve.beta=0.5"])
    plan = PlanOptions(val=VAL, shard_size=5, **changes)
    build(
        Request(
            sources=(source,),
            profile=EVERYTHING,
            plan=plan,
            recipe=recipe,
            output=OutputOptions(layout=layout),
        ),
        root,
    )
    return root


@pytest.fixture(scope="session")
def shards(photos, tmp_path_factory) -> Path:
    return make_set(tmp_path_factory.mktemp("shards") / "set", photos, "shards")


@pytest.fixture(scope="session")
def files(photos, tmp_path_factory) -> Path:
    return make_set(tmp_path_factory.mktemp("files") / "set", photos, "files")


@pytest.fixture(scope="session")
def shard_lows(shards, tmp_path_factory) -> Path:
    """Only the lows of `shards`."""
    folder = tmp_path_factory.mktemp("lows") / "set"
    regenerate(shards, folder, lows_only=True)
    return folder


@pytest.fixture(scope="session")
def file_lows(files, tmp_path_factory) -> Path:
    """Only the lows of `files`."""
    folder = tmp_path_factory.mktemp("lows") / "set"
    regenerate(files, folder, lows_only=True)
    return folder
