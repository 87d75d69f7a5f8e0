"""The two-sample test on features whose difference is known."""

from __future__ import annotations

import numpy as np
import pytest

from gloam.errors import ConfigError
from gloam.synth.measures.features import Group, MeasuredLow
from gloam.synth.measures.two_sample import Told, compare_groups, compare_rows, two_sample_test

pytest.importorskip("sklearn")
SCENES = np.arange(60)


def features(seed: int, shift: float = 0.0) -> np.ndarray:
    made = np.random.default_rng(seed).normal(0, 1, (60, 12))
    made[:, 3] += shift
    made[::5, 7] = np.nan
    return made


def test_what_is_the_same_cannot_be_told():
    found = two_sample_test(features(0), features(1), (SCENES, SCENES))
    assert 0.35 < found.accuracy < 0.62
    assert found.least < 0.5 < found.most + 0.05


def test_what_differs_is_told_with_an_interval():
    found = two_sample_test(features(0), features(1, 4), (SCENES, SCENES))
    assert found.accuracy > 0.93
    assert found.least <= found.accuracy <= found.most <= 1
    assert two_sample_test(features(0), features(1, 4), (SCENES, SCENES)) == found


def test_the_figure_is_given_with_the_pairs_that_were_learned_from():
    found = two_sample_test(features(0), features(1, 1.2), (SCENES, SCENES))
    assert [pairs for pairs, _ in found.curve] == [10, 20, 40]
    assert found.curve[-1][1] == found.accuracy
    assert str(found).partition(")")[2].startswith(" learned from 10, 20, 40 pairs")
    rising = Told(0.82, 0.75, 0.9, ((10, 0.69), (20, 0.76), (40, 0.82)))
    assert str(rising).startswith("69%, 76%, 82% (75 to 90) learned from 10, 20, 40 pairs; still")
    assert 0.84 < rising.expected(80) < 0.89
    assert rising.expected(40) == pytest.approx(0.82)
    assert rising.expected(160) < 0.94
    alone = two_sample_test(features(0), features(1, 1.2), (SCENES, SCENES), rising=False)
    assert alone.curve == ((40, found.accuracy),)
    flat = Told(0.5, 0.4, 0.6, ((10, 0.52), (20, 0.51), (40, 0.5)))
    assert "rising" not in str(flat)
    assert flat.expected(160) == pytest.approx(0.5)


@pytest.mark.slow
def test_parts_of_images_tell_together():
    whole, parts = features(0), np.stack([features(seed) for seed in range(5)], 1)
    others = np.stack([features(seed, 0.8) for seed in range(5, 10)], 1)
    alone = two_sample_test(whole, others[:, 0], (SCENES, SCENES))
    together = two_sample_test(parts, others, (SCENES, SCENES))
    assert together.accuracy > alone.accuracy + 0.08
    assert two_sample_test(parts, parts[::-1], (SCENES, SCENES)).accuracy < 0.62


def test_scenes_are_never_learned_and_judged():
    # Features that say only which scene it is, and sorts that go with scenes: a classifier that saw
    # a scene would tell its other pictures.
    scene = np.repeat(np.arange(20), 6)
    marks = np.random.default_rng(2).normal(0, 1, (20, 8))[scene]
    chosen = np.random.default_rng(3).permutation(20)[:10]
    first = np.isin(scene, chosen)
    found = two_sample_test(marks[first], marks[~first], (scene[first], scene[~first]))
    assert found.accuracy < 0.75


def test_too_few_scenes_are_refused():
    with pytest.raises(ConfigError, match="11 scenes"):
        two_sample_test(features(0)[:11], features(1)[:11], (SCENES[:11], SCENES[:11]))


def test_features_that_few_have_are_left_out():
    empty = np.full((60, 3), np.nan)
    assert two_sample_test(empty, empty, (SCENES, SCENES)).accuracy == 0.5


def test_rows_are_compared_by_all_banks_with_halves_as_the_control():
    rng = np.random.default_rng(4)
    real, other = (
        [{"deviation_g_4": rng.normal(level, 0.1), "tone_g_224": rng.normal()} for _ in range(40)]
        for level in (1.2, 0.8)
    )
    found = compare_rows("mine", real, other)
    assert found.told["noise"].accuracy > 0.95
    assert found.told["noise"].accuracy > found.control["noise"].accuracy + 0.2
    assert "registration" not in found.told  # which the rows have nothing of
    assert any("too little noise" in line for line in found.lines())
    assert any("control: one half of these lows from the other" in line for line in found.lines())
    assert found.as_json()["told"]["noise"]["accuracy"] == found.told["noise"].accuracy


@pytest.mark.parametrize("small", [0, 1])
def test_tiles_count_where_all_lows_have_some(small: int):
    """One low is too small for tiles: so is its group, or one half of it."""
    rng = np.random.default_rng(4)
    lows = [
        [
            MeasuredLow({"deviation_g_4": rng.normal(level, 0.1)}, tiles=({"deviation_g_4": 1.0},))
            for _ in range(30)
        ]
        for level in (1.2, 0.8)
    ]
    lows[small][7] = lows[small][7]._replace(tiles=())
    groups = [
        Group(some, np.arange(start, start + 30)) for some, start in zip(lows, (0, 30), strict=True)
    ]
    found = compare_groups("mine", *groups)
    assert found.told["noise"].accuracy > 0.9
    assert found.control["noise"].accuracy < 0.75
