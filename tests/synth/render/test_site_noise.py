"""Pixels take of sites what a convolution with their weights says."""

from __future__ import annotations

import numpy as np
import pytest

from gloam.synth.draws.table import table_of_records
from gloam.synth.kernels.curves import LUMA
from gloam.synth.kernels.demosaic import BINNED
from gloam.synth.models import draw
from gloam.synth.recipes.load import load_recipe
from gloam.synth.render.site_noise import PAIRS, site_noise, site_weights

from ..overrides import ON_SENSOR


def products(one, other):
    """Sums of products over sites of each colour, over rows, over columns: (5, 3, 3)."""
    alone = np.einsum("jayx,kayx->ajk", one, other)
    rows = np.einsum("jy,ky->jk", one.sum((1, 3)), other.sum((1, 3)))
    columns = np.einsum("jx,kx->jk", one.sum((1, 2)), other.sum((1, 2)))
    return np.concatenate([alone, rows[None], columns[None]])


def light_of(draws):
    """Return what linear light takes of the DN of red, green and blue sites."""
    matrix = np.array([[draws[f"srgb_{j}{k}"] for k in "rgb"] for j in "rgb"])
    gains = np.array([draws[f"{name}_gain"] for name in ("red", "green", "blue")])
    return matrix * gains / (draws["camera_sensor_white"] - draws["camera_sensor_black"])


@pytest.mark.parametrize("name", ["binned", "none", "bilinear", "malvar"])
@pytest.mark.parametrize("sigma", [0.4, 2.5])
def test_shares_are_those_of_blurred_weights(name, sigma):
    strength = 0.7
    chosen = [
        f"isp.demosaic={name}",
        f"isp.chroma.sigma={sigma}",
        f"isp.chroma.strength={strength}",
    ]
    table = table_of_records([draw(load_recipe(ON_SENSOR, chosen), 3, "a")])
    draws, found = table.draws[0], site_noise(table, [0])
    method, blur, reach = int(draws["method"]), table.blur[0].astype(float), draws["taps"] - 1
    weights, step = site_weights(method), 2 if method == BINNED else 1
    size, room, to_light = weights.shape[-1], step * reach, light_of(draws)
    smoothing = strength * (np.eye(3) - np.array(LUMA))
    for p, q in np.ndindex(2, 2):
        smooth = np.zeros((3, 3, size + 2 * room, size + 2 * room))
        for i, j in np.ndindex(2 * reach + 1, 2 * reach + 1):
            weight = blur[abs(i - reach)] * blur[abs(j - reach)]
            own = weights[(p + i - reach) % 2, (q + j - reach) % 2]
            down, across = slice(step * i, step * i + size), slice(step * j, step * j + size)
            smooth[..., down, across] += weight * own
        alone = np.pad(weights[p, q], [(0, 0), (0, 0), (room, room), (room, room)])
        here, far = (np.einsum("jk,kayx->jayx", to_light, one) for one in (alone, smooth))
        wanted = np.diagonal(products(here, here), axis1=1, axis2=2).T
        np.testing.assert_allclose(found.light[0, 2 * p + q, :, :5], wanted, rtol=1e-5, atol=1e-12)
        slopes = np.array([0.5, 1.0, 2.0])
        rest = np.einsum("ci,i,iayx->cayx", np.eye(3) - smoothing, slopes, here)
        blurred = np.einsum("ci,i,iayx->cayx", smoothing, slopes, far)
        pairs = (rest, rest), (2 * rest, blurred), (blurred, blurred)
        both = [slopes[i] * slopes[j] for i, j in PAIRS]
        for part, pair in enumerate(pairs):
            wanted = np.diagonal(products(*pair), axis1=1, axis2=2).T
            shares = np.einsum("k,cka->ca", both, found.smoothed[0, 2 * p + q, part, :, :, :5])
            np.testing.assert_allclose(shares, wanted, rtol=1e-4, atol=1e-11)
