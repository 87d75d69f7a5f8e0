from __future__ import annotations

from pathlib import Path

import pytest

from .running import run


@pytest.fixture(scope="session")
def finished(photographs, tmp_path_factory) -> Path:
    """A set of 24 pairs, 4 of them for validation; not to be changed."""
    root = tmp_path_factory.mktemp("finished") / "set"
    result = run("build", root, "--source", f"folder={photographs}", "--val", 4, "--workers", 1)
    assert result.exit_code == 0
    return root
