"""A set's folder as it lies, read by Hugging Face's datasets."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest
import yaml
from markdown_it import MarkdownIt

import gloam
from gloam.manifests.sets.problems import verify_set
from gloam.synth.building import readme
from gloam.synth.building.regenerate import regenerate

from ...clips import davis
from ...labelled import class_source, voc_source

datasets = pytest.importorskip("datasets")


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readme")
    sources = [
        f"voc={voc_source(folder / 'VOC', 8)}",
        f"classes={class_source(folder / 'classes', 5)}",
    ]
    gloam.build(folder / "set", sources, val=3, labels=True, select=False, shard_size=4)
    return folder / "set"


@pytest.fixture(scope="module")
def plain(photographs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("readme") / "set"
    gloam.build(root, f"folder={photographs}", val=5, select=False, recipe="night-lights")
    return root


def held(value):
    """A draw without nulls: one schema has the sections of all recipes of a mixture."""
    if isinstance(value, dict):
        return {key: held(one) for key, one in value.items() if one is not None}
    return [held(one) for one in value] if isinstance(value, list) else value


def loaded(root: Path, cache: Path, streaming: bool = False):
    return datasets.load_dataset(str(root), streaming=streaming, cache_dir=str(cache))


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("which", ["labelled", "plain"])
def test_shards_are_read_whole(which, streaming, request, tmp_path):
    root = request.getfixturevalue(which)
    found = loaded(root, tmp_path, streaming=streaming)
    pairs = {pair.key: pair for pair in gloam.open_set(root).pairs()}
    seen = set()
    for named in ("train", "validation"):
        for row in found[named]:
            pair = pairs[row["__key__"].rpartition("/")[2]]
            assert np.array_equal(np.asarray(row["low.png"]), pair.decoded("low"))
            normal = row[f"normal.{pair.normal.suffix}"].convert("RGB")
            assert np.array_equal(np.asarray(normal), pair.decoded("normal"))
            assert held(row["json"]["draw"]) == held(pair.record["draw"])
            seen.add(pair.key)
    assert seen == pairs.keys()


def test_other_forms_are_read_too(labelled, tmp_path):
    gloam.export(labelled, tmp_path / "files", layout="files")
    regenerate(labelled, tmp_path / "lows", seed=3, lows_only=True)
    found = loaded(tmp_path / "files", tmp_path / "cache")
    assert {split: len(rows) for split, rows in found.items()} == {"train": 10, "validation": 3}
    pairs = {pair.key: pair for pair in gloam.open_set(labelled).pairs()}
    for row in (*found["train"], *found["validation"]):
        for member in ("low", "normal"):
            image = np.asarray(row[member].convert("RGB"))
            assert np.array_equal(image, pairs[row["key"]].decoded(member))
    assert verify_set(tmp_path / "files", strict=True) == []
    rows = loaded(tmp_path / "lows", tmp_path / "cache", streaming=True)["train"]
    assert {"low.png", "cls"} <= set(next(iter(rows)))


@pytest.mark.parametrize("layout", ["shards", "files"])
def test_a_row_of_a_set_of_clips_is_a_clip(layout, tmp_path):
    gloam.build(
        tmp_path / "set",
        f"clips={davis(tmp_path / 'davis', 3, 4)}",
        frames=2,
        val=2,
        layout=layout,
        select=False,
        recipe="even",
    )
    assert 'gloam.ClipLoader("THIS FOLDER"' in (tmp_path / "set" / "README.md").read_text()
    clips = {clip.key: clip for clip in gloam.open_set(tmp_path / "set").pairs()}
    found = loaded(tmp_path / "set", tmp_path / "cache")
    rows = [*found["train"], *found["validation"]]
    assert len(rows) == len(clips) == 6
    for row in rows:
        clip = clips[row["key"] if layout == "files" else row["__key__"].rpartition("/")[2]]
        frame = row["low"][1] if layout == "files" else row["low.001.png"]
        assert np.array_equal(np.asarray(frame), clip.decoded("low.001"))


MARKUP = [
    "<script>alert(1)</script>",
    "[x](javascript:alert(1))",
    "<img src=x onerror=alert(1)>",
    "a\n\n<script>alert(1)</script>",
    "```\n<script>alert(1)</script>",
    "`<b>`",
    "<javascript:alert(1)>",
    "![x](javascript:alert(1))",
    "[x]: javascript:alert(1)",
    "name | <b>bold</b>",
    "--- \n# head",
    "}, author = {me",
    "---\nlicense: mine\n---\n",
]


@pytest.mark.parametrize("text", MARKUP)
def test_texts_of_others_do_nothing_in_markdown(text):
    shown = " ".join(text.split())
    for written in (
        f"# {readme.escape_markdown(text)}",
        f"recipe {readme.code(text)}, seed",
        f"| a | {readme.escape_markdown(text)} |\n| --- | --- |\n",
        readme.block(text, "yaml"),
        readme.front_matter({"name": text, "license": f"x {text}"}),
    ):
        html = MarkdownIt("gfm-like", {"linkify": False, "html": True}).render(written)
        tags = set(re.findall(r"<\s*/?([a-zA-Z]+)", html))
        assert not tags & {"script", "img", "a", "b"}, html
        assert "href" not in html
    head = readme.front_matter({"name": text, "license": f"x {text}"})
    assert yaml.safe_load(head.split("---\n")[1]) == {"name": text, "license": f"x {text}"}
    assert shown.replace(" ", "") in unescape(
        re.sub("<.*?>", "", MarkdownIt().render(readme.escape_markdown(text)))
    ).replace(" ", "")
    assert bibtex_depth(readme.bibtex(text)) == 0


def bibtex_depth(text: str) -> int:
    """How many braces stay open; -1 when one is closed that was not opened."""
    depth = 0
    for brace in re.sub(r"\\[{}]", "", text):
        depth += {"{": 1, "}": -1}.get(brace, 0)
        if depth < 0:
            return -1
    return depth


def test_ordinary_names_stay_as_they_are():
    assert readme.escape_markdown("Night streets, 2.0") == "Night streets, 2.0"
    assert readme.code("night-lights") == "`night-lights`"
    head = readme.front_matter({"license": "cc-by-4.0", "tags": ["a"]})
    assert head == "---\nlicense: cc-by-4.0\ntags:\n- a\n---\n"


def test_it_is_no_part_of_the_set_and_an_edited_one_stays(labelled, photographs, tmp_path):
    root = tmp_path / "set"
    gloam.build(root, f"folder={photographs}", select=False, low_codec="none")
    (root / "README.md").write_text("mine")
    gloam.build(root, f"folder={photographs}", select=False, low_codec="none")
    assert (root / "README.md").read_text() == "mine"
    assert verify_set(root, strict=True) == []
    (root / "README.md").unlink()
    assert verify_set(root, strict=True) == []
