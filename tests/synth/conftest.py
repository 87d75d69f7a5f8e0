from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest


@pytest.fixture
def photograph() -> npt.NDArray[np.uint8]:
    """A small picture with smooth parts, edges, a black and a white patch."""
    y, x = np.mgrid[0:96, 0:128]
    picture = np.stack([x * 2, y * 2.5, 255 - x], axis=2).clip(0, 255).astype(np.uint8)
    picture[10:30, 10:30] = 255
    picture[50:70, 80:100] = 0
    return picture
