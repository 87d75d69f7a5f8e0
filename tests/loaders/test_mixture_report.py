"""`gloam report` and `gloam bench` of a mixture's file."""

from __future__ import annotations

import json

import pytest

from ..cli.running import run


@pytest.fixture
def file(shards, files, photos, tmp_path):
    path = tmp_path / "some.yaml"
    path.write_text(
        f"mix:\n  set: [{shards}, {{0: 3, 5: 0}}]\n"
        f"  live: {{data: {files}, weight: {{0: 2, 5: 0}}, recipe: gamma}}\n"
        f"  later: {{data: {{dark: {photos}, bright: {photos}}}, weight: {{0: 1, 5: 1}},"
        " unpaired: true}\nepoch: 50\n"
    )
    return path


def test_a_page_shows_each_component(file, tmp_path):
    out = tmp_path / "page.html"
    said = run("report", file, "--pairs", 10, "--workers", 1, "--out", out)
    assert said.exit_code == 0, said.output
    text = out.read_text()
    assert "50.0% of samples<" in text
    assert "16.7% of samples; not measured" in text
    assert "set (6)" in text
    assert "live (4)" in text
    assert "10 of 10 pairs of some measured" in text
    refused = run("report", file, file, "--out", out)
    assert refused.exit_code == 1
    assert "a mixture is reported on alone" in refused.output


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("{low: FILES/normal, normal: FILES/low}", "component odd: 4 of 4 images are brighter"),
        ("{dark: FILES/normal, bright: FILES/low}, unpaired: true", "than the bright ones"),
    ],
)
def test_swapped_folders_of_a_component_end_in_one_line(data, said, files, tmp_path):
    mixed, split = tmp_path / "some.yaml", str(files / "train")
    data = data.replace("FILES", split)
    mixed.write_text(
        f"mix:\n  right: [{{low: {split}/low, normal: {split}/normal}}, 2]\n"
        f"  odd: {{data: {data}, weight: 1}}\nepoch: 12\n"
    )
    words = ["report", mixed, "--pairs", 12, "--workers", 1, "--out", tmp_path / "page.html"]
    refused = run(*words)
    assert (refused.exit_code, refused.output.count("\n")) == (1, 1)
    assert str(mixed) in refused.output
    assert said in refused.output
    assert run(*words, "--brighter-lows").exit_code == 0


def test_each_component_is_timed_alone(file):
    options = ["--seconds", 0.1, "--batch-size", 4, "--size", 16, "--workers", 0, "--json"]
    said = run("bench", file, *options)
    assert said.exit_code == 0, said.output
    names = [speed["name"] for speed in json.loads(said.stdout)["speeds"]]
    parts = ["set alone", "live alone", "later alone", "mixture", "allowed by components"]
    assert names == [f"{part}, {way}" for way in ("0 workers", "DALI") for part in parts]
