"""`gloam recipes`."""

from __future__ import annotations

import pytest

from .running import error_line, run


def test_recipes_are_listed_and_shown():
    assert "uneven" in run("recipes").output
    assert run("recipes", "even").output == run("recipes", "show", "even").output
    assert "recipe evn: neither a file nor one of" in error_line("recipes", "evn")
    assert "iso: 3200" in run("recipes", "show", "even", "--set", "camera.iso=3200").output


@pytest.mark.parametrize(
    ("override", "named"),
    [
        ("camera.isoo=3", "unknown key camera.isoo"),
        ("camera.iso=many", "many"),
        ("exposure.ev=uniform(8,3)", "reversed range"),
        ("camera.name=leica", "sony-a7s2"),
        ("camera.iso=99999999", "outside"),
        ("camera.iso=30", "calibrated from 50"),
        ("isp.demosaic=fancy", "malvar"),
        ("model=neural", "power_law"),
        ("isp.chroma.strength=2", "outside 0 to 1"),
        ("illumination.lamps.count=1.5", "whole number"),
    ],
)
def test_a_wrong_recipe_gets_one_line_with_key_value_and_what_is_allowed(override, named):
    line = error_line("recipes", "show", "even", "--set", override)
    assert named in line
    assert (
        override.partition("=")[2].split("(")[0] in line
        or "unknown key" in line
        or "reversed" in line
    )
