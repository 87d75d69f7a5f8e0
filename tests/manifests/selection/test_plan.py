"""The plan: a function of seed and candidates, whatever the order these come in."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from gloam.errors import ConfigError
from gloam.manifests.selection.bounds import EVERYTHING, KEPT, Profile, load_profile
from gloam.manifests.selection.candidates import MEASURE_SCHEMA
from gloam.manifests.selection.plan import (
    DUPLICATE,
    PLAN_SCHEMA,
    SPARE,
    TRAIN,
    VAL,
    Plan,
    PlanOptions,
    _apportion,
    make_plan,
)
from gloam.manifests.sources import Source

relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

GOOD: dict[str, Any] = {
    "width": 640,
    "height": 480,
    "mean": 0.5,
    "clipped": 0.0,
    "dark": 0.0,
    "bright": 1.0,
    "laplacian": 900.0,
    "colourfulness": 40.0,
    "reason": "",
    "detail": "",
}


def source(name: str, limit: int | None = None) -> Source:
    return Source(kind="folder", path="x", name=name, limit=limit)


def far_apart_hashes(count: int) -> list[int]:
    """Hashes of which no two are near-duplicates (random 63-bit numbers differ in about half their
    bits)."""
    return np.random.default_rng(5).integers(0, 2**63, count, dtype=np.uint64).tolist()


def candidates_of(
    counts: dict[str, int], changes: dict[int, dict[str, Any]] | None = None
) -> pa.Table:
    """A table as `measure_candidates` returns it, of so many suitable candidates a source;
    `changes` by row."""
    rows = []
    hashes = far_apart_hashes(sum(counts.values()))
    for name, count in counts.items():
        for i in range(count):
            place = {
                "source": name,
                "key": f"{name}-{i:05d}",
                "path": f"{i:05d}.jpg",
                "container": "c",
                "member": f"{i}.jpg",
            }
            rows.append(
                place
                | {"offset": -1, "size": 1000 + i, "stamp": 0}
                | GOOD
                | {"perceptual_hash": hashes[len(rows)]}
            )
    for row, change in (changes or {}).items():
        rows[row] |= change
    places = [pa.field(n, pa.string()) for n in ("source", "key", "path", "container", "member")]
    numbers = [pa.field(n, pa.int64()) for n in ("offset", "size", "stamp")]
    return pa.Table.from_pylist(rows, schema=pa.schema([*places, *numbers, *MEASURE_SCHEMA]))


def plan_of(
    counts: dict[str, int],
    limits: dict[str, int] | None = None,
    changes: dict[int, dict[str, Any]] | None = None,
    profile: Profile = EVERYTHING,
    **options: Any,
) -> Plan:
    sources = [source(name, (limits or {}).get(name)) for name in counts]
    return make_plan(candidates_of(counts, changes), sources, profile, PlanOptions(**options))


def keys(plan: Plan, split: str | None = None) -> list[str]:
    return [row["key"] for row in plan.pairs.to_pylist() if split in (None, row["split"])]


def reasons(plan: Plan) -> dict[str, str]:
    return dict(
        zip(plan.candidates["key"].to_pylist(), plan.candidates["reason"].to_pylist(), strict=True)
    )


def check_whole(plan: Plan, candidates: pa.Table) -> None:
    """Check that every candidate is a pair or has a reason, and rows are copied, sorted and counted
    right."""
    assert plan.pairs.schema == PLAN_SCHEMA
    given = {row["key"]: row for row in candidates.to_pylist()}
    rows = plan.pairs.to_pylist()
    assert len({row["key"] for row in rows}) == len(rows)
    for row in rows:
        origin = given[row["key"]]
        assert (row["source"], row["path"], row["bytes"]) == (
            origin["source"],
            origin["path"],
            origin["size"],
        )
    assert plan.candidates.schema == candidates.schema
    same = [name for name in candidates.column_names if name not in ("reason", "detail")]
    assert plan.candidates.select(same) == candidates.select(same)
    planned = {row["key"] for row in rows}
    for key, reason in reasons(plan).items():
        assert (reason == KEPT) == (key in planned)
    units = [(row["split"], row["shard"]) for row in rows]
    assert units == sorted(units, key=lambda unit: ((TRAIN, VAL).index(unit[0]), unit[1]))
    for split in (TRAIN, VAL):
        sizes = Counter(shard for s, shard in units if s == split)
        assert sorted(sizes) == list(range(len(sizes)))
        assert max(sizes.values(), default=0) - min(sizes.values(), default=0) <= 1


def shuffled(table: pa.Table, seed: int) -> pa.Table:
    return table.take(np.random.default_rng(seed).permutation(table.num_rows))


# A function of seed and candidates


@pytest.mark.parametrize(
    "options", [{}, {"pairs": 37}, {"pairs": 37, "val": 9}, {"val": 5, "shard_size": 7}]
)
def test_row_order_of_the_candidates_changes_nothing(options: dict[str, Any]) -> None:
    candidates = candidates_of(
        {"a": 40, "b": 25, "c": 3}, {7: {"mean": 0.0}, 50: {"reason": "damaged"}}
    )
    sources = [source("a"), source("b", 20), source("c")]
    plan = make_plan(candidates, sources, load_profile(), PlanOptions(seed=3, **options))
    check_whole(plan, candidates)
    for seed in range(4):
        mixed = shuffled(candidates, seed)
        other = make_plan(mixed, sources, load_profile(), PlanOptions(seed=3, **options))
        check_whole(other, mixed)
        assert other.pairs == plan.pairs
        assert reasons(other) == reasons(plan)


def test_the_same_seed_gives_the_same_plan_and_another_seed_another() -> None:
    first = plan_of({"a": 60}, pairs=30, val=10, seed=1)
    assert plan_of({"a": 60}, pairs=30, val=10, seed=1).pairs == first.pairs
    other = plan_of({"a": 60}, pairs=30, val=10, seed=2)
    assert set(keys(other)) != set(keys(first))
    assert set(keys(other, VAL)) != set(keys(first, VAL))


def test_choice_split_and_order_have_luck_of_their_own() -> None:
    """With one hash for all, the validation split would be the first chosen, and the first of its
    shard."""
    plan = plan_of({"a": 400}, val=100, seed=1)
    assert set(keys(plan, VAL)) != set(keys(plan_of({"a": 400}, pairs=100, seed=1)))
    assert set(keys(plan, VAL)) != set(keys(plan_of({"a": 400}, seed=1))[:100])
    assert keys(plan) != sorted(keys(plan))


def test_pairs_of_all_sources_are_mixed_within_shards() -> None:
    plan = plan_of({"a": 400, "b": 400}, shard_size=100)
    for shard in range(8):
        names = Counter(row["source"] for row in plan.pairs.to_pylist() if row["shard"] == shard)
        assert min(names["a"], names["b"]) > 25


def test_asking_for_more_keeps_what_was_chosen_before() -> None:
    few, more = plan_of({"a": 100}, pairs=20), plan_of({"a": 100}, pairs=50)
    assert set(keys(few)) < set(keys(more))


@pytest.mark.parametrize("split", [TRAIN, VAL])
def test_one_candidate_less_changes_the_plan_by_at_most_one(split: str) -> None:
    whole = candidates_of({"a": 120})
    options = PlanOptions(pairs=60, val=20, seed=4)
    before = set(keys(make_plan(whole, [source("a")], EVERYTHING, options), split))
    for row in range(0, 120, 7):
        fewer = whole.take([i for i in range(120) if i != row])
        after = set(keys(make_plan(fewer, [source("a")], EVERYTHING, options), split))
        assert len(before - after) <= 2
        assert len(after - before) <= 2


# How many, from which source


def test_without_a_number_every_suitable_candidate_is_taken() -> None:
    plan = plan_of({"a": 30, "b": 12})
    assert Counter(plan.pairs["source"].to_pylist()) == {"a": 30, "b": 12}
    assert set(reasons(plan).values()) == {KEPT}


@pytest.mark.parametrize(
    ("counts", "pairs", "taken"),
    [
        ({"a": 60, "b": 30, "c": 10}, 50, {"a": 30, "b": 15, "c": 5}),
        ({"a": 60, "b": 30, "c": 10}, 100, {"a": 60, "b": 30, "c": 10}),
        ({"a": 10, "b": 10, "c": 10}, 10, {"a": 4, "b": 3, "c": 3}),
        ({"a": 97, "b": 3}, 10, {"a": 10}),
        ({"a": 94, "b": 6}, 10, {"a": 9, "b": 1}),
    ],
)
def test_sources_are_drawn_from_in_proportion(
    counts: dict[str, int], pairs: int, taken: dict[str, int]
) -> None:
    plan = plan_of(counts, pairs=pairs)
    assert Counter(plan.pairs["source"].to_pylist()) == taken
    assert Counter(reasons(plan).values()) == Counter(
        [KEPT] * pairs + [SPARE] * (sum(counts.values()) - pairs)
    )


def test_limits_cap_a_source_before_the_proportions() -> None:
    counts = {"a": 80, "b": 20}
    assert Counter(plan_of(counts, {"a": 20}).pairs["source"].to_pylist()) == {"a": 20, "b": 20}
    assert Counter(plan_of(counts, {"a": 20}, pairs=10).pairs["source"].to_pylist()) == {
        "a": 5,
        "b": 5,
    }
    plan = plan_of(counts, {"a": 20, "b": 1000})
    assert Counter(reasons(plan).values()) == {KEPT: 40, SPARE: 60}


def test_limits_count_suitable_candidates_only() -> None:
    damaged = {i: {"reason": "damaged", "detail": "cut"} for i in range(30)}
    plan = plan_of({"a": 50}, {"a": 20}, damaged)
    assert Counter(reasons(plan).values()) == {"damaged": 30, KEPT: 20}


def test_too_few_candidates_are_refused_with_the_counts() -> None:
    dark = {i: {"mean": 0.0} for i in range(10)}
    with pytest.raises(
        ConfigError, match=r"pairs = 2,000: only 1,095 candidates are suitable \(a 1,090, b 5\)"
    ):
        plan_of({"a": 1100, "b": 50}, {"b": 5}, dark, load_profile(), pairs=2000)


def test_exactly_enough_candidates_are_enough() -> None:
    assert plan_of({"a": 10}, pairs=10).pairs.num_rows == 10
    with pytest.raises(ConfigError, match="pairs = 11: only 10"):
        plan_of({"a": 10}, pairs=11)


def test_no_suitable_candidate_is_refused_with_the_way_out() -> None:
    with pytest.raises(ConfigError, match=r"no candidate is suitable.*--no-select"):
        plan_of({"a": 3}, None, {i: {"mean": 0.0} for i in range(3)}, load_profile())


@pytest.mark.parametrize("reason", ["damaged", "unsupported", "too large"])
def test_files_that_cannot_be_used_bring_no_advice_about_bounds(reason: str) -> None:
    changes = {i: {"reason": reason, "detail": "so"} for i in range(3)}
    with pytest.raises(ConfigError, match=f"refused {reason} 3; mend them or add") as error:
        plan_of({"a": 3}, None, changes, load_profile())
    assert "profile" not in str(error.value)
    with pytest.raises(ConfigError, match="only 2") as error:
        plan_of({"a": 5}, None, changes, load_profile(), pairs=4)
    assert "profile" not in str(error.value)


@relaxed
@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=8).filter(any), st.data())
def test_apportioning_gives_all_and_never_more_than_there_is(
    available: list[int], data: st.DataObject
) -> None:
    whole = sum(available)
    total = data.draw(st.integers(0, whole))
    shares = _apportion(total, available)
    assert sum(shares) == total
    assert all(0 <= share <= n for share, n in zip(shares, available, strict=True))
    assert all(
        abs(share - total * n / whole) < 1 for share, n in zip(shares, available, strict=True)
    )


@relaxed
@given(st.integers(1, 50), st.integers(1, 6), st.data())
def test_apportioning_equal_sources_favours_the_earlier(
    each: int, count: int, data: st.DataObject
) -> None:
    shares = _apportion(data.draw(st.integers(0, each * count)), [each] * count)
    assert shares == sorted(shares, reverse=True)
    assert shares[0] - shares[-1] <= 1


# Splits and shards


@pytest.mark.parametrize("val", [0, 1, 17, 59])
def test_validation_has_exactly_its_number_and_shares_no_pair(val: int) -> None:
    plan = plan_of({"a": 40, "b": 20}, val=val)
    assert len(keys(plan, VAL)) == val
    assert len(keys(plan, TRAIN)) == 60 - val
    assert not set(keys(plan, VAL)) & set(keys(plan, TRAIN))


def test_more_validation_pairs_than_pairs_are_refused() -> None:
    with pytest.raises(ConfigError, match="val = 31: there are only 30 pairs in all"):
        plan_of({"a": 100}, pairs=30, val=31)


def test_validation_that_leaves_no_training_pair_is_refused() -> None:
    with pytest.raises(ConfigError, match="none would be left to train on"):
        plan_of({"a": 100}, pairs=30, val=30)


def test_validation_of_fewer_pairs_is_part_of_that_of_more() -> None:
    validations = [set(keys(plan_of({"a": 100}, val=val), VAL)) for val in (5, 20, 60)]
    assert all(few < more for few, more in pairwise(validations))


@pytest.mark.parametrize(
    ("pairs", "size", "lengths"),
    [
        (100, 30, [25, 25, 25, 25]),
        (101, 30, [26, 25, 25, 25]),
        (90, 30, [30, 30, 30]),
        (91, 30, [23, 23, 23, 22]),
        (3, 1, [1, 1, 1]),
        (3, 100_000, [3]),
        (49, None, [49]),
        (101, None, [34, 34, 33]),
        (400, None, [50] * 8),
        (1600, None, [50] * 32),
        (8001, None, [251] + [250] * 31),
    ],
)
def test_shards_are_balanced_and_no_larger_than_asked_for(
    pairs: int, size: int | None, lengths: list[int]
) -> None:
    plan = plan_of({"a": pairs}, shard_size=size)
    sizes = Counter(plan.pairs["shard"].to_pylist())
    assert [sizes[shard] for shard in sorted(sizes)] == lengths
    check_whole(plan, candidates_of({"a": pairs}))


def test_each_split_numbers_its_shards_from_zero() -> None:
    plan = plan_of({"a": 100}, val=30, shard_size=20)
    sizes = Counter((row["split"], row["shard"]) for row in plan.pairs.to_pylist())
    train = {(TRAIN, 0): 18, (TRAIN, 1): 18, (TRAIN, 2): 17, (TRAIN, 3): 17}
    assert sizes == train | {(VAL, 0): 15, (VAL, 1): 15}


# Refusals and duplicates


def test_duplicates_are_dropped_and_name_the_first_which_is_kept() -> None:
    changes = {
        2: {"perceptual_hash": 0b0000},
        5: {"perceptual_hash": 0b0111},  # three bits from 2
        8: {"perceptual_hash": 0b1111},  # four bits from 2
        9: {"perceptual_hash": 0b0000},
    }
    plan = plan_of({"a": 10}, changes=changes, profile=Profile(duplicate_bits=3))
    found = reasons(plan)
    assert {key for key, reason in found.items() if reason == DUPLICATE} == {"a-00005", "a-00009"}
    details = dict(
        zip(plan.candidates["key"].to_pylist(), plan.candidates["detail"].to_pylist(), strict=True)
    )
    assert details["a-00005"] == details["a-00009"] == "of a-00002"
    check_whole(plan, candidates_of({"a": 10}, changes))
    assert len(keys(plan)) == 8


def test_duplicates_are_kept_without_a_bound_and_by_a_lower_bound() -> None:
    changes = {0: {"perceptual_hash": 0b0}, 1: {"perceptual_hash": 0b11}}
    assert len(keys(plan_of({"a": 4}, changes=changes))) == 4
    assert len(keys(plan_of({"a": 4}, changes=changes, profile=Profile(duplicate_bits=1)))) == 4
    assert len(keys(plan_of({"a": 4}, changes=changes, profile=Profile(duplicate_bits=2)))) == 3


def test_an_unsuitable_photograph_does_not_drop_its_duplicates() -> None:
    changes = {
        0: {"perceptual_hash": 1, "mean": 0.0},
        1: {"perceptual_hash": 1},
        2: {"perceptual_hash": 1},
    }
    found = reasons(plan_of({"a": 3}, changes=changes, profile=load_profile()))
    assert found == {"a-00000": "too dark", "a-00001": KEPT, "a-00002": DUPLICATE}


def test_duplicates_of_other_sources_are_dropped_too() -> None:
    plan = plan_of(
        {"a": 2, "b": 2},
        changes={1: {"perceptual_hash": 9}, 2: {"perceptual_hash": 9}},
        profile=Profile(duplicate_bits=0),
    )
    assert reasons(plan)["b-00000"] == DUPLICATE


def test_reasons_and_details_of_measuring_are_kept() -> None:
    plan = plan_of(
        {"a": 4}, changes={1: {"reason": "damaged", "detail": "ends early"}}, profile=load_profile()
    )
    row = plan.candidates.to_pylist()[1]
    assert (row["reason"], row["detail"]) == ("damaged", "ends early")
    assert "a-00001" not in keys(plan)


@pytest.mark.parametrize("seed", range(5))
def test_every_candidate_ends_as_a_pair_or_with_a_reason(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = {"a": 80, "b": 50, "c": 20}
    changes: dict[int, dict[str, Any]] = {}
    for row in rng.permutation(150)[:70]:
        kind = rng.integers(0, 4)
        changes[int(row)] = [
            {"reason": "damaged", "detail": "x"},
            {"mean": 0.1},
            {"perceptual_hash": int(rng.integers(0, 4))},
            {"laplacian": 1.0},
        ][kind]
    limits = {"a": 30, "c": 5}
    plan = plan_of(
        counts, limits, changes, load_profile(), pairs=40, val=7, shard_size=9, seed=seed
    )
    check_whole(plan, candidates_of(counts, changes))
    assert plan.pairs.num_rows == 40
    assert set(reasons(plan).values()) == {KEPT, SPARE, DUPLICATE, "damaged", "too dark", "blurred"}


def test_planning_changes_none_of_what_it_was_given() -> None:
    candidates = candidates_of({"a": 10}, {3: {"mean": 0.0}})
    before = candidates.to_pydict()
    make_plan(candidates, [source("a")], load_profile(), PlanOptions(pairs=5))
    assert candidates.to_pydict() == before


@pytest.mark.parametrize(
    "values",
    [
        {"pairs": 0},
        {"pairs": -1},
        {"val": -1},
        {"shard_size": 0},
        {"shard_size": 100_001},
        {"seed": -1},
        {"seed": 2**63},
        {"par": 1},
    ],
)
def test_wrong_options_are_refused(values: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        PlanOptions.model_validate(values)
