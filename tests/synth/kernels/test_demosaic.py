"""Demosaic of one row of a mosaic against what its definition says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import convolve2d

from gloam.synth.kernels.demosaic import BILINEAR, BORDER, MALVAR, demosaic_row
from gloam.synth.models import draw, render
from gloam.synth.recipes.load import load_recipe

from ..overrides import UNMIXED

G_CROSS = (
    np.array(
        [[0, 0, -1, 0, 0], [0, 0, 2, 0, 0], [-1, 2, 4, 2, -1], [0, 0, 2, 0, 0], [0, 0, -1, 0, 0]]
    )
    / 8
)
ROW = (
    np.array(
        [
            [0, 0, 0.5, 0, 0],
            [0, -1, 0, -1, 0],
            [-1, 4, 5, 4, -1],
            [0, -1, 0, -1, 0],
            [0, 0, 0.5, 0, 0],
        ]
    )
    / 8
)
DIAGONAL = (
    np.array(
        [
            [0, 0, -1.5, 0, 0],
            [0, 2, 0, 2, 0],
            [-1.5, 0, 6, 0, -1.5],
            [0, 2, 0, 2, 0],
            [0, 0, -1.5, 0, 0],
        ]
    )
    / 8
)


def mosaic(height, width, seed=0):
    return (
        np.random.default_rng(seed)
        .integers(0, 16384, (height + 2 * BORDER, width + 2 * BORDER))
        .astype(np.float32)
    )


def demosaiced(raw, method):
    height, width = raw.shape[0] - 2 * BORDER, raw.shape[1] - 2 * BORDER
    out = np.empty((3, height, width), np.float32)
    for y in range(height):
        demosaic_row(raw, y, method, (out[0, y], out[1, y], out[2, y]))
    out[1] /= 2
    return out


def filtered(raw, kernel):
    return convolve2d(raw.astype(np.float64), kernel, "valid")


def test_malvar_is_the_filters_of_the_paper():
    """Figure 2 of Malvar, He and Cutler (ICASSP 2004), applied by SciPy."""
    raw = mosaic(13, 18)
    red, green, blue = demosaiced(raw, MALVAR)
    own = raw[BORDER:-BORDER, BORDER:-BORDER]
    cross, row, column, diagonal = (filtered(raw, k) for k in (G_CROSS, ROW, ROW.T, DIAGONAL))
    even_y, even_x = np.ogrid[:13, :18][0] % 2 == 0, np.ogrid[:13, :18][1] % 2 == 0
    at_red, at_blue = even_y & even_x, ~even_y & ~even_x
    at_green = ~(at_red | at_blue)
    assert (green == np.where(at_green, own, cross)).all()
    assert (
        red == np.where(at_red, own, np.where(at_blue, diagonal, np.where(even_y, row, column)))
    ).all()
    assert (
        blue == np.where(at_blue, own, np.where(at_red, diagonal, np.where(even_y, column, row)))
    ).all()


def test_bilinear_is_the_mean_of_the_nearest():
    raw = mosaic(6, 7)
    red, green, blue = demosaiced(raw, BILINEAR)
    y, x = 2, 3  # a green site in a red row
    at = raw[y + BORDER - 1 : y + BORDER + 2, x + BORDER - 1 : x + BORDER + 2]
    assert green[y, x] == at[1, 1]
    assert red[y, x] == (at[1, 0] + at[1, 2]) / 2
    assert blue[y, x] == (at[0, 1] + at[2, 1]) / 2
    at = raw[y + BORDER - 1 : y + BORDER + 2, x + BORDER : x + BORDER + 3]  # the red site beside it
    assert green[y, x + 1] == (at[0, 1] + at[2, 1] + at[1, 0] + at[1, 2]) / 4
    assert blue[y, x + 1] == (at[0, 0] + at[0, 2] + at[2, 0] + at[2, 2]) / 4


@pytest.mark.parametrize("method", [BILINEAR, MALVAR])
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (2, 3)])
def test_a_flat_mosaic_stays_flat_at_any_size(method, shape):
    raw = np.full((shape[0] + 4, shape[1] + 4), 700, np.float32)
    assert (demosaiced(raw, method) == 700).all()


@pytest.mark.parametrize(
    ("method", "expected"), [("binned", 0.0), ("none", 0.0), ("bilinear", 0.6), ("malvar", 0.2)]
)
def test_demosaic_is_what_correlates_neighbours(method, expected):
    grey = np.full((256, 256, 3), 120, np.uint8)
    recipe = load_recipe("even", [*UNMIXED, "camera.iso=6400"])
    drawn = draw(recipe, 0, "k").changed(
        {"isp.demosaic": method, "camera.sensor.row_sigma": 0.0, "exposure.ev": 2.0}
    )
    red = render(grey, drawn)[:, :, 0].astype(float)
    neighbours = np.corrcoef(red[:, :-1].ravel(), red[:, 1:].ravel())[0, 1]
    assert neighbours == pytest.approx(expected, abs=0.15)
