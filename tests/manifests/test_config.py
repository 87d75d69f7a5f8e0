"""Values that people write as models, and in a line each what is wrong with them."""

from __future__ import annotations

import functools
from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, model_validator

import gloam
from gloam.errors import ConfigError
from gloam.manifests.config import validate


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")

    iso: int = Field(default=100, ge=50, le=102400)
    mode: Literal["binned", "malvar"] = "binned"


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    camera: Inner = Inner()
    sizes: list[int] = []

    @model_validator(mode="after")
    def _named(self) -> Outer:
        if self.name == "forbidden":
            raise ValueError("name = forbidden: choose another")
        return self


def test_right_values_become_a_model() -> None:
    found = validate(Outer, {"name": "x", "camera": {"iso": 200}, "sizes": [1, 2]}, "x.yaml")
    assert found == Outer(name="x", camera=Inner(iso=200), sizes=[1, 2])


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({}, "x.yaml: name: Field required"),
        ({"name": 3}, "x.yaml: name = 3: Input should be a valid string"),
        (
            {"name": "x", "nmae": 3},
            "x.yaml: unknown key nmae = 3; name is meant?; known here: name, camera, sizes",
        ),
        (
            {"name": "x", "camera": {"ISO": 3}},
            "x.yaml: unknown key camera.ISO = 3; known here: iso, mode",
        ),
        (
            {"name": "x", "camera": {"iso": 7}},
            "x.yaml: camera.iso = 7: Input should be greater than or equal to 50",
        ),
        (
            {"name": "x", "camera": {"mode": "mean"}},
            "x.yaml: camera.mode = 'mean': Input should be 'binned' or 'malvar'",
        ),
        (
            {"name": "x", "camera": 5},
            "x.yaml: camera = 5: must hold keys and values; known here: iso, mode",
        ),
        ({"name": "x", "sizes": [1, "two"]}, "x.yaml: sizes.1 = 'two': "),
        ({"name": "forbidden"}, "x.yaml: name = forbidden: choose another"),
        ({"name": "x", 5: 6}, "x.yaml: 5 = "),
    ],
)
def test_a_wrong_value_is_told_by_file_key_value_and_what_is_allowed(
    values: dict[str, object], line: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        validate(Outer, values, "x.yaml")
    (found,) = str(refused.value).splitlines()
    assert found.startswith(line)


def test_every_mistake_gets_a_line() -> None:
    with pytest.raises(ConfigError) as refused:
        validate(Outer, {"camera": {"iso": 1, "lens": 2}, "size": 3}, "x.yaml")
    lines = str(refused.value).splitlines()
    assert len(lines) == 4
    assert all(line.startswith("x.yaml: ") for line in lines)
    assert [
        key
        for key in ("name", "camera.iso", "camera.lens", "size")
        if any(key in line for line in lines)
    ] == [
        "name",
        "camera.iso",
        "camera.lens",
        "size",
    ]


def test_what_is_wrong_is_shown_cut() -> None:
    deep = functools.reduce(lambda inner, _: [inner] * 9, range(9), [1])
    values = {"name": deep, **{f"key {i}" * 50: "long" * 1000 for i in range(20_000)}}
    with pytest.raises(ConfigError) as refused:
        validate(Outer, values, "x.yaml")
    lines = str(refused.value).splitlines()
    assert len(lines) == 21
    assert lines[-1].endswith("more like these")
    assert max(map(len, lines)) < 1000


def test_true_is_no_number():
    for key in ("val", "seed", "shard_size"):
        with pytest.raises(ConfigError, match=f"{key} = True: true and false are no numbers"):
            gloam.build("SET", select=False, **{key: True})
