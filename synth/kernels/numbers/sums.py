"""Sums in twice the digits of float64."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..compiling.compile import kernel


@kernel
def fill_sums(rows, sums):
    """Fill sums (N) of the rows of a float64 array (N, K): of sums and of what each has lost.

    After D. E. Knuth, The Art of Computer Programming 2, 4.2.2, in twice the digits.
    """
    for i in range(rows.shape[0]):
        total = error = 0.0
        for j in range(rows.shape[1]):
            both = total + rows[i, j]
            own = both - total
            error += (total - (both - own)) + (rows[i, j] - own)
            total = both
        sums[i] = total + error


def rounded_sums(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the sums of the rows of a float64 array (N, K), as if added in twice the digits."""
    sums = np.empty(len(rows))
    fill_sums(np.ascontiguousarray(rows), sums)
    return sums
