from __future__ import annotations

from pathlib import Path

import pytest

from gloam.manifests.sets.sample import Sample

from .writing import write_shard


@pytest.fixture
def shard(tmp_path: Path, pairs: list[Sample]) -> Path:
    """A set's folder with one shard of all pairs."""
    write_shard(tmp_path, pairs)
    return tmp_path
