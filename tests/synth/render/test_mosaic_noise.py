"""Pixels take of sites what a convolution with their weights says."""

from __future__ import annotations

import numpy as np
import pytest

from gloam.synth.kernels.demosaic import BILINEAR, BINNED, FULL, MALVAR
from gloam.synth.kernels.site_noise import fill_products
from gloam.synth.render.mosaic_noise import site_tables, site_weights


def products(one, other):
    """Sums of products over sites of each colour, over rows, over columns: (5, 3, 3)."""
    alone = np.einsum("jayx,kayx->ajk", one, other)
    rows = np.einsum("jy,ky->jk", one.sum((1, 3)), other.sum((1, 3)))
    columns = np.einsum("jx,kx->jk", one.sum((1, 2)), other.sum((1, 2)))
    return np.concatenate([alone, rows[None], columns[None]])


@pytest.mark.parametrize("method", [BINNED, FULL, BILINEAR, MALVAR])
@pytest.mark.parametrize("reach", [0, 1, 4])
def test_products_are_those_of_blurred_weights(method, reach):
    weights, step = site_weights(method), 2 if method == BINNED else 1
    blurs = np.random.default_rng(reach).random((3, reach + 1))
    found = np.empty((2, 2, 3, 5, 9))
    size, room = weights.shape[-1], step * reach
    for blur in blurs:
        fill_products(method, blur, reach + 1, site_tables(), found)
        for p, q in np.ndindex(2, 2):
            smooth = np.zeros((3, 3, size + 2 * room, size + 2 * room))
            for i, j in np.ndindex(2 * reach + 1, 2 * reach + 1):
                weight = blur[abs(i - reach)] * blur[abs(j - reach)]
                own = weights[(p + i - reach) % 2, (q + j - reach) % 2]
                down, across = slice(step * i, step * i + size), slice(step * j, step * j + size)
                smooth[..., down, across] += weight * own
            alone = np.pad(weights[p, q], [(0, 0), (0, 0), (room, room), (room, room)])
            pairs = (alone, alone), (alone, smooth), (smooth, smooth)
            wanted = np.reshape([products(*pair) for pair in pairs], (3, 5, 9))
            np.testing.assert_allclose(found[p, q], wanted, rtol=1e-9, atol=1e-12)
