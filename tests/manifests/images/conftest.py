from __future__ import annotations

from typing import Any

import pytest

from .making import KINDS, make_every_format


@pytest.fixture(scope="session")
def every_format(photograph: Any, encoded: Any) -> dict[str, bytes]:
    """A file of each of `KINDS`."""
    made = make_every_format(photograph, encoded)
    assert list(made) == KINDS
    return made
