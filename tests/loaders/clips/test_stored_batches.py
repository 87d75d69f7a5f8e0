"""Stored clips as DALI is given them: decoded once, by threads, into memory that is used again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

import gloam
from gloam.loaders.clips.clip_samples import ClipPlace
from gloam.loaders.clips.stored_batches import StoredBatches
from gloam.loaders.clips.stored_clips import clips_of_set
from gloam.synth.clips import frames_of

from ...clips import davis, panned, write_video

FRAMES = 3


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("batches")
    source = davis(root / "davis", 3, 6)
    write_video(source / "more" / "a.mp4", panned(12, 9, shape=(64, 80)))
    gloam.build(root / "set", f"clips={source}", recipe="even", frames=FRAMES, select=False)
    return gloam.open_set(root / "set")


@pytest.fixture(scope="module")
def lows(made):
    return {clip.key: frames_of(clip)[0] for clip in made.pairs("train")}


def batches_of(made, clips, count, **options):
    loader = gloam.ClipLoader(made.root, batch_size=count, workers=0, device="cpu", **options)

    def places_of(number):
        return [ClipPlace(clips[(count * number + i) % len(clips)], 0, 0) for i in range(count)]

    pool = ThreadPoolExecutor(4)
    return StoredBatches(
        pool, places_of, loader.options, FRAMES, decodes_lows=True, ahead=2
    ), places_of


@pytest.mark.parametrize("sizes", ["one", "several"])
def test_lows_are_those_of_the_set_batch_after_batch(made, lows, sizes):
    clips = list(clips_of_set(made, "train", False).clips)
    shapes = {clip.key: lows[clip.key][0].shape for clip in clips}
    assert len(set(shapes.values())) == 2
    if sizes == "one":
        clips = [clip for clip in clips if shapes[clip.key] == shapes[clips[0].key]]
    batches, places_of = batches_of(made, clips, 4)
    seen = set()
    for number in range(12):
        info = SimpleNamespace(iteration=number)
        given, normals, numbers = batches.lows(info), *batches.normals(info)
        wanted = [low for place in places_of(number) for low in lows[place.clip.key]]
        assert len(given) == len(normals) == len(numbers) == len(wanted)
        for one, other in zip(given, wanted, strict=True):
            np.testing.assert_array_equal(one, other)
        assert sizes == "several" or isinstance(given, np.ndarray)
        seen.add(given.ctypes.data if isinstance(given, np.ndarray) else 0)
    assert len(seen) <= 5  # of those that are made ahead, and no more


def test_frames_of_a_clip_share_a_crop(made):
    clips = list(clips_of_set(made, "train", False).clips)
    batches, _ = batches_of(made, clips, 2, size=32, crop="random", augment=True)
    crops = batches.crops(SimpleNamespace(iteration=0))
    assert crops.shape == (2 * FRAMES, 7)
    assert (crops[:FRAMES] == crops[0]).all()
    assert (crops[FRAMES:] == crops[FRAMES]).all()
    assert (crops[0] != crops[FRAMES]).any()
