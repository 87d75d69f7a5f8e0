"""Paired residuals: what is off is named, and nothing else is."""

from __future__ import annotations

import numpy as np
import pytest

from gloam.synth.measures.tells import paired_residuals, residual_lines

FORMS = "skewness", "kurtosis"
NAMES = (
    *(f"deviation_{c}_{level}" for c in "rgb" for level in (0, 1, 2, 3, 4, 6, 10, 16, 32)),
    *(f"{form}_{c}_{level}" for form in FORMS for c in "rgb" for level in (4, 6, 10, 16, 32)),
    *(f"lag_{axis}_{c}" for axis in ("row", "column") for c in "rgb"),
    *(f"tone_{c}_{level}" for c in "rgb" for level in (0, 16, 32, 64, 112, 160, 192, 224, 250)),
)


def rows(seed: int, count: int, **wrong: float) -> list[dict[str, float]]:
    rng = np.random.default_rng(seed)
    return [
        {name: float(1 + 0.02 * rng.normal() + wrong.get(name, 0)) for name in NAMES}
        for _ in range(count)
    ]


def test_what_is_off_is_said_in_words():
    wrong = {"deviation_g_4": 0.1, "lag_row_r": 0.05, "tone_b_16": -0.3, "skewness_r_6": -0.2}
    found = paired_residuals(rows(0, 20), rows(1, 20, **wrong))
    said = residual_lines(found, 20)
    assert said[0].startswith("not calibrated")
    assert len([one for one in found if one.plain]) == 4
    assert any(line.startswith("  G: noise at levels 4 to 6 is ") for line in said)
    assert any("% too strong (+- " in line for line in said)
    start = "  R: noise at levels 6 to 10 has 0."
    assert any(line.startswith(start) and "too little skewness" in line for line in said)
    assert any(line.startswith("  R: neighbours along rows agree by 0.0") for line in said)
    assert any(line.startswith("  B: levels 16 to 32 of the normal are 0.") for line in said)


@pytest.mark.parametrize("count", [5, 20, 60])
def test_there_are_no_false_alarms(count):
    for seed in range(20):
        found = paired_residuals(rows(seed, count), rows(100 + seed, count))
        assert residual_lines(found, count)[0].startswith("calibrated")


def test_few_pairs_say_that_they_are_few():
    assert "too little" in residual_lines(paired_residuals(rows(0, 4), rows(1, 4)), 4)[0]
    assert (
        "5 pairs an error of noise below"
        in residual_lines(paired_residuals(rows(0, 5), rows(1, 5)), 5)[0]
    )
