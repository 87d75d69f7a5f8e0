"""Look-ups of many at once, against NumPy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gloam.synth.kernels.compiling.compile import row_kernel
from gloam.synth.kernels.compiling.vectors import (
    AT_ONCE,
    has_byte_permutations,
    look_up_pixels,
)
from gloam.synth.kernels.exposure import linearise


@row_kernel
def _of_pixels(pixels, table, red, green, blue):
    return look_up_pixels(pixels, table, red, green, blue)


def _made_up(count, seed):
    """Return pixels, and a table of any bits, NaN and the like among them."""
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (count, 3), np.uint8)
    return pixels, rng.integers(0, 1 << 32, 256, np.uint32).view(np.float32)


@given(st.integers(0, 3 * AT_ONCE + 1), st.integers(0, 99))
def test_light_of_pixels_is_that_of_their_table(count, seed):
    pixels, table = _made_up(count, seed)
    rows = np.zeros((3, count), np.float32)
    linearise(pixels, table, *rows)
    for row, levels in zip(rows, pixels.T, strict=True):
        np.testing.assert_array_equal(row.view(np.uint32), table.view(np.uint32)[levels])


@pytest.mark.skipif(not has_byte_permutations(), reason="a CPU without AVX-512 VBMI")
@pytest.mark.parametrize("count", [0, AT_ONCE - 1, AT_ONCE, 2 * AT_ONCE + 5])
def test_registers_look_up_whole_blocks_and_write_nothing_else(count):
    pixels, table = _made_up(count, 1)
    rows = np.full((3, count + 1), np.float32(7))
    whole = count // AT_ONCE * AT_ONCE
    assert _of_pixels(pixels.reshape(-1), table, *rows[:, :count]) == whole
    expected = table.view(np.uint32)[pixels[:whole].T]
    np.testing.assert_array_equal(rows[:, :whole].view(np.uint32), expected)
    assert (rows[:, whole:] == 7).all()
