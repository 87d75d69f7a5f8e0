"""Lows made by another process through shared memory: here by one that renders on a core."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import gloam
from gloam.errors import ConfigError, WorkerLost
from gloam.synth.building import deep_verify, regenerate
from gloam.synth.clips import frames_of
from gloam.synth.draws.table import DrawTable
from gloam.synth.models import draw, render
from gloam.synth.recipes.load import load_recipe
from gloam.synth.renderers import CpuRenderer
from gloam.synth.served import start
from gloam.synth.served.client import ServedRenderer, served
from gloam.synth.served.server import Ready, serve

from ...clips import davis

NAMES = ("even", "uneven", "night-lights", "gamma")
DRAWS = [draw(load_recipe(name), 3, str(i)) for i, name in enumerate(NAMES * 3)]


class OnACore:
    """Makes what CameraOnCuda makes: of packed draws, whose seeds tell which draws they are."""

    def __init__(self, device: int) -> None:
        self._known = {drawn.pixel_seed & 0xFFFFFFFF: drawn for drawn in DRAWS}

    def lock(self, samples) -> bool:
        return True

    def unlock(self, samples) -> None:
        assert samples.size > 0

    def render_flat(self, normals, lows, sizes, table: DrawTable, firsts=None) -> None:
        ends = np.cumsum(3 * sizes.prod(axis=1))
        images = [
            normals[end - 3 * height * width : end].reshape(height, width, 3)
            for end, (height, width) in zip(ends, sizes, strict=True)
        ]
        for i, (record, normal) in enumerate(zip(table.draws, images, strict=True)):
            if (normal == 255).all():
                raise RuntimeError("no memory")
            drawn = self._known.get(int(record["seed_lower"]))
            lit_as = normal if firsts is None else images[firsts[i]]
            low = render(normal, drawn, lit_as=lit_as) if drawn else 255 - normal
            lows[ends[i] - normal.size : ends[i]] = low.reshape(-1)


def serve_on_a_core(ready, device: int) -> None:
    serve(ready, device, OnACore)


@pytest.fixture
def process() -> Iterator[tuple[multiprocessing.Process, str]]:
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe(duplex=False)
    running = context.Process(target=serve_on_a_core, args=(theirs, 0), daemon=True)
    running.start()
    theirs.close()
    ready = mine.recv()
    assert ready.gpus == 1
    yield running, ready.address
    running.kill()
    running.join()


def test_lows_are_those_of_every_other_way_whatever_the_batches(process, photograph):
    renderer = ServedRenderer(process[1])
    normals = [np.ascontiguousarray(photograph[i:, 2 * i :]) for i in range(len(DRAWS))]
    for some in (slice(0, 1), slice(2, 9), slice(0, 12)):  # the memory grows
        lows = renderer.render(normals[some], DRAWS[some])
        for low, normal, drawn in zip(lows, normals[some], DRAWS[some], strict=True):
            assert (low == render(normal, drawn)).all()
    assert renderer.render([], []) == []
    with pytest.raises(ValueError, match="normal must be"):
        renderer.render([np.zeros((2, 2), np.uint8)], DRAWS[:1])


def test_frames_of_clips_are_lit_by_the_first_one(process, photograph):
    renderer = ServedRenderer(process[1])
    normals = [np.ascontiguousarray(photograph[i : i + 50, i : i + 70]) for i in range(0, 48, 4)]
    firsts = [0, 0, 0, 3, 0, 5, 5, 3, 8, 8, 8, 3]  # every fourth is of the other model
    lows = renderer.render(normals, DRAWS, firsts)
    plain = CpuRenderer().render(normals, DRAWS, firsts)
    for i, low in enumerate(lows):
        wanted = render(normals[i], DRAWS[i], lit_as=normals[firsts[i]])
        np.testing.assert_array_equal(low, wanted)
        np.testing.assert_array_equal(plain[i], wanted)
    assert any((low != render(normals[i], DRAWS[i])).any() for i, low in enumerate(lows))


def test_several_workers_are_served(process, photograph):
    renderers = [ServedRenderer(process[1]) for _ in range(3)]
    for renderer in [*renderers, *renderers]:
        (low,) = renderer.render([photograph], DRAWS[:1])
        assert (low == render(photograph, DRAWS[0])).all()


def test_what_goes_wrong_there_is_said_here(process, photograph):
    renderer = ServedRenderer(process[1])
    with pytest.raises(WorkerLost, match=r"on the GPU ended: RuntimeError: no memory; what was"):
        renderer.render([np.full((4, 4, 3), 255, np.uint8)], DRAWS[:1])
    renderer.render([photograph], DRAWS[:1])
    process[0].kill()
    process[0].join()
    with pytest.raises(WorkerLost, match="--device cpu if it happens again"):
        renderer.render([photograph], DRAWS[:1])
    with pytest.raises(WorkerLost, match="ended, perhaps because memory ran out"):
        ServedRenderer(process[1])


class Already:
    """In place of `start.Starting`: a process that runs already."""

    address = ""

    def __init__(self, device: str) -> None:
        self._used = device != "cpu"

    def ready(self) -> start.Renderers:
        return start.Renderers((self.address,)) if self._used else start.ON_WORKERS

    def end(self) -> None:
        served.cache_clear()


def test_sets_are_built_verified_and_regenerated_through_it(
    process, photographs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Lows of draws that it does not know are negatives: so one sees that it was asked."""
    monkeypatch.setattr(Already, "address", process[1])
    monkeypatch.setattr(start, "Starting", Already)
    monkeypatch.setattr(start, "_MANY", 3)
    options = {"select": False, "seed": 5, "shard_size": 7}
    plain = gloam.build(tmp_path / "plain", [f"folder={photographs}"], **options)
    other = gloam.build(tmp_path / "other", [f"folder={photographs}"], device="cuda", **options)
    assert plain.info.build.fingerprint == other.info.build.fingerprint  # no part of the request
    sets = [gloam.open_set(tmp_path / name) for name in ("plain", "other")]
    assert gloam.verify(sets[1]) == []
    for one, two in zip(sets[0].pairs("train"), sets[1].pairs("train"), strict=True):
        low, normal = two.pixels()
        assert one.record["draw"] == two.record["draw"]
        assert (low == 255 - normal).all()
    assert deep_verify.recheck_set(sets[1], device="cuda") == []
    assert len(deep_verify.recheck_set(sets[1])) == len(sets[1])
    regenerate.regenerate(sets[0], tmp_path / "new", device="auto", overrides=["camera.iso=900"])
    for pair in gloam.open_set(tmp_path / "new").pairs("train"):
        low, normal = pair.pixels()
        assert (low == 255 - normal).all()


def test_sets_of_clips_are_built_verified_and_regenerated_through_it(
    process, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Already, "address", process[1])
    monkeypatch.setattr(start, "Starting", Already)
    source = f"clips={davis(tmp_path / 'davis', 2, 6)}"
    options = {"select": False, "frames": 3, "seed": 5}
    gloam.build(tmp_path / "set", source, device="cuda", **options)
    made = gloam.open_set(tmp_path / "set")
    assert len(made) == 4
    gloam.regenerate(made, tmp_path / "new", device="cuda", overrides=["camera.iso=900"])
    for one in (made, gloam.open_set(tmp_path / "new")):
        for clip in one.pairs("train"):
            for low, normal in zip(*frames_of(clip), strict=True):
                assert (low == 255 - normal).all()
        assert deep_verify.recheck_set(one, device="cuda") == []
        assert len(deep_verify.recheck_set(one)) == 4


def test_without_a_gpu_one_is_told_so_before_anything_is_done(photographs, tmp_path, monkeypatch):
    monkeypatch.setattr(start, "_missing", lambda: "there is none")
    with pytest.raises(ConfigError, match="device cuda: there is none; it needs an NVIDIA GPU"):
        gloam.build(tmp_path / "set", [f"folder={photographs}"], select=False, device="cuda")
    with pytest.raises(ConfigError, match="device 'tpu': must be one of cpu, cuda, auto"):
        gloam.build(tmp_path / "set", [f"folder={photographs}"], select=False, device="tpu")
    gloam.build(tmp_path / "set", [f"folder={photographs}"], select=False, device="auto")
    live = gloam.build(
        tmp_path / "live", [f"folder={photographs}"], select=False, low_codec="none", device="cuda"
    )
    assert live.info.counts["train"] > 0


def test_a_gpu_that_cannot_be_used_is_refused_or_left_alone(monkeypatch):
    monkeypatch.setattr(start, "_missing", lambda: "")
    monkeypatch.setattr(start, "_answer", lambda connection: Ready("", problem="driver too old"))
    with (
        pytest.raises(ConfigError, match="device cuda: driver too old"),
        start.renderers_on("cuda") as starting,
    ):
        starting.ready()
    with start.renderers_on("auto") as starting:
        assert starting.ready() == start.ON_WORKERS


def test_one_is_told_what_is_waited_for(monkeypatch):
    told = []
    monkeypatch.setattr(start, "_missing", lambda: "")
    monkeypatch.setattr(start, "_PATIENCE", 0)
    monkeypatch.setattr(start.cache_folders, "announce", lambda gpu=False: told.append(gpu))
    with start.renderers_on("auto") as starting:
        starting.ready()
    assert told == [True]


def test_units_are_shared_among_gpus(monkeypatch):
    monkeypatch.setattr(start, "served", lambda address: address)
    renderers = start.Renderers(("a", "b"))
    assert {renderers.of(f"train-{i:06d}") for i in range(20)} == {"a", "b"}
