"""Batches that are made at once are those that are made one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gloam
from gloam.errors import GloamWarning, LoaderError
from gloam.loaders.clips.clip_backend import ClipBackend, batches_at_once
from gloam.loaders.clips.stored_clips import ClipContents
from gloam.loaders.options import Options
from gloam.loaders.order import Order, Share, endless_steps
from gloam.loaders.ranks import Rank
from gloam.manifests.sets.split_files import open_split

from ...clips import davis, panned, write_video


@given(st.integers(1, 9), st.integers(1, 20), st.integers(0, 3), st.data())
def test_steps_have_every_batch_once_and_end_with_epochs(together, batches, epoch, data):
    batch = data.draw(st.integers(0, batches - 1))
    share = Share(Rank(), Options(batch_size=2))
    order = Order(2 * batches, 1, True)
    steps = endless_steps(order, epoch, batch, share, together)
    number = epoch * batches + batch
    for step in itertools.islice(steps, 30):
        count = len(step.counts) or 1
        assert count <= together
        own = [order.step(*divmod(number + i, batches), share) for i in range(count)]
        assert list(step.positions) == [one for each in own for one in each.positions]
        assert len({one.epoch for one in step.positions}) == 1
        number += count


def test_how_many_batches_are_made_at_once():
    assert batches_at_once(16 * 8, 192 * 192) == 4
    assert batches_at_once(64 * 8, 192 * 192) == 1
    assert batches_at_once(8, 192 * 192) == 64
    assert batches_at_once(16 * 8, 1920 * 1080) == 1


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("rounds")
    source = davis(root / "davis", 4, 9)
    write_video(source / "more" / "a.mp4", panned(20, 9, shape=(64, 80)))
    gloam.build(root / "set", f"clips={source}", recipe="even", frames=3, select=False)
    return root / "set"


def test_the_largest_frames_say_how_many(made):
    held = gloam.open_set(made)
    files = vars(open_split(held, "train", False))
    contents = ClipContents(**files | {"frames": held.frames})
    clips = map(contents.pair, range(contents.count))
    assert {contents.size_of(clip) for clip in clips} >= {(72, 96)}
    common = {"batch_size": 4, "device": "cpu", "workers": 2, "backend": "dali"}

    def at_once_of(device_id, **options):
        with gloam.ClipLoader(made, **common, **options) as loader:
            return loader.backend._at_once(loader, 4 * 3, device_id)

    assert at_once_of(0, size=64) == 512 // 12
    with pytest.warns(GloamWarning, match="enlarges"):
        assert at_once_of(0, size=1024) == 1
    assert at_once_of(0) == at_once_of(None, size=64) == 1


def batches_of(made, monkeypatch, together, *, skip=0, **options):
    monkeypatch.setattr(ClipBackend, "_at_once", lambda *_: together)
    common = {"device": "cpu", "workers": 2, "backend": "dali", "keys": True, "seed": 1}
    with gloam.ClipLoader(made, **(common | options)) as loader:
        if not skip:
            return [*loader, *loader]
        running = iter(loader)
        for _ in range(skip):
            next(running)
        state = loader.state_dict()
    with gloam.ClipLoader(made, **(common | options)) as loader:
        loader.load_state_dict(state)
        return list(loader)


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 2, "size": 32, "crop": "random", "augment": True, "last_batch": "partial"},
        {"batch_size": 3, "size": 48, "live": True, "draws": "set"},
    ],
    ids=["stored", "live"],
)
def test_batches_are_the_same(made, monkeypatch, options):
    for skip in (0, 2):
        wanted = batches_of(made, monkeypatch, 1, skip=skip, **options)
        found = batches_of(made, monkeypatch, 3, skip=skip, **options)
        assert len(found) == len(wanted) > 2
        for one, other in zip(found, wanted, strict=True):
            assert one[2] == other[2]
            for i in range(2):
                np.testing.assert_array_equal(one[i].numpy(), other[i].numpy())


def test_batches_of_several_sizes_get_a_line(made, monkeypatch):
    with pytest.raises(LoaderError, match="images of one batch have different sizes"):
        batches_of(made, monkeypatch, 2, batch_size=4)
