"""Bounds on measures, and the profile that gloam ships."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image, ImageFilter

from gloam.errors import ConfigError
from gloam.manifests.images.header import MAX_PIXELS
from gloam.manifests.selection.bounds import EVERYTHING, KEPT, Profile, load_profile, refusal_of
from gloam.manifests.selection.candidates import MEASURE_SCHEMA
from gloam.manifests.selection.measures import FIELDS, measure

GOOD: dict[str, Any] = {
    "width": 640,
    "height": 480,
    "mean": 0.5,
    "clipped": 0.01,
    "dark": 0.05,
    "bright": 0.9,
    "laplacian": 900.0,
    "colourfulness": 40.0,
    "perceptual_hash": 1,
    "reason": "",
    "detail": "",
}


def table(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist([GOOD | row for row in rows], schema=MEASURE_SCHEMA)


def reasons(profile: Profile, *rows: dict[str, Any]) -> list[str]:
    return list(refusal_of(table(*rows), profile))


def test_the_shipped_profile_sets_every_bound_but_the_largest_size() -> None:
    profile = load_profile()
    assert [name for name, bound in profile if bound is None] == ["max_side"]
    assert reasons(profile, {}) == [KEPT]


@pytest.mark.parametrize(
    ("bound", "value", "column", "kept", "refused", "reason"),
    [
        ("min_mean", 0.25, "mean", 0.25, 0.2499, "too dark"),
        ("max_mean", 0.75, "mean", 0.75, 0.7501, "too bright"),
        ("max_clipped", 0.125, "clipped", 0.125, 0.126, "clipped"),
        ("max_dark", 0.25, "dark", 0.25, 0.26, "dark areas"),
        ("min_bright", 0.5, "bright", 0.5, 0.49, "too few bright areas"),
        ("min_laplacian", 200, "laplacian", 200.0, 199.9, "blurred"),
        ("min_colourfulness", 12, "colourfulness", 12.0, 11.9, "colourless"),
        ("max_clipped", 0, "clipped", 0.0, 0.0001, "clipped"),
        ("min_side", 128, "width", 128, 127, "too small"),
        ("min_side", 128, "height", 128, 127, "too small"),
        ("max_side", 640, "width", 640, 641, "too large"),
        ("max_side", 640, "height", 640, 641, "too large"),
    ],
)
def test_a_bound_keeps_its_own_value_and_refuses_beyond_it(
    bound: str, value: float, column: str, kept: float, refused: float, reason: str
) -> None:
    profile = Profile.model_validate({bound: value})
    assert reasons(profile, {column: kept}, {column: refused}) == [KEPT, reason]


@pytest.mark.parametrize(("width", "height"), [(400, 100), (100, 400)])
def test_aspect_counts_whichever_side_is_longer(width: int, height: int) -> None:
    sides = {"width": width, "height": height}
    assert reasons(Profile(max_aspect=4), sides) == [KEPT]
    assert reasons(Profile(max_aspect=3.99), sides) == ["too elongated"]


def test_without_bounds_all_that_could_be_measured_is_kept() -> None:
    extreme = {
        "width": 1,
        "height": 5000,
        "mean": 0.0,
        "clipped": 1.0,
        "dark": 1.0,
        "bright": 0.0,
        "laplacian": 0.0,
    }
    assert reasons(EVERYTHING, extreme, {}, {"reason": "damaged"}) == [KEPT, KEPT, "damaged"]
    assert Profile() == EVERYTHING


def test_what_could_not_be_measured_keeps_its_reason() -> None:
    failed = dict.fromkeys(FIELDS, 0) | {"reason": "not an image", "detail": "no header"}
    assert reasons(load_profile(), failed) == ["not an image"]


def test_one_breach_is_enough_and_the_first_of_several_is_named() -> None:
    assert reasons(
        load_profile(), {"laplacian": 0.0}, {"mean": 0.1, "laplacian": 0.0, "width": 10}
    ) == ["blurred", "too small"]


def test_judging_changes_no_candidate() -> None:
    candidates = table({"mean": 0.0}, {})
    before = candidates.to_pydict()
    refusal_of(candidates, load_profile())
    assert candidates.to_pydict() == before


def test_judging_does_not_depend_on_the_other_candidates() -> None:
    rng = np.random.default_rng(0)
    rows = [
        {name: float(rng.random()) for name in ("mean", "clipped", "dark", "bright")}
        for _ in range(50)
    ]
    together = reasons(load_profile(), *rows)
    assert together == [reasons(load_profile(), row)[0] for row in rows]
    assert len(set(together)) > 3


@pytest.mark.parametrize("name", ["chelsea.png", "coffee.png"])
def test_the_shipped_profile_keeps_good_photographs_and_refuses_what_was_spoilt(
    skimage_data: Path, encoded: Any, name: str
) -> None:
    with Image.open(skimage_data / name) as image:
        good = image.convert("RGB")
    spoilt = {
        KEPT: good,
        "too dark": good.point(lambda level: level // 8),
        "too bright": good.point(lambda level: 232 + level // 32),
        "blurred": good.filter(ImageFilter.GaussianBlur(12)),
        "colourless": good.convert("L").convert("RGB"),
        "too small": good.resize((100, 100)),
        "too elongated": good.resize((1200, 140)),
    }
    rows = [
        (*measure(encoded(np.asarray(image), "PNG"), MAX_PIXELS), "", "")
        for image in spoilt.values()
    ]
    candidates = pa.table(
        [list(column) for column in zip(*rows, strict=True)], schema=MEASURE_SCHEMA
    )
    assert list(refusal_of(candidates, load_profile())) == list(spoilt)


# Reading profiles


def test_a_copied_and_changed_profile_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("min_side: 64\nmax_aspect: null\nduplicate_bits: 0\n")
    assert load_profile(path) == Profile(min_side=64, duplicate_bits=0)


def test_an_empty_profile_applies_no_bound(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("# nothing\n")
    assert load_profile(path) == EVERYTHING


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "min_sdie: 64",
            "unknown key min_sdie = 64; min_side is meant?; known here: min_side, max_side",
        ),
        ("min_side: 0", "min_side = 0: Input should be greater than or equal to 1"),
        ("min_side: wide", "min_side = 'wide'"),
        ("max_mean: 1.5", "max_mean = 1.5: Input should be less than or equal to 1"),
        ("max_mean: .nan", "max_mean = nan"),
        ("max_aspect: 0.5", "max_aspect = 0.5"),
        ("duplicate_bits: 4", "duplicate_bits = 4: Input should be less than or equal to 3"),
        ("- min_side", "expected keys and values, found a list"),
        ("min_side: [", "not YAML"),
    ],
)
def test_a_wrong_profile_is_refused_with_file_key_value_and_bound(
    tmp_path: Path, text: str, says: str
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as refused:
        load_profile(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert says in str(refused.value)


def test_all_mistakes_of_a_profile_are_listed_at_once(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("min_side: -1\nmax_mean: 7\nblur: 3\n")
    with pytest.raises(ConfigError) as refused:
        load_profile(path)
    assert len(str(refused.value).splitlines()) == 3


def test_a_missing_profile_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: No such file"):
        load_profile(tmp_path / "nowhere.yaml")
