"""Sets that loaders on a GPU read."""

from __future__ import annotations

import pytest

import gloam
from gloam.manifests.images.normals import encode

from ..conftest import picture


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> gloam.manifests.sets.pair_set.PairSet:
    """A set whose normals are PNGs, which every decoder reads alike."""
    folder = tmp_path_factory.mktemp("gpu")
    (folder / "photos").mkdir()
    for i in range(12):
        data = encode(picture(i, 120 + 8 * i, 100 + 4 * i), "png")
        (folder / "photos" / f"photo-{i}.png").write_bytes(data)
    options = {"val": 2, "select": False, "shard_size": 3, "recipe": "uneven"}
    gloam.build(folder / "set", [f"folder={folder / 'photos'}"], **options)
    return gloam.open_set(folder / "set")
