from __future__ import annotations

from pathlib import Path

import pytest

from gloam.manifests.images.normals import encode
from gloam.synth.building.regenerate import regenerate

from .numbered import TRAIN, VAL, make_set, numbered


@pytest.fixture(scope="session")
def photos(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("numbered")
    for i in range(TRAIN + VAL):
        (folder / f"n{i:02d}.png").write_bytes(encode(numbered(i), "png"))
    return folder


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
