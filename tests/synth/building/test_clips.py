"""Sets of clips: built, verified, made again, exported, looked at."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from click.testing import CliRunner

import gloam
from gloam.cli.main import gloam as command
from gloam.errors import ConfigError, SetError
from gloam.synth.building.deep_verify import recheck_set
from gloam.synth.building.regenerate import regenerate
from gloam.synth.clips import frame_names, frames_of, render_clip
from gloam.synth.draws.record import exposure_change
from gloam.synth.measures.pair_statistics import clip_statistics
from gloam.synth.models import draw, parse_draw, render
from gloam.synth.recipes.load import load_recipe

from ...clips import davis_and_video, decoded, frame_draw, panned
from ...trees import files_of

OPTIONS = {"frames": 4, "select": False, "recipe": "uneven", "shard_size": 3}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return davis_and_video(tmp_path_factory.mktemp("clips") / "davis", 5)


@pytest.fixture(scope="module")
def made(source, tmp_path_factory):
    root = tmp_path_factory.mktemp("clips") / "set"
    gloam.build(root, f"clips={source}", val=2, **OPTIONS)
    return root


def test_members_draws_and_first_frames(made):
    pairs = gloam.open_set(made)
    assert pairs.frames == 4
    assert sum(pairs.counts.values()) >= 11  # some are of a sequence that is held out
    for clip in pairs.pairs():
        assert list(clip.members) == [
            f"{role}.{n:03d}" for role in ("low", "normal") for n in range(4)
        ]
        lows, normals = frames_of(clip)
        drawn = parse_draw(clip.record["draw"])
        assert drawn == draw(load_recipe("uneven"), 0, clip.key)
        np.testing.assert_array_equal(lows[0], render(normals[0], drawn))
        later = render(normals[3], frame_draw(drawn, 3), lit_as=normals[0])
        np.testing.assert_array_equal(lows[3], later)
    assert recheck_set(pairs) == []
    assert gloam.verify(made) == []


def test_sequences_are_in_one_split(source, tmp_path):
    gloam.build(tmp_path / "set", f"clips={source}", val=3, test=3, seed=4, **OPTIONS)
    pairs = gloam.open_set(tmp_path / "set")
    held = {
        split: {record["path"].rpartition("@")[0] for record in pairs.records(split)}
        for split in pairs.counts
    }
    assert all(held.values())
    assert not held["train"] & held["val"]
    assert not held["train"] & held["test"]
    assert not held["val"] & held["test"]


@pytest.mark.slow
def test_workers_restarts_regenerating_and_layouts_change_no_byte(source, made, tmp_path):
    gloam.build(tmp_path / "two", f"clips={source}", val=2, workers=2, **OPTIONS)
    assert files_of(tmp_path / "two") == files_of(made)
    shutil.rmtree(tmp_path / "two" / "shards")
    gloam.build(tmp_path / "two", f"clips={source}", val=2, **OPTIONS)
    assert files_of(tmp_path / "two") == files_of(made)
    regenerate(made, tmp_path / "same")
    assert files_of(tmp_path / "same") == files_of(made)
    gloam.export(made, tmp_path / "files", layout="files")
    assert recheck_set(gloam.open_set(tmp_path / "files")) == []
    assert gloam.verify(tmp_path / "files") == []
    regenerate(tmp_path / "files", tmp_path / "noisy", overrides=["camera.iso=12800"])
    assert recheck_set(gloam.open_set(tmp_path / "noisy")) == []
    regenerate(made, tmp_path / "lows", seed=5, lows_only=True)
    assert recheck_set(gloam.open_set(tmp_path / "lows", made)) == []
    with pytest.raises(SetError):
        list(gloam.open_set(tmp_path / "lows").pairs())


def test_live_sets(source, made, tmp_path):
    gloam.build(tmp_path / "live", f"clips={source}", val=2, low_codec="none", **OPTIONS)
    live = gloam.open_set(tmp_path / "live")
    assert recheck_set(live) == []
    gloam.export(tmp_path / "live", tmp_path / "stored", layout="shards")
    stored = {clip.key: clip for clip in gloam.open_set(tmp_path / "stored").pairs()}
    for clip in gloam.open_set(made).pairs():
        assert stored[clip.key].members == clip.members
    for clip in live.pairs("val"):
        assert frame_names(clip.members, "low") == []
        for low, name in zip(
            frames_of(clip)[0], frame_names(stored[clip.key].members, "low"), strict=True
        ):
            np.testing.assert_array_equal(low, stored[clip.key].decoded(name))


def test_a_changed_frame_is_found(made, tmp_path):
    gloam.export(made, tmp_path / "files", layout="files")
    victim = sorted((tmp_path / "files" / "train" / "low").glob("*.002.png"))[0]
    other = victim.with_name(victim.name.replace(".002.", ".003."))
    victim.write_bytes(other.read_bytes())
    assert any(
        ".002.png" in problem.where or ".002" in problem.what
        for problem in gloam.verify(tmp_path / "files")
    )


@pytest.mark.parametrize("recipe", ["even", "uneven", "mbllen"])
def test_noise_is_each_frames_own_and_the_light_the_clips(recipe):
    frames = panned(3, 6, still=True, shape=(240, 320))
    flat = [np.clip(frame // 4 + 96, 0, 255).astype(np.uint8) for frame in frames]
    drawn = draw(load_recipe(recipe, ["exposure.ev=2"] if recipe != "mbllen" else []), 1, "a")
    lows = render_clip(flat, drawn)
    mean = np.mean(lows, axis=0)
    kept = (mean > 8).all(axis=2)
    residuals = [low[kept].astype(float) - mean[kept] for low in lows]
    # Less the mean of six, residuals of independent frames correlate by -1/5.
    found = [
        np.corrcoef(a.ravel(), b.ravel())[0, 1] + 1 / 5
        for i, a in enumerate(residuals)
        for b in residuals[:i]
    ]
    assert np.abs(np.mean(found)) < 0.01
    grids = [np.log2(low.reshape(4, 60, 4, 80, 3).mean(axis=(1, 3, 4)) + 1e-9) for low in lows]
    bright = mean.reshape(4, 60, 4, 80, 3).mean(axis=(1, 3, 4)) > 4
    assert np.ptp(grids, axis=0)[bright].max() < 0.02


def test_exposure_drifts_and_flickers_from_the_first_frame_on(made, tmp_path):
    still = panned(3, 9, still=True, shape=(120, 160))
    overrides = ["exposure.ev=2", "video.drift_ev=5", "video.fps=10"]
    with pytest.raises(ConfigError, match="outside -4 to 4"):
        load_recipe("even", overrides)
    drifting = draw(load_recipe("even", [*overrides[::2], "video.drift_ev=2"]), 1, "a")
    lows = render_clip(still, drifting)
    np.testing.assert_array_equal(
        lows[0], render(still[0], draw(load_recipe("even", ["exposure.ev=2"]), 1, "a"))
    )
    assert exposure_change(drifting.video, 5) == pytest.approx(1.0)
    means = [float(low.mean()) for low in lows]
    assert means == sorted(means, reverse=True)
    flickering = draw(
        load_recipe("even", ["video.flicker_ev=0.5", "video.flicker_hz=100", "video.fps=30"]),
        1,
        "a",
    )
    evs = [exposure_change(flickering.video, frame) for frame in range(9)]
    assert evs[0] == 0
    assert evs[3] == pytest.approx(0, abs=1e-9)  # 100 Hz beats with 30 frames a second: 10 Hz
    assert max(evs) - min(evs) > 0.5
    assert parse_draw(flickering.model_dump()) == flickering
    assert "video" not in draw(load_recipe("even"), 1, "a").model_dump()
    assert "video" not in load_recipe("even").model_dump()
    regenerate(made, tmp_path / "new", overrides=["video.drift_ev=uniform(-1, 1)"])
    assert recheck_set(gloam.open_set(tmp_path / "new")) == []
    clip = next(gloam.open_set(tmp_path / "new").pairs())
    assert clip.record["draw"]["video"]["fps"] == 25


def test_statistics_of_clips():
    frames = panned(3, 4, still=True, shape=(240, 320))
    drawn = draw(load_recipe("even", ["exposure.ev=2"]), 1, "a")
    lows = render_clip(frames, drawn)
    found = clip_statistics(lows, frames)
    assert found["flicker_ev"] < 0.02
    brighter = [low if n % 2 else np.minimum(2 * low, 255) for n, low in enumerate(lows)]
    assert clip_statistics(brighter, frames)["flicker_ev"] > 0.3
    assert np.isnan(clip_statistics(lows[:1], frames[:1])["temporal_correlation"])


def test_videos_give_every_sample_back(made, tmp_path):
    count = gloam.export(made, tmp_path / "videos", video="ffv1", workers=2)
    assert count == len(gloam.open_set(made))
    for clip in gloam.open_set(made).pairs("val"):
        for role, frames in zip(("low", "normal"), frames_of(clip), strict=True):
            found = decoded(tmp_path / "videos" / "val" / f"{clip.key}.{role}.mkv")
            np.testing.assert_array_equal(found, frames)
    gloam.export(made, tmp_path / "again", video="ffv1")
    sums = [(tmp_path / name / "SHA256SUMS").read_bytes() for name in ("videos", "again")]
    assert sums[0] == sums[1] != b""
    for form, folder in (("mp4", "videos"), ("ffv1", "other")):
        (tmp_path / "other").mkdir(exist_ok=True)
        (tmp_path / "other" / "a.mkv").touch()
        with pytest.raises(SetError, match="choose another folder"):
            gloam.export(made, tmp_path / folder, video=form)
    assert CliRunner().invoke(command, ["verify", str(tmp_path / "videos")]).exit_code == 0
    next((tmp_path / "videos" / "val").glob("*.mkv")).write_bytes(b"")
    assert CliRunner().invoke(command, ["verify", str(tmp_path / "videos")]).exit_code == 1
    run = CliRunner().invoke(
        command, ["export", str(made), str(tmp_path / "mp4"), "--video", "mp4"]
    )
    assert run.exit_code == 0, run.output
    assert "destroys the noise" in run.output
    assert len(decoded(next((tmp_path / "mp4" / "val").glob("*.mp4")))) == 4


def test_the_commands(source, made, photographs, tmp_path):
    run = CliRunner()

    def said(*arguments, code=0):
        found = run.invoke(command, list(map(str, arguments)))
        assert found.exit_code == code, found.output
        return found.output

    root = tmp_path / "set"
    clips = f"clips={source}"
    windows = ("--frames", 3, "--stride", 2, "--step", 3)
    said("build", root, "--source", clips, *windows, "--no-select")
    assert gloam.open_set(root).frames == 3
    assert "flicker" in said("stats", root)
    said("report", root, "--out", tmp_path / "page.html")
    assert 'class="strip"' in (tmp_path / "page.html").read_text()
    said("preview", source, "--frames", 3, "--out", tmp_path / "sheet.png", "--width", 80)
    photos = f"folder={photographs}"
    for arguments in (
        ("build", tmp_path / "a", "--source", clips),
        ("build", tmp_path / "a", "--source", clips, "--source", photos, "--frames", 3),
        ("build", tmp_path / "a", "--source", clips, "--frames", 3, "--labels"),
        ("build", tmp_path / "a", "--source", f"clips={photographs}", "--frames", 100),
        ("export", made, tmp_path / "a", "--for", "basicsr"),
        ("publish", made, tmp_path / "a"),
        ("export", made, tmp_path / "a", "--video", "mp4", "--layout", "files"),
        ("preview", "--frames", 3),
    ):
        output = said(*arguments, code=1)
        assert "Traceback" not in output


def test_sources_of_two_lengths_are_refused(source, tmp_path):
    with pytest.raises(ConfigError, match="frames"):
        gloam.build(tmp_path / "set", f"clips={source}")
