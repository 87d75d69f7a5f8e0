"""One function more is a column of everything that measures pairs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import gloam
from gloam.cli.main import gloam as command
from gloam.synth.measures.columns import ADDED, ALL_LABELS, BANKS, statistic
from gloam.synth.measures.report import set_subject


def corner(low, normal):
    """Level of the corner.

    Real lows of the folders below have a stamp there.
    """
    return float(low[:4, :4].mean())


@pytest.fixture
def added(monkeypatch):
    """The function as a column, for one test."""
    for bank, names in BANKS.items():
        monkeypatch.setitem(BANKS, bank, names)
    monkeypatch.setitem(ALL_LABELS, "corner", "")
    monkeypatch.setitem(ADDED, "corner", corner)
    statistic("of 255", bank="noise")(corner)


@pytest.fixture(scope="module")
def pairs(photographs, tmp_path_factory) -> tuple[Path, Path]:
    """Lows with a stamp, and their normals."""
    lows, normals = (tmp_path_factory.mktemp("stamped") / name for name in ("low", "normal"))
    for folder in (lows, normals):
        folder.mkdir()
    for i, path in enumerate(sorted(photographs.iterdir())[:14]):
        normal = np.asarray(Image.open(path).convert("RGB"))
        low = gloam.darken(normal, "even", seed=9, key=path.stem, overrides=["exposure.ev=3"])
        low[:4, :4] = 200 + i
        Image.fromarray(low).save(lows / f"{path.stem}.png")
        shutil.copy(path, normals)
    return lows, normals


LABEL = "Level of the corner, of 255"


def run(*arguments: object) -> str:
    said = CliRunner().invoke(command, [str(one) for one in arguments], catch_exceptions=False)
    assert said.exit_code == 0, said.output
    return said.stdout


def test_stats_and_reports_have_it(added, pairs, tmp_path):
    said = run("stats", *pairs, "--full", "--workers", 1)
    assert f"{LABEL} " in said
    found = json.loads(run("stats", *pairs, "--json", "--workers", 2))  # workers are sent it
    assert found["percentiles"]["corner"][1] == pytest.approx(206.5)
    run("report", *pairs, "--out", tmp_path / "page.html", "--workers", 1)
    assert LABEL in (tmp_path / "page.html").read_text()
    reference = tmp_path / "mine.yaml"
    run("stats", *pairs, "--save-reference", reference, "--workers", 1)
    assert "corner" in reference.read_text()
    run("stats", *pairs, "--beside", reference, "--workers", 1)


def test_sets_have_it(added, photographs, tmp_path):
    gloam.build(tmp_path / "set", f"folder={photographs}", recipe="even", pairs=2, select=False)
    assert all("corner" in row for row in set_subject(tmp_path / "set", None, 2).measured.rows)


@pytest.mark.slow
def test_realism_tells_lows_by_it(added, pairs):
    pytest.importorskip("sklearn")
    found = gloam.realism(*pairs, recipe="even", overrides=["exposure.ev=3"], workers=1)
    assert found.told["noise"].accuracy > found.control["noise"].accuracy
    assert any(tell.names == ("corner",) and LABEL in tell.words for tell in found.tells)


@pytest.mark.slow
def test_fits_say_what_of_it_they_do_not_have(added, pairs):
    found = gloam.fit(*pairs, workers=1)
    (residual,) = (one for one in found.residuals if one.statistic == "corner")
    assert residual.plain
    assert any(LABEL in line for line in found.lines())


def test_outputs_are_judged_by_it(added, pairs):
    low, normal = pairs
    found = gloam.judge({"same": low}, low=low, normal=normal, perceptual=False, workers=1)
    place = found.columns.index("corner")
    assert found.values["same"][:, place].tolist() == [200.0 + i for i in range(14)]
    for text in (found.text(), found.markdown(), found.csv(), json.dumps(found.as_json())):
        assert "corner" in text
