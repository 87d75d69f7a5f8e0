"""The words for what gives lows away."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.stats import kstwo, norm

from gloam.synth.measures.columns import ALL_LABELS, BANKS
from gloam.synth.measures.tells import find_tells, kuiper


def rows(seed: int, **values: tuple[float, float]) -> list[dict[str, float]]:
    rng = np.random.default_rng(seed)
    return [{name: rng.normal(*value) for name, value in values.items()} for _ in range(60)]


def words(real: dict, other: dict) -> list[str]:
    return [tell.words for tell in find_tells(rows(0, **real), rows(1, **other))]


def test_kuipers_statistic_sees_shifts_and_spreads():
    rng = np.random.default_rng(2)
    first, wide = rng.normal(0, 1, 40_000), rng.normal(0, 2, 40_000)
    assert kuiper(first, first) == 0
    assert kuiper(first, first + 100) == 1
    # Densities of N(0, 1) and N(0, 4) meet at +- sqrt(8 ln 2 / 3).
    meet = np.sqrt(8 * np.log(2) / 3)
    between = 2 * (norm.cdf(meet) - norm.cdf(meet / 2))
    assert kuiper(first, wide) == pytest.approx(between, abs=0.02)
    assert kuiper(first, rng.normal(0, 1, 40_000)) < 2 * kstwo.ppf(0.999, 20_000)


def test_statistics_that_say_the_same_are_one_tell():
    names = ("deviation_g_0", "deviation_g_1", "deviation_r_0", "deviation_r_1")
    (said,) = words(dict.fromkeys(names, (1.2, 0.1)), dict.fromkeys(names, (0.7, 0.1)))
    assert said.startswith("too little noise below level 2 in R, G (median ")


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("r_0 g_0 b_0", "below level 1 ("),
        ("g_1 g_2 g_6", "at levels 1 to 3, 6 to 10 in G ("),
        ("b_128 b_192 r_4 g_4", "at levels 4 to 6 in R, G; above level 128 in B ("),
    ],
)
def test_only_levels_and_channels_that_tell_are_named(where, said):
    names = [f"skewness_{one}" for one in where.split()]
    (found,) = words(dict.fromkeys(names, (0.2, 0.1)), dict.fromkeys(names, (0.9, 0.1)))
    assert found.startswith(f"too many bright outliers beside dark ones {said}")


def test_levels_of_the_normal_are_named_once():
    names = ("tone_r_0", "tone_r_16", "tone_b_0")
    (said,) = words(dict.fromkeys(names, (0, 0.1)), dict.fromkeys(names, (1, 0.1)))
    assert " EV below level 32 of the normal in R; below level 16 in B (" in said


@pytest.mark.parametrize(
    ("name", "real", "other", "said"),
    [
        ("tone_g_224", (1.0, 0.2), (0.5, 0.2), "highlights too dark by 0."),
        ("tone_b_16", (0.0, 0.2), (0.6, 0.2), "shadows too bright by 0."),
        ("lag_row_r", (0.0, 0.01), (0.1, 0.01), "grain too coarse in R"),
        ("correlation_gb", (0.2, 0.05), (0.0, 0.05), "noise too colourful"),
        ("exposure_ev", (5, 0.1), (5, 2), "exposure: varies too much from picture to picture"),
        ("shift", (0.2, 0.05), (0.01, 0.01), "low and normal are registered too exactly"),
        ("balance_red", (0, 0.1), (0.5, 0.1), "too much red by 0."),
    ],
)
def test_differences_have_words(name, real, other, said):
    (found,) = words({name: real}, {name: other})
    assert found.startswith(said)


def test_figures_beside_the_words_differ():
    (sharp,) = words({"detail": (0.9984, 1e-4)}, {"detail": (1.0, 1e-4)})
    assert sharp == "too sharp (median 1, real 0.998)"
    (spread,) = words({"exposure_ev": (5, 0.1)}, {"exposure_ev": (5, 2)})
    quartiles = re.search(r"\(quartiles (.*) to (.*), real (.*) to (.*)\)", spread)
    assert quartiles
    least, most, real_least, real_most = map(float, quartiles.groups())
    assert most - least == pytest.approx(2.7, abs=0.8)
    assert real_most - real_least == pytest.approx(0.135, abs=0.1)


def test_what_is_the_same_is_not_said():
    names = dict.fromkeys([*BANKS["noise and tone"], *BANKS["registration"]], (0.0, 1.0))
    assert names.keys() < ALL_LABELS.keys()
    assert find_tells(rows(5, **names), rows(6, **names)) == []
