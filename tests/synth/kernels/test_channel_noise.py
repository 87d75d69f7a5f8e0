"""Noise of developed light: what recipes say is what lows measure."""

from __future__ import annotations

import numpy as np
import pytest

from gloam.synth.models import draw, render
from gloam.synth.recipes.load import recipe_of


def light_of(noise, level=5.0, shape=(400, 500), toe=0.055):
    """The light of a low, in levels of the straight part, of an even normal there.

    Such levels go up to 9: noise is kept small, and measured by a curve that is straight."""
    recipe = recipe_of({"exposure": {"ev": 0}, "tone": {"toe": toe}, "noise": noise}, (), "test")
    normal = np.full((*shape, 3), level, np.uint8)
    return render(normal, draw(recipe, 3, "k")).astype(float)


def test_read_and_shot_noise_have_their_variance():
    read, shot = {"red": 0.9, "green": 0.5, "blue": 0.7}, {"green": 0.2}
    low = light_of({"read": read, "shot": shot})
    rounding = 1 / 12
    assert low.mean((0, 1)) == pytest.approx([5, 5, 5], abs=0.02)
    wanted = [0.9**2, 0.5**2 + 0.2 * 5, 0.7**2]
    assert low.var((0, 1)) - rounding == pytest.approx(wanted, rel=0.03)


def test_channels_correlate_as_the_recipe_says():
    read = {"red": 0.9, "green": 0.9, "blue": 0.9}
    correlation = {"red_green": 0.6, "green_blue": 0.2, "red_blue": -0.3}
    found = np.corrcoef(light_of({"read": read, "correlation": correlation}).reshape(-1, 3).T)
    wanted = np.array([0.6, 0.2, -0.3]) * 0.81 / (0.81 + 1 / 12)  # rounding is each one's own
    assert found[[0, 1, 0], [1, 2, 2]] == pytest.approx(wanted, abs=0.015)


def test_neighbours_share_noise_and_its_variance_stays():
    read = {"red": 0.9, "green": 0.9, "blue": 0.9}
    grain = {"across": 0.4, "down": -0.1}
    low = light_of({"read": read, "grain": grain, "correlation": {"red_green": 0.6}})
    assert low.var((0, 1)) == pytest.approx([0.81 + 1 / 12] * 3, rel=0.03)
    apart = low - low.mean((0, 1))
    lags = [(apart[:, 1:] * apart[:, :-1]).mean(), (apart[1:] * apart[:-1]).mean()]
    wanted = np.array([2 * b / (1 + 2 * b * b) for b in grain.values()]) * 0.81
    assert lags == pytest.approx(wanted, abs=0.02)
    assert (apart[..., 0] * apart[..., 1]).mean() == pytest.approx(0.6 * 0.81, abs=0.02)


def test_channels_have_grain_of_their_own_and_patches_that_keep_the_variance():
    read = {"red": 0.9, "green": 0.9, "blue": 0.9}
    grain = {"across": 0.1, "red": {"across": 0.2}, "blue": {"across": -0.1, "coarse": 0.5}}
    low = light_of({"read": read, "grain": grain | {"size": 3}})
    assert low.var((0, 1)) == pytest.approx([0.81 + 1 / 12] * 3, rel=0.03)
    apart = low - low.mean((0, 1))
    lag = (apart[:, 1:] * apart[:, :-1]).mean((0, 1)) / 0.81
    # Of patches of 3 pixels: of linear weights between their middles, .87 of the next pixel.
    assert lag == pytest.approx([0.6 / 1.18, 0.2 / 1.02, 0.5 * 0.87], abs=0.02)
    third = (apart[:, 3:] * apart[:, :-3]).mean((0, 1)) / 0.81
    assert third == pytest.approx([0, 0, 0.5 * 0.27], abs=0.02)


def test_a_factor_on_noise_goes_with_light():
    noise = {
        "read": {"red": 0.9, "green": 0.9, "blue": 0.9},
        "tail_share": {"blue": 0.2},
        "tail": {"blue": 0.8},
        "curve": {"light": [2, 4, 6], "red": [0.1, 0.5, 0.3], "blue": [-0.2]},
    }
    tail = 1 + 0.8**2 * (0.4 - 0.04)
    for level, wanted in ((5, 0.4), (6, 0.3), (7, 0.3)):
        variance = light_of(noise, level).var((0, 1)) - 1 / 12
        known = [0.81 * np.exp(2 * wanted), 0.81, 0.81 * tail * np.exp(-0.4)]
        assert variance == pytest.approx(known, rel=0.04)


def test_the_tail_is_positive_and_its_mean_is_taken_off():
    low = light_of(
        {"read": {"green": 0.6}, "tail_share": {"green": 0.1}, "tail": {"green": 2.0}}, level=4
    )[..., 1]
    assert low.mean() == pytest.approx(4, abs=0.02)
    tail = 0.6 * 2.0
    assert low.var() - 1 / 12 == pytest.approx(0.6**2 + tail**2 * (0.2 - 0.01), rel=0.05)
    deviation = low - low.mean()
    # Of a share p of exponentials: 6 p - 6 p^2 + 2 p^3 of the cubed mean.
    third = tail**3 * (0.6 - 0.06 + 0.002)
    assert (deviation**3).mean() == pytest.approx(third, rel=0.1)


@pytest.mark.parametrize(("kurtosis", "share"), [(0.0, 0.5), (0.9, 0.5), (0.9, 0.1)])
def test_two_widths_make_the_kurtosis(kurtosis, share):
    low = light_of({"read": {"green": 1.0}, "kurtosis": kurtosis, "wide_share": share})[..., 1]
    deviation = low - low.mean()
    rounded = (1 + 1 / 12) ** 2
    found = ((deviation**4).mean() / (deviation**2).mean() ** 2 - 3) * rounded
    assert (deviation**2).mean() == pytest.approx(1 + 1 / 12, rel=0.02)
    assert found == pytest.approx(kurtosis, abs=0.12)


@pytest.mark.parametrize("curve", [{}, {"light": [1, 9], "kurtosis": {"green": [0.0, 0.0]}}])
def test_rare_wide_samples_lie_far_out(curve):
    noise = {"read": {"green": 3.5 / 4.2}, "kurtosis": 0.75, "curve": curve}
    lows = [light_of({**noise, "wide_share": share})[..., 1] for share in (0.5, 0.05)]
    far = [(np.abs(low - 5) > 3.5).mean() for low in lows]  # 4.2 deviations
    # Normal numbers of variances 1 +- .5, and of 3.18 in one of 20, .885 in the others.
    assert far[0] == pytest.approx(3.0e-4, rel=0.35)
    assert far[1] == pytest.approx(9.3e-4, rel=0.25)


def test_shot_noise_is_as_skewed_as_poisson_s():
    low = light_of({"shot": {"green": 0.25}}, level=6)[..., 1]
    deviation = low - low.mean()
    assert (deviation**3).mean() == pytest.approx(0.25**2 * 6, rel=0.1)


def test_rows_share_what_they_share():
    low = light_of({"read": {"green": 0.8}, "rows": {"green": 0.5}}, shape=(600, 400))[..., 1]
    own = (0.64 + 1 / 12) / 400
    assert low.mean(1).var() - own == pytest.approx((0.5 * 0.8) ** 2, rel=0.15)


def test_black_may_be_off_and_levels_are_those_of_the_curve_s_own_straight_part():
    assert light_of({"offset": {"red": 2.0, "blue": -1.0}}).mean((0, 1)).tolist() == [7, 5, 4]
    dark = light_of({"read": {"green": 0.7}}, level=0, toe=0.04)[..., 1]
    assert (dark > 0).mean() == pytest.approx(0.2375, abs=0.01)  # P(z > .5 / .7)


def test_skewness_and_kurtosis_go_with_light():
    skewness, kurtosis = {"green": [0, 0.6, 0.6, 0]}, {"blue": [0, 0.7, 0.7, 0]}
    curve = {"light": [2, 4, 6, 8], "skewness": skewness, "kurtosis": kurtosis}
    noise = {"read": {"green": 1.0, "blue": 1.0}, "kurtosis": 0.4, "curve": curve}
    low = light_of(noise)
    apart = low - low.mean((0, 1))
    wanted = 0.6 * (3 + 0.4 - 1) / 2  # of numbers of two widths a square varies more
    assert (apart[..., 1] ** 3).mean() == pytest.approx(wanted, abs=0.06)
    fourth = (apart[..., 2] ** 4).mean() - 3 * (apart[..., 2] ** 2).mean() ** 2
    assert fourth == pytest.approx(0.4 * np.exp(0.7), abs=0.1)
    dark = light_of(noise, level=9)[..., 1]
    assert ((dark - dark.mean()) ** 3).mean() == pytest.approx(-0.1, abs=0.05)  # of the curve
