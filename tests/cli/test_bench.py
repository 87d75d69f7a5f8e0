"""`gloam bench`."""

from __future__ import annotations

import json

from .running import run


def test_bench_measures_every_way(finished):
    result = run(
        "bench",
        finished,
        "--seconds",
        0.1,
        "--batch-size",
        4,
        "--size",
        16,
        "--workers",
        0,
        "--json",
    )
    assert result.exit_code == 0, result.output
    table = json.loads(result.stdout)
    names = [speed["name"] for speed in table["speeds"]]
    assert {speed["note"] for speed in table["speeds"]} == {""}
    for way in ("DALI, stored", "DALI, live", "resident in", "DataLoader, live", "in memory"):
        assert any(way in name for name in names), way
    assert table["advice"].removeprefix("fastest here: ") in names
    assert all(speed["pairs_a_second"] > 0 for speed in table["speeds"])
