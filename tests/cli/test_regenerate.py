"""`gloam regenerate`."""

from __future__ import annotations

import re

from .running import error_line, run


def test_regenerate_says_what_changed(finished, tmp_path):
    result = run(
        "regenerate",
        finished,
        tmp_path / "new",
        "--set",
        "camera.iso=6400",
        "--seed",
        5,
        "--workers",
        1,
    )
    assert result.exit_code == 0
    assert "camera.iso" in result.output
    assert "24 pairs" in result.output
    assert run("verify", tmp_path / "new", "--deep", "--workers", 1).exit_code == 0
    lines = run("regenerate", finished, tmp_path / "other", "--recipe", "night-lights").output
    assert 'recipe.name: "' in lines
    assert "recipe.exposure" not in lines
    assert (
        "nothing was changed"
        in run("regenerate", finished, tmp_path / "same", "--workers", 1).output
    )
    assert "not a gloam set" in error_line("regenerate", tmp_path / "nowhere", tmp_path / "x")
    assert "other settings" in error_line("regenerate", finished, tmp_path / "new", "--workers", 1)


def test_a_changed_recipe_of_the_same_name_is_told_by_its_values(finished, tmp_path):
    own = tmp_path / "mine.yaml"
    text = (finished / "recipe.yaml").read_text()
    assert "by_brightness: " in text
    own.write_text(re.sub(r"by_brightness: \S+", "by_brightness: -0.5", text))
    arguments = ["--recipe", own, "--lows-only", "--workers", 1]
    lines = run("regenerate", finished, tmp_path / "new", *arguments).output
    assert "by_brightness" in lines
    assert "recipe.name" not in lines
