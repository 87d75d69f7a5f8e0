"""The same pairs with other noise, and in the other layout."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import asdict
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import gloam
from gloam.errors import ConfigError, SetError
from gloam.manifests.selection.bounds import EVERYTHING
from gloam.manifests.selection.plan import PlanOptions
from gloam.manifests.sets.info import read_set
from gloam.manifests.sets.layouts import layout_named
from gloam.manifests.sets.pair_set import open_set
from gloam.manifests.sets.problems import verify_set
from gloam.manifests.sets.receipts import read_receipt, receipt_path
from gloam.manifests.sources import Source
from gloam.synth.building.build import build_request
from gloam.synth.building.deep_verify import recheck_set
from gloam.synth.building.regenerate import regenerate
from gloam.synth.building.request import OutputOptions, Request
from gloam.synth.measures.report import set_subject
from gloam.synth.measures.set_statistics import measure_set
from gloam.synth.recipes.load import load_recipe

from ...trees import files_of


@pytest.fixture(scope="module", params=["shards", "files"])
def origin(request, photographs, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("origin")
    photos = shutil.copytree(photographs, folder / "photos")
    (photos / "broken.jpg").write_bytes((photos / "photo-1.jpg").read_bytes()[:900])
    source = Source(kind="folder", path=str(photos), name="p")
    output = OutputOptions(layout=request.param)
    plan = PlanOptions(val=5, shard_size=7, seed=3)
    build_request(
        Request(
            sources=(source,),
            profile=EVERYTHING,
            plan=plan,
            recipe=load_recipe("even"),
            output=output,
        ),
        folder / "set",
    )
    shutil.rmtree(photos)  # the sources are gone
    return folder / "set"


def pairs_of(root: Path):
    """The samples as they lie there: of a set of lows only, without normals."""
    info = read_set(root)
    layout = layout_named(info.layout)
    return [p for unit in info.units for p in layout.samples(root, read_receipt(root, unit))]


def test_nothing_changed_gives_the_same_bytes(origin, tmp_path):
    regenerate(origin, tmp_path / "new", workers=2)
    assert files_of(tmp_path / "new") == files_of(origin)
    regenerate(origin, tmp_path / "same", load_recipe("even"), seed=3)
    assert files_of(tmp_path / "same") == files_of(origin)


def test_only_lows_and_draws_differ(origin, tmp_path):
    info = regenerate(origin, tmp_path / "new", overrides=["camera.iso=12800"])
    before, after = pairs_of(origin), pairs_of(tmp_path / "new")
    assert [p.key for p in before] == [p.key for p in after]
    assert [p.normal for p in before] == [p.normal for p in after]
    assert all(a.low != b.low for a, b in zip(before, after, strict=True))
    assert all(b.record["draw"]["camera"]["iso"] == 12800 for b in after)
    assert all(
        a.record["draw"]["exposure"] == b.record["draw"]["exposure"]
        for a, b in zip(before, after, strict=True)
    )
    assert read_set(origin).units == info.units
    assert read_set(origin).counts == info.counts
    assert info.build.origin["sha256"] == read_set(origin).sha256
    assert any("camera.iso" in line and "12800" in line for line in info.build.origin["changed"])
    assert verify_set(tmp_path / "new") == []
    assert recheck_set(open_set(tmp_path / "new")) == []


def test_lows_only(origin, tmp_path):
    whole = regenerate(origin, tmp_path / "whole", overrides=["camera.iso=12800"])
    info = regenerate(
        origin, tmp_path / "lows", overrides=["camera.iso=12800"], lows_only=True, workers=2
    )
    assert info.build.lows_only
    lows = pairs_of(tmp_path / "lows")
    assert [(p.key, p.low, p.record) for p in lows] == [
        (p.key, p.low, p.record) for p in pairs_of(tmp_path / "whole")
    ]
    assert all(list(p.members) == ["low"] for p in lows)
    assert info.counts == whole.counts
    size = {name: sum(map(len, files_of(tmp_path / name).values())) for name in ("lows", "whole")}
    assert size["lows"] < size["whole"]
    assert verify_set(tmp_path / "lows") == []
    assert recheck_set(open_set(tmp_path / "lows", origin)) == []
    found = measure_set(open_set(tmp_path / "lows", origin), 5)
    wanted = measure_set(open_set(tmp_path / "whole"), 5)
    np.testing.assert_equal(asdict(found), asdict(wanted))  # some are NaN
    for refused in (
        lambda: recheck_set(open_set(tmp_path / "lows")),
        lambda: recheck_set(open_set(tmp_path / "lows", tmp_path / "whole")),
        lambda: measure_set(open_set(tmp_path / "lows"), 5),
        lambda: regenerate(tmp_path / "lows", tmp_path / "again"),
        lambda: gloam.export(tmp_path / "lows", tmp_path / "again", layout="files"),
        lambda: regenerate(origin, tmp_path / "lows", overrides=["camera.iso=12800"]),
    ):
        with pytest.raises(SetError, match=r"lows|not the set|other settings"):
            refused()


def test_a_damaged_set_of_lows_is_mended_by_the_same_call(origin, tmp_path):
    info = regenerate(origin, tmp_path / "lows", lows_only=True)
    before = files_of(tmp_path / "lows")
    name = max(before, key=lambda name: len(before[name]))
    (tmp_path / "lows" / name).write_bytes(before[name][:-1] + b"?")
    problems = verify_set(tmp_path / "lows")
    assert [(p.where.startswith(name), "gloam regenerate" in p.mend) for p in problems] == [
        (True, True)
    ]
    assert regenerate(origin, tmp_path / "lows", lows_only=True) == info
    assert files_of(tmp_path / "lows") == before


def test_another_seed_and_recipe(origin, tmp_path):
    info = regenerate(origin, tmp_path / "new", load_recipe("agllnet"), seed=9)
    assert info.seed == 9
    assert info.recipe == "agllnet"
    assert verify_set(tmp_path / "new") == []
    assert recheck_set(open_set(tmp_path / "new")) == []
    regenerate(tmp_path / "new", tmp_path / "again", load_recipe("agllnet"), seed=9)
    assert files_of(tmp_path / "again") == files_of(tmp_path / "new")


def test_it_continues_and_mends_and_refuses_other_settings(origin, tmp_path):
    root = tmp_path / "new"
    regenerate(origin, root, overrides=["camera.iso=12800"])
    whole = files_of(root)
    units = list(read_set(root).units)
    receipt_path(root, units[0]).unlink()
    damaged = root / read_receipt(root, units[1]).files[0].path
    data = damaged.read_bytes()
    damaged.write_bytes(data[:50] + bytes([data[50] ^ 4]) + data[51:])
    regenerate(origin, root, overrides=["camera.iso=12800"], workers=2)
    assert files_of(root) == whole
    with pytest.raises(SetError, match=r"camera\.iso"):
        regenerate(origin, root, overrides=["camera.iso=800"])
    with pytest.raises(SetError, match="the set itself"):
        regenerate(origin, origin)
    with pytest.raises(ConfigError, match="isoo"):
        regenerate(origin, tmp_path / "x", overrides=["camera.isoo=3"])
    assert not (tmp_path / "x").exists()
    assert files_of(root) == whole


def test_a_damaged_origin_is_named(origin, tmp_path):
    copy = shutil.copytree(origin, tmp_path / "copy")
    pair = pairs_of(copy)[2]
    for path in copy.rglob("*"):
        if path.is_file() and pair.normal.data in (data := path.read_bytes()):
            path.write_bytes(data.replace(pair.normal.data, bytes(len(pair.normal.data))))
    with pytest.raises(SetError, match=rf"{pair.key}\.normal"):
        regenerate(copy, tmp_path / "new", overrides=["camera.iso=12800"])


def test_export_there_and_back(origin, tmp_path):
    layout = read_set(origin).layout
    other = "files" if layout == "shards" else "shards"
    info = gloam.export(origin, tmp_path / "other", layout=other, workers=2)
    assert info.layout == other
    assert verify_set(tmp_path / "other") == []
    assert pairs_of(tmp_path / "other") == pairs_of(origin)
    gloam.export(tmp_path / "other", tmp_path / "back", layout=layout)
    ours, theirs = files_of(tmp_path / "back"), files_of(origin)
    kept = [
        name
        for name in theirs
        if name.startswith(("shards/", "train/", "val/", "lists/", "pairs.", "plan."))
    ]
    assert kept
    assert all(ours[name] == theirs[name] for name in kept)


def test_folders_list_lows_and_normals_in_one_order(photographs, tmp_path):
    """On /dev/shm, as some trainers pair two listings that nobody sorted."""
    memory = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else tmp_path))
    request = Request(
        sources=[Source(kind="folder", path=str(photographs), name="p")],
        profile=EVERYTHING,
        plan=PlanOptions(val=6, shard_size=3),
        recipe=load_recipe("even"),
        output=OutputOptions(layout="files"),
    )
    try:
        build_request(request, memory / "set", workers=4)
        gloam.export(memory / "set", memory / "shards", layout="shards")
        gloam.export(memory / "shards", memory / "files", layout="files", workers=4)
        for root, split in product((memory / "set", memory / "files"), ("train", "val")):
            keys = [
                [name.partition(".")[0] for name in os.listdir(root / split / folder)]
                for folder in ("low", "normal", "draw")
            ]
            assert keys[0] == keys[1] == keys[2]
            assert len(keys[0]) > 5
        assert verify_set(memory / "files", strict=True) == []
    finally:
        shutil.rmtree(memory)


@pytest.mark.slow
@pytest.mark.parametrize("low_codec", ["png", "none"])
def test_sets_that_name_unused_cameras_keep_to_it(photographs, tmp_path, monkeypatch, low_codec):
    asked = {
        "sources": f"folder={photographs}:12",
        "recipe": "even:0.5,night-lights:0.5",
        "low_codec": low_codec,
        "select": False,
        "val": 4,
        "shard_size": 6,
        "workers": 1,
    }
    old, new = tmp_path / "old", tmp_path / "new"
    with monkeypatch.context() as before:
        before.setattr("gloam.synth.building.request.draws_version", lambda recipe: {})
        gloam.build(old, **asked)
    gloam.build(new, **asked)
    unused = 0
    for one, other in zip(pairs_of(old), pairs_of(new), strict=True):
        assert one.members == other.members
        camera = one.record["draw"]["camera"]
        assert None not in (camera["name"], camera["iso"])
        if "noise" in one.record["draw"]:
            one.record["draw"]["camera"] |= {"name": None, "iso": None}
            unused += 1
        assert one.record == other.record
    assert 0 < unused < 12
    rows = open_set(new).table("pairs").select(["draw_camera_name", "draw_camera_iso"])
    assert [column.null_count for column in rows.columns] == [unused, unused]
    wanted = files_of(old)
    for root in (old, new):
        assert not gloam.verify(root, deep=True)
    assert gloam.regenerate(old, tmp_path / "again", workers=1).build.origin is None
    assert files_of(tmp_path / "again") == wanted
    gloam.publish(old, tmp_path / "published", "plan")
    gloam.rebuild(tmp_path / "published", tmp_path / "rebuilt", [f"folder={photographs}"])
    assert files_of(tmp_path / "rebuilt") == wanted
    unit = next(iter(read_set(old).units))
    receipt_path(old, unit).unlink()
    gloam.build(old, **asked)  # mended
    assert files_of(old) == wanted
    others = gloam.regenerate(old, tmp_path / "other", seed=9, workers=1)
    assert others.build.versions["draws"] == "2"
    for root, said in ((old, " Draws name them all the same."), (new, "")):
        subject = set_subject(root, None, 12)
        assert sum(subject.cameras.values()) == len(subject.drawn["draw_camera_iso"]) == 12 - unused
        assert f"not used by {unused} of 12 pairs" in dict(subject.facts)["camera, ISO"]
        gloam.publish(root, root.with_suffix(".hub"), "plan")
        card = (root.with_suffix(".hub") / "README.md").read_text()
        assert "not used by pairs of `even`: noise is the recipe's own" in card
        assert f"by its section `noise`.{said}\n" in card
