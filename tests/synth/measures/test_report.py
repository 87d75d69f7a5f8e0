"""Reports: valid pages that ask for nothing, with the numbers of stats and of the set."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import html5lib
import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import gloam
from gloam.cli.main import gloam as command
from gloam.errors import SetError
from gloam.synth.measures.checks import checks_of_set
from gloam.synth.measures.page import page
from gloam.synth.measures.pictures import chosen, histogram
from gloam.synth.measures.report import folder_subject, set_subject

from ...browser import NEEDED, Watched, accessible, browser
from ...labelled import voc_source


@pytest.fixture(scope="module")
def made(photographs, tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("report") / "a set"
    gloam.build(root, f"folder={photographs}", recipe="even:1,uneven:1", val=4, select=False)
    return root


def checked(text: str) -> str:
    """A page that is valid and asks for nothing."""
    html5lib.HTMLParser(strict=True).parse(text)
    assert not re.search(r"(src|href)=[\"'](?!data:)", text)
    assert not re.search(r"url\(|@import|https?://", text)
    for image in re.findall(r"<img[^>]*>", text):
        assert re.search(r' alt="[^"]+"', image)
    return text


def test_a_report_has_the_numbers_of_the_set_and_of_its_statistics(made):
    subject = set_subject(made, None, 600)
    text = checked(page([subject]))
    assert len(text) < 5e6
    info = gloam.open_set(made).info
    assert info.sha256 in text
    assert "train 20, val 4" in text
    assert "24 of 24 pairs of a set measured" in text
    said = CliRunner().invoke(command, ["stats", str(made), "--json"])
    percentiles = json.loads(said.output)["percentiles"]
    for values in percentiles.values():
        assert " / ".join(f"{value:.3g}" for value in values) in text
    for name in ("even", "uneven"):
        assert f"{name} (" in text  # medians of the mixture's recipes
    assert {check.name for check in checks_of_set(gloam.open_set(made), subject.measured)} == {
        check.name for check in subject.checks
    }
    for shown in subject.shown:
        assert shown.key in text
    assert text.count('<figure class="pair">') == len(subject.shown) >= 6


def zeros(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


@pytest.mark.parametrize(
    ("name", "damage", "says"),
    [
        ("shards/train-000000.tar", zeros, "train-000000: holds 0 pairs, its receipt"),
        ("shards/train-000000.tar", lambda path: path.write_bytes(path.read_bytes()[:9000]), ""),
        ("shards/train-000000.tar", Path.unlink, "No such file"),
        ("shards/train-000000.idx", zeros, "is not as it was written"),
        ("receipts/train-000000.json", Path.unlink, "No such file"),
    ],
)
def test_a_damaged_set_fails_a_check_that_names_the_shard(made, tmp_path, name, damage, says):
    root = tmp_path / "set"
    shutil.copytree(made, root)
    damage(root / name)
    checks = gloam.report(root, out=tmp_path / "page.html", pairs=4)
    checked((tmp_path / "page.html").read_text())
    (found,) = [check.found for check in checks if not check.passed]
    assert "train-000000" in found
    assert says in found
    if not name.endswith(".idx"):
        with pytest.raises(SetError, match=r"train-000000.*gloam verify"):
            gloam.stats(root, pairs=4)


def test_damaged_files_fail_a_check(made, tmp_path):
    gloam.export(made, tmp_path / "files", layout="files")
    lows = sorted((tmp_path / "files/train/low").iterdir())
    lows[0].write_bytes(b"")
    data = lows[1].read_bytes()
    lows[1].write_bytes(data[:80] + bytes(40) + data[120:])
    lows[2].unlink()
    checks = gloam.report(tmp_path / "files", out=tmp_path / "page.html")
    (found,) = [check.found for check in checks if not check.passed]
    assert all(path.stem in found for path in (lows[0], lows[2]))


def test_sets_whose_lows_are_brighter_are_told(photographs, tmp_path):
    bright = {"select": False, "recipe": "even", "overrides": ["exposure.ev=-2"], "pairs": 2}
    gloam.build(tmp_path / "set", f"folder={photographs}", **bright)
    checks = gloam.report(tmp_path / "set", out=tmp_path / "page.html")
    assert "lows that are darker than their normals" in {c.name for c in checks if not c.passed}
    (remark,) = gloam.verify(tmp_path / "set", deep=True)
    assert remark.remark
    assert "brighter than its normal" in str(remark)


def test_extremes_are_extreme(made):
    measured = set_subject(made, None, 600).measured
    reasons = chosen(measured)
    means = [row["mean"] for row in measured.rows]
    assert "lowest: mean" in reasons[int(np.argmin(means))]
    assert "highest: mean" in reasons[int(np.argmax(means))]
    assert sum("typical" in why for why in reasons.values()) == 6


@pytest.mark.slow
def test_a_set_is_told_from_a_folder_of_real_lows(made, photographs, tmp_path):
    pytest.importorskip("sklearn")
    out = tmp_path / "page.html"
    arguments = ["report", made, "--beside", photographs, "--out", out, "--workers", 1]
    said = CliRunner().invoke(command, [str(one) for one in arguments], catch_exceptions=False)
    assert said.exit_code == 0
    text = checked(out.read_text())
    assert "told from real lows" in text
    assert "What gives them away" in text  # the folder holds photographs of daylight


def test_live_sets_two_sets_folders_and_labels(made, photographs, tmp_path):
    source = voc_source(tmp_path / "VOC", 6)
    options = {"select": False, "layout": "files", "labels": True}
    gloam.build(tmp_path / "b", f"voc={source}", recipe="even", low_codec="none", **options)
    both = [set_subject(made, None, 10), set_subject(tmp_path / "b", None, 10)]
    text = checked(page(both))
    assert "a set and b" in text
    assert "10 of 24 pairs of a set measured" in text
    assert "labelled boxes" in text
    assert "made when they are loaded" in text
    lows, normals = tmp_path / "lows", tmp_path / "normals"
    for folder in (lows, normals):
        folder.mkdir()
    for i, pair in enumerate(gloam.open_set(made).pairs("val")):
        (lows / f"{i}.png").write_bytes(pair.low.data)
        (normals / f"{i}.jpg").write_bytes(pair.normal.data)
    assert "Real pairs." in checked(page([folder_subject(lows, normals, 100)]))
    assert "Real low-light" in checked(page([folder_subject(lows, None, 100)]))
    (lows / "0.png").write_bytes(b"")
    subject = folder_subject(lows, normals, 100)
    assert next(one.found for one in subject.checks if not one.passed) == (
        f"{lows / '0.png'}: the file has no bytes"
    )
    checked(page([subject]))


def test_checks_fail_where_something_is_wrong(photographs, tmp_path):
    source = tmp_path / "photographs"
    shutil.copytree(photographs, source)
    for i in range(6):  # the same picture under several names
        shutil.copy(source / "photo-0.jpg", source / f"again-{i}.jpg")
    options = {"select": False, "val": 14, "recipe": "even", "overrides": ["exposure.ev=14"]}
    gloam.build(tmp_path / "set", f"folder={source}", low_codec="jpeg", low_quality=60, **options)
    subject = set_subject(tmp_path / "set", None, 100)
    failed = {check.name for check in subject.checks if not check.passed}
    assert "equal pictures in several splits" in failed
    assert "pictures of several splits that look alike" in failed
    assert "lows that are too dark to hold a picture" in failed
    assert "noise of lows stored as JPEG" in failed
    assert checked(page([subject])).count('class="failed"') == len(failed)


def test_the_command_writes_a_page_and_says_what_is_wrong(made, tmp_path):
    run = CliRunner()
    out = tmp_path / "page.html"
    said = run.invoke(command, ["report", str(made), "--out", str(out), "--pairs", "6"])
    assert said.exit_code == 0, said.output
    assert "checks, " in said.output
    assert "6 of 24 pairs" in checked(out.read_text())
    (tmp_path / "empty").mkdir()
    for arguments in (
        [str(tmp_path / "nothing")],
        [str(tmp_path / "empty")],
        [str(made), "--out", str(tmp_path / "page.txt")],
        [str(made), str(tmp_path / "empty")],
        [str(tmp_path / "empty"), str(made)],
    ):
        wrong = run.invoke(command, ["report", *arguments])
        assert wrong.exit_code == 1, wrong.output
        assert len(wrong.output.strip().splitlines()) == 1


def test_sets_of_one_name_and_lows_of_another(made, tmp_path):
    twin = tmp_path / made.name
    gloam.regenerate(made, twin, seed=9, lows_only=True)
    out = tmp_path / "page.html"
    said = CliRunner().invoke(command, ["report", str(made), str(twin), "--out", str(out)])
    assert said.exit_code == 0, said.output
    text = checked(out.read_text())
    assert f"{made} and {twin}" in text
    assert text.count(f"<small>{made}: ") >= 6
    alone = CliRunner().invoke(command, ["report", str(twin), "--out", str(out)])
    assert alone.exit_code == 1
    assert "--normals" in alone.output


def test_names_of_files_are_text(made, tmp_path):
    folder = tmp_path / "<b>&"
    folder.mkdir()
    pixels = np.random.default_rng(0).integers(0, 60, (40, 60, 3)).astype(np.uint8)
    Image.fromarray(pixels).save(folder / "<script>'\"\u202e\x1b[31m.png")
    text = checked(page([folder_subject(folder, None, 10)]))
    assert "<script>'" not in text
    assert "&lt;script&gt;" in text
    assert not set("\u202e\x1b") & set(text)


def test_histograms_of_anything():
    for values in ([], [1.0], [np.nan, 2.0], [0.0] * 5, list(range(1000))):
        for logarithmic in (False, True):
            made = histogram(
                "t", {"a": values, "b": [1.0]}, {"R": [0.5, 1, 2], "M": 3}, logarithmic
            )
            html5lib.HTMLParser(strict=True).parseFragment(made)
            assert "nan" not in made


_STRUCK = """[...document.querySelectorAll(".chart text.name")].filter((name) => {
  const own = name.getBoundingClientRect();
  return [...name.parentElement.querySelectorAll(".band, .median, .bars, text")].some((other) => {
    const box = other.getBoundingClientRect();
    return other !== name && box.left < own.right && own.left < box.right
      && box.top + 2 < own.bottom && own.top + 2 < box.bottom;
  });
}).length"""
"""How many names in charts something else lies over; 2 pixels of a line's height are air."""


@pytest.mark.slow
@NEEDED
def test_a_browser_opens_it_offline_and_all_can_read_it(made, tmp_path):
    out = tmp_path / "page.html"
    out.write_text(page([set_subject(made, None, 6)]))
    with browser() as opened:
        watched = Watched(opened, "about:blank")
        watched.page.context.set_offline(True)
        watched.page.goto(out.as_uri())
        slider = watched.page.locator(".pair input").first
        slider.fill("20")
        wipe = watched.page.locator(".pair .wipe").first
        assert "20%" in wipe.get_attribute("style")
        for width in (1440, 768, 320):
            watched.page.set_viewport_size({"width": width, "height": 800})
            assert watched.page.evaluate("document.documentElement.scrollWidth") <= width
            tops = watched.page.evaluate(
                "[...document.querySelectorAll('.chart, .pair')].map((one) =>"
                " [one.className, ...['top', 'height'].map((n) => Math.round("
                "one.getBoundingClientRect()[n]))].join())"
            )
            cards = {tuple(one.split(",")[:2]): one.split(",")[2] for one in tops}
            assert all(cards[tuple(one.split(",")[:2])] == one.split(",")[2] for one in tops)
            assert watched.page.evaluate(_STRUCK) == 0
        for scheme in ("light", "dark"):
            watched.page.emulate_media(color_scheme=scheme)
            accessible(watched.page)
        assert watched.said == []
        assert [one for one in watched.requests if not one.startswith(("data:", "file:"))] == []
