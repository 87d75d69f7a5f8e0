"""Which of the recipes that gloam ships is nearest, and whether it is moved."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import cv2
import numpy as np
import pytest

import gloam
from gloam.synth.analysis.pair_statistics import MeasuredNormal
from gloam.synth.fitting.candidates import Candidate, Candidates
from gloam.synth.fitting.measure import Pair, made_by, rows_of, table_of
from gloam.synth.fitting.moved import Moved
from gloam.synth.fitting.search import distance
from gloam.synth.fitting.shipped import (
    by_chance,
    is_grain,
    nearest_shipped,
    ramp,
    reason_to_move,
    resampled,
)
from gloam.synth.recipes.load import shipped_recipes


@pytest.fixture
def normals(photographs):
    return [cv2.imread(str(path))[..., ::-1].copy() for path in sorted(photographs.iterdir())]


def candidates(normals, pool, recipe, overrides=(), paired=True):
    lows = [
        gloam.darken(normal, recipe, seed=4, key=str(i), overrides=overrides)
        for i, normal in enumerate(normals)
    ]
    bases = [Pair(str(i), one, MeasuredNormal.of(one)) for i, one in enumerate(normals)]
    rows = rows_of(lows, [base.measured if paired else None for base in bases], pool)
    return Candidates(rows, bases, paired, pool, lambda tried: None)


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize(
    "name", ["even", "night-lights", "extreme", "upi", "mbllen", "day-to-night"]
)
def test_lows_of_a_recipe_are_known_to_be_its_own(normals, name, paired):
    with ThreadPoolExecutor(2) as pool:
        found = candidates(normals, pool, name, paired=paired).shipped(0)
    assert found.reason < 0.5
    assert found.point.base == name


def test_lows_of_a_recipe_that_was_moved_move_it(normals):
    overrides = ["exposure.ev=normal(6.2, 0.6, 3, 9)", "camera.iso=loguniform(4000, 16000)"]
    with ThreadPoolExecutor(2) as pool:
        searched = candidates(normals, pool, "even", overrides)
        found = searched.shipped(20)
        unmoved = table_of(made_by(Moved.of("even").recipe(), searched.bases, True, pool))
        last = searched.last(found)
    assert found.reason == 1
    assert found.point.base == "even"
    assert 1 < last.point.values()["ev"] < 2
    assert 1.5 < last.point.values()["iso"] < 4
    assert last.apart < 0.1 * distance(searched.wanted, unmoved)


def test_beside_one_that_cannot_be_moved_another_is(normals):
    with ThreadPoolExecutor(2) as pool:
        searched = candidates(normals, pool, "agllnet")
        for row in searched.rows:  # as if darker: no agllnet as it is
            row["mean"] *= 0.8
            row["exposure_ev"] += 0.5
        found = searched.shipped(20)

        def measure(point):
            return table_of(made_by(point.recipe(), searched.bases, True, pool))

        with_camera = nearest_shipped(
            searched.wanted, searched.rows, measure, measure, lambda point: 1.0, movable=True
        )
    assert found.reason == 1
    assert with_camera.moves
    assert found.point.base == "agllnet" or found.point.moves


def test_what_has_no_camera_is_taken_as_it_is_or_not_at_all(normals):
    with ThreadPoolExecutor(2) as pool:
        searched = candidates(normals, pool, "gamma", ["curve.gamma=uniform(3.5, 5)"])
        last = searched.last(Candidate(Moved.of("gamma"), searched.wanted, 0.0))
    assert last.point == Moved.of("gamma")
    assert last.apart > 10


def test_a_recipe_is_moved_as_far_as_there_is_reason_to():
    assert [ramp(value, 2, 4) for value in (0, 2, 3, 4, 9)] == [0, 0, 0.5, 1, 1]
    moved = Moved.of("even").moved(ev=1.0, iso=-0.6)
    assert moved.part(0.5) == Moved.of("even").moved(ev=0.5, iso=-0.3)


def test_grain_is_told_from_noise(normals):
    rng = np.random.default_rng(0)
    grains = [cv2.GaussianBlur(rng.normal(0, 12, one.shape[:2]), (0, 0), 0.8) for one in normals]
    grainy = [
        np.clip(one + grain[..., None], 0, 255).astype(np.uint8)
        for one, grain in zip(normals, grains, strict=True)
    ]
    with ThreadPoolExecutor(2) as pool:
        wanted = {
            (name, images is grainy): candidates(images, pool, name, paired=False).wanted
            for name in ("even", "day-to-night")
            for images in (normals, grainy)
        }
    assert is_grain(wanted["day-to-night", True])
    assert not is_grain(wanted["even", False])
    assert not is_grain(wanted["even", True])
    assert not is_grain({})


def test_chance_gives_no_reason_and_more_than_chance_does(normals):
    with ThreadPoolExecutor(2) as pool:
        bases = [Pair(str(i), one, MeasuredNormal.of(one)) for i, one in enumerate(normals)]

        def made(recipe, seed, overrides=()):
            return made_by(gloam.load_recipe(recipe, overrides), bases, True, pool, seed)

        own, same = made("even", 0), [made("even", seed) for seed in range(1, 9)]
        noisier = made("even", 9, ["camera.iso=loguniform(4000, 25600)"])
    chance = [reason_to_move(table_of(rows), rows, own, paired=True) for rows in same]
    assert np.mean(chance) < 0.2
    assert reason_to_move(table_of(noisier), noisier, own, paired=True) == 1
    # Two sets are about as far from each other as the chance of both makes it; of so few more.
    tables = [table_of(rows) for rows in same]
    apart = np.mean([distance(tables[i], tables[i + 4]) for i in range(4)])
    by = [by_chance(table, rows, resampled(rows)) for table, rows in zip(tables, same, strict=True)]
    assert 0.4 < apart / (2 * np.mean(by)) < 2.5


def test_no_recipe_is_made_twice(normals, monkeypatch):
    asked, told = [], []

    def made(recipe, pairs, paired, pool):
        asked.append((recipe, len(pairs)))
        return made_by(recipe, pairs, paired, pool)

    monkeypatch.setattr("gloam.synth.fitting.candidates.made_by", made)
    with ThreadPoolExecutor(2) as pool:
        searched = candidates(normals, pool, "even", ["exposure.ev=7", "camera.iso=12800"])
        replace(searched, at=told.append).shipped(0)
    assert told == list(range(1, len(asked) + 1))
    assert all(asked.count(one) == 1 for one in asked)


def test_one_that_is_near_is_not_moved_before(normals):
    with ThreadPoolExecutor(2) as pool:
        searched = candidates(normals, pool, "uneven")
        asked = []

        def measure(point):
            asked.append(point)
            return table_of(made_by(point.recipe(), searched.bases, True, pool))

        found = nearest_shipped(searched.wanted, searched.rows, measure, measure, lambda point: 1.0)
    assert found == Moved.of("uneven")
    assert set(asked) == {Moved.of(name) for name in shipped_recipes()}


def test_one_that_is_far_is_not_moved_where_nothing_speaks_against_it(normals):
    overrides = ["exposure.ev=normal(6.2, 0.6, 3, 9)", "camera.iso=loguniform(4000, 16000)"]
    with ThreadPoolExecutor(2) as pool:
        searched = candidates(normals, pool, "even", overrides)

        def nearest(reason):
            def measure(point):
                return table_of(made_by(point.recipe(), searched.bases, True, pool))

            return nearest_shipped(
                searched.wanted, searched.rows, measure, measure, lambda point: reason
            )

        moved, as_it_is = nearest(0.2), nearest(0.0)
    assert moved != Moved.of(moved.base)
    assert as_it_is == Moved.of(as_it_is.base)
