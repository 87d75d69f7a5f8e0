"""`gloam preview`."""

from __future__ import annotations

import pytest

from gloam.synth.measures.contact_sheet import describe_draw
from gloam.synth.models import draw
from gloam.synth.recipes.load import load_recipe

from .running import error_line, run, width_of


def test_preview_makes_a_sheet(photographs, tmp_path):
    photo = next(path for path in sorted(photographs.rglob("*")) if path.is_file())
    out = tmp_path / "sheet.png"
    assert (
        run(
            "preview", photo, "--recipe", "even", "--recipe", "gamma", "--out", out, "--width", 100
        ).exit_code
        == 0
    )
    assert width_of(out) == 4 * 108 + 8
    grid = ["--grid", "camera.iso=400,1600", "exposure.ev=2,uniform(4,5),6"]
    assert run("preview", photo, *grid, "--out", out, "--width", 100).exit_code == 0
    assert width_of(out) == 3 * 108 + 8
    assert run("preview", "--out", out, "--width", 64).exit_code == 0
    assert run("preview", photographs, "--out", out, "--width", 64).exit_code == 0


def test_captions_say_whose_noise_it_is():
    own, sensor = (
        " ".join(describe_draw(draw(load_recipe("even", changes), 0, "k"), 1000))
        for changes in ([], ["camera.iso=3200"])
    )
    assert "read noise 0." in own
    assert "ISO" not in own
    assert "sony-a7s2 ISO 3200" in sensor
    assert "EV, +0.8 EV per stop of brightness, " in own


def test_each_command_tells_once_that_a_sensor_was_chosen(tmp_path):
    out = ["--out", str(tmp_path / "sheet.png")]
    for _ in range(2):
        grid = ["--grid", "camera.iso=400,800", "exposure.ev=3,4"]
        result = run("preview", "--recipe", "even", *grid, *out)
        assert result.stderr.count("noise is that of this sensor") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "sheet.jpg"], "must end in .png"),
        (["nowhere.jpg"], "nowhere.jpg"),
        (["--grid", "camera.iso", "exposure.ev=3"], "write it as KEY=VALUE,VALUE"),
        (["--set", "camera.iso=9"], "camera.iso"),
        (
            ["--recipe", "night-lights", "--grid", "camera.iso=400,9", "exposure.ev=3"],
            "calibrated from",
        ),
    ],
)
def test_preview_mistakes_get_one_line(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert message in error_line("preview", *arguments)
    assert list(tmp_path.iterdir()) == []
