"""Live sets: normals and draws alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gloam
from gloam.engines.local import LocalEngine
from gloam.errors import SetError
from gloam.manifests.sets.layouts.shard_tar import shard_path
from gloam.synth.building import LOADED, WARM
from gloam.synth.building.deep_verify import recheck_set
from gloam.synth.building.regenerate import regenerate
from gloam.synth.measures.set_statistics import measure_set
from gloam.synth.renderers import pixels_of


@pytest.fixture(scope="module")
def sets(photographs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same set stored and live."""
    root = tmp_path_factory.mktemp("live")
    sources = [f"folder={photographs}"]
    for name, codec in (("stored", "png"), ("live", "none")):
        gloam.build(root / name, sources, val=3, select=False, shard_size=5, low_codec=codec)
    return {name: root / name for name in ("stored", "live")}


def tars(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((root / "shards").iterdir())}


def test_a_live_set_holds_normals_and_draws_and_is_sound(sets):
    pairs = gloam.open_set(sets["live"])
    assert pairs.live
    assert gloam.verify(pairs) == []
    assert recheck_set(pairs) == []
    assert not any("low" in sample.members for sample in pairs.pairs())
    table = pairs.table("pairs")
    assert "normal_sha256" in table.column_names
    assert "low_sha256" not in table.column_names
    stored = gloam.open_set(sets["stored"])
    assert not stored.live
    assert [s.record["draw"] for s in pairs.pairs()] == [s.record["draw"] for s in stored.pairs()]


def test_its_lows_are_those_of_the_stored_set(sets):
    live, stored = (gloam.open_set(sets[name]).pairs() for name in ("live", "stored"))
    for one, other in zip(live, stored, strict=True):
        low, normal = pixels_of(one)
        stored_low, stored_normal = other.pixels()
        assert (low == stored_low).all()
        assert (normal == stored_normal).all()


def test_export_makes_its_lows_with_the_bytes_of_the_stored_set(sets, tmp_path):
    gloam.export(sets["live"], tmp_path / "made", layout="shards", workers=2)
    assert tars(tmp_path / "made") == tars(sets["stored"])
    gloam.export(sets["live"], tmp_path / "files", layout="files", low_codec="none")
    assert gloam.open_set(tmp_path / "files").live
    assert not (tmp_path / "files" / "train" / "low").exists()
    assert gloam.verify(tmp_path / "files") == []
    gloam.export(tmp_path / "files", tmp_path / "back", layout="shards", low_codec="none")
    assert tars(tmp_path / "back") == tars(sets["live"])


def test_regenerate_draws_anew_and_keeps_the_normals(sets, tmp_path):
    regenerate(sets["live"], tmp_path / "noisier", overrides=["camera.iso=6400"])
    noisier = gloam.open_set(tmp_path / "noisier")
    assert noisier.live
    assert recheck_set(noisier) == []
    before = list(gloam.open_set(sets["live"]).pairs())
    for one, other in zip(before, noisier.pairs(), strict=True):
        assert one.normal == other.normal
        assert other.record["draw"]["camera"]["iso"] == 6400
    with pytest.raises(
        SetError, match="holds no lows, but draws: regenerate it without --lows-only"
    ):
        regenerate(sets["live"], tmp_path / "lows", lows_only=True)


def test_a_draw_that_is_not_its_own_is_found(sets, tmp_path):
    gloam.export(sets["live"], tmp_path / "set", layout="files", low_codec="none")
    path = next((tmp_path / "set" / "train" / "draw").iterdir())
    record = json.loads(path.read_bytes())
    record["draw"]["exposure"]["ev"] += 1
    path.write_text(json.dumps(record, sort_keys=True, separators=(",", ":")))
    (problem,) = recheck_set(gloam.open_set(tmp_path / "set"))
    assert path.stem in problem.where
    assert problem.what == "the stored draw is not that of the recipe, the seed and its key"


def test_statistics_are_those_of_the_stored_set(sets):
    live, stored = (measure_set(gloam.open_set(sets[n]), 100) for n in ("live", "stored"))
    np.testing.assert_equal(live.rows, stored.rows)  # some are NaN


def test_a_build_that_was_stopped_goes_on(sets, photographs, tmp_path):
    options = {"val": 3, "select": False, "shard_size": 5, "low_codec": "none"}
    gloam.build(tmp_path / "set", f"folder={photographs}", **options)
    shard_path(tmp_path / "set", "train-000001").unlink()
    gloam.build(tmp_path / "set", f"folder={photographs}", **options)
    assert tars(tmp_path / "set") == tars(sets["live"])


@pytest.mark.parametrize(("codec", "expected"), [("none", LOADED), ("png", WARM)])
def test_workers_are_given_kernels_where_lows_are_made(photographs, tmp_path, codec, expected):
    warmed = []

    class Recording(LocalEngine):
        def warm(self, module: str) -> None:
            warmed.append(module)

    options = {"select": False, "low_codec": codec, "val": 1}
    gloam.build(tmp_path / "set", f"folder={photographs}", engine=Recording(1), **options)
    gloam.regenerate(tmp_path / "set", tmp_path / "new", seed=3, engine=Recording(1))
    assert warmed == [expected, expected]


@pytest.mark.slow
def test_building_one_compiles_nothing(photographs, tmp_path):
    """Which takes half a minute on a machine that gloam is new to."""
    code = f"""
from pathlib import Path
import gloam
from gloam.synth.building import make_unit
from gloam.synth.kernels import camera, chroma, exposure, sensor
from gloam.synth.kernels.png import deflate, filters
gloam.build(
    Path({str(tmp_path / "set")!r}), "folder={photographs}", low_codec="none", workers=1, val=1
)
gloam.regenerate(Path({str(tmp_path / "set")!r}), Path({str(tmp_path / "new")!r}), seed=3)
modules = camera, chroma, exposure, sensor, deflate, filters
print(*(name for one in modules for name, it in vars(one).items() if getattr(it, "signatures", 0)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""
