"""Light of pixels by a table, against NumPy's look-up."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gloam.synth.kernels.exposure import linearise


@given(st.integers(0, 193), st.integers(0, 99))
def test_light_of_pixels_is_that_of_their_table(count, seed):
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (count, 3), np.uint8)
    table = rng.integers(0, 1 << 32, 256, np.uint32).view(np.float32)  # NaN and the like among them
    rows = np.zeros((3, count), np.float32)
    linearise(pixels, table, *rows)
    for row, levels in zip(rows, pixels.T, strict=True):
        np.testing.assert_array_equal(row.view(np.uint32), table.view(np.uint32)[levels])
