"""Arguments of a GPU's kernels for clips; the kernels are tested by their twins on the CPU."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from gloam.errors import LoaderError
from gloam.loaders.augment import draw_crops
from gloam.loaders.clips.clip_samples import ClipPlace
from gloam.loaders.clips.frame_sources import Pictures
from gloam.loaders.clips.live_clips import LiveClips
from gloam.loaders.clips.stored_clips import StoredClip
from gloam.loaders.live.lows import LiveLows
from gloam.loaders.options import Options
from gloam.synth.clips import frame_draw
from gloam.synth.draws.table import table_of_records
from gloam.synth.models import draw
from gloam.synth.recipes.load import load_recipe

MODULE = LiveClips.__module__
FRAMES = 3
RECIPE = load_recipe("even:0.5,uneven:0.5", ["mixture.even.video.drift_ev=uniform(-1, 1)"])
OPTIONS = Options(batch_size=2, size=(24, 32), crop="random", augment=True, workers=1)


class Decoded:
    """Two clips, as images that torch holds in place of DALI."""

    def __init__(self, sizes=((40, 50), (30, 60))):
        rng = np.random.default_rng(5)
        self.clips = [rng.integers(0, 256, (FRAMES, *size, 3), np.uint8) for size in sizes]
        samples = [frame for clip in self.clips for frame in clip]
        self.samples = [torch.from_numpy(np.ascontiguousarray(sample)) for sample in samples]

    def run(self, stream):
        return self, "room", "labels"

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        return self.samples[i]

    def shape(self):
        return [tuple(sample.shape) for sample in self.samples]


def places(number):
    keys = [f"clip{2 * number + i}" for i in range(2)]
    return [ClipPlace(StoredClip(key, (), ()), 4) for key in keys]


class Stream:
    """A stream that does at once what it is given."""

    def record_event(self):
        return SimpleNamespace(query=lambda: True, synchronize=lambda: None)


def pixels(address, height, width):
    read = ctypes.string_at(int(address), 3 * height * width)
    return np.frombuffer(read, np.uint8).reshape(height, width, 3)


def live_clips(decoded, options=OPTIONS, draws="fresh"):
    keys = [f"clip{i}" for i in range(6)]
    lows = LiveLows(RECIPE, draws, 8)
    return LiveClips(Pictures(decoded, True), lows, options, FRAMES, places, keys, device_id=0)


@pytest.mark.parametrize("draws", ["fresh", "set"])
def test_kernels_get_frames_windows_and_the_draws_of_frames(monkeypatch, draws):
    given = []
    camera = SimpleNamespace(load=given.append)
    monkeypatch.setattr(f"{MODULE}.new_camera", lambda: camera)
    monkeypatch.setattr(f"{MODULE}.transformed_pairs", lambda *rest: given.append(rest))
    decoded = Decoded()
    clips = live_clips(decoded, draws=draws)
    for _ in range(3):
        clips._on_stream(Stream())
    clips.close()
    frames = [frame for clip in decoded.clips for frame in clip]
    for number in range(3):
        table, (_, (numbers, sizes, at), crops, _, firsts) = given[2 * number : 2 * number + 2]
        assert sizes.tolist() == [list(frame.shape[:2]) for frame in frames]
        assert numbers.tolist() == list(range(2 * FRAMES))
        for i, frame in enumerate(frames):
            np.testing.assert_array_equal(pixels(at[i], *sizes[i]), frame)
            first = decoded.clips[i // FRAMES][0]
            np.testing.assert_array_equal(pixels(firsts[i], *sizes[i]), first)
            key = places(number)[i // FRAMES].clip.key
            (crop,) = draw_crops(OPTIONS, 4, [key], [frame.shape[:2]])
            assert crops[i].tolist() == crop.tolist()
        drawn = [
            frame_draw(draw(RECIPE, clips._live.seed_of(4), place.clip.key), n)
            for place in places(number)
            for n in range(FRAMES)
        ]
        wanted = table_of_records(drawn)
        own = set(wanted.draws.dtype.names) - {"linear", "smooth", "first_light", "first_spread"}
        for name in sorted(own):  # the others are places, of tables that may be shared
            np.testing.assert_array_equal(table.draws[name], wanted.draws[name], name)
        np.testing.assert_array_equal(table.read, wanted.read)


def test_without_crops_frames_are_whole(monkeypatch):
    given = []
    monkeypatch.setattr(f"{MODULE}.new_camera", lambda: SimpleNamespace(load=given.append))
    monkeypatch.setattr(f"{MODULE}.transformed_pairs", lambda *rest: given.append(rest))
    clips = live_clips(Decoded(), Options(batch_size=2, size=(24, 32), workers=1))
    clips._on_stream(Stream())
    clips.close()
    sizes = [[*frame.shape[:2]] for clip in Decoded().clips for frame in clip]
    assert given[1][2].tolist() == [[0, 0, *size, 0, 0, 0] for size in sizes]


def test_frames_that_differ_in_size_are_named(monkeypatch):
    decoded = Decoded()
    decoded.samples[4] = decoded.samples[0]
    clips = live_clips(decoded)
    with pytest.raises(LoaderError, match="clip1: its frames differ in size"):
        clips._on_stream(Stream())
    clips.close()
