"""Which image it was that DALI could not decode."""

from __future__ import annotations

import shutil

import pytest

from gloam.errors import LoaderError
from gloam.loaders import PairLoader
from gloam.loaders.contents import Contents
from gloam.manifests.sets.pair_set import open_set
from gloam.manifests.sets.split_files import open_files

pytest.importorskip("nvidia.dali")
pytest.importorskip("torch")

PLAIN = {"device": "cpu", "workers": 2, "size": (40, 56)}


def test_a_damaged_image_is_named_by_shard_key_and_member(shards, tmp_path):
    root = shutil.copytree(shards, tmp_path / "copy")
    stored = Contents(**vars(open_files(open_set(root), "train"))).pairs[7]
    key, low = stored.key, stored.lows[0]
    with open(low.path, "r+b") as handle:
        handle.seek(low.offset)
        handle.write(bytes(low.size))
    with (
        PairLoader(root, batch_size=4, **PLAIN) as loader,
        pytest.raises(LoaderError, match=rf"train-000001\.tar: {key}\.low cannot be decoded"),
    ):
        for _ in loader:
            pass


@pytest.mark.parametrize("layout", ["shards", "files"])
def test_a_damaged_image_is_named_without_decoding_the_set(
    shards, files, tmp_path, layout, monkeypatch
):
    """In its second epoch, of a rank of two, and with what was damaged far from the first
    batches."""
    root = shutil.copytree(files if layout == "files" else shards, tmp_path / "copy")
    options = {
        "batch_size": 2,
        "rank": 1,
        "world_size": 2,
        "seed": 3,
        "prefetch": 2,
        **PLAIN,
    }
    with PairLoader(root, keys=True, **options) as loader:
        list(loader)
        key = list(loader)[6][2][1]
    stored = Contents(**vars(open_files(open_set(root), "train"))).pairs
    normal = next(stored[i].normals[0] for i in range(len(stored)) if stored[i].key == key)
    decoded = []

    def counting(contents, pair, decoder):
        decoded.append(pair.key)
        return whole(contents, pair, decoder)

    whole = Contents.images_of
    monkeypatch.setattr(Contents, "images_of", counting)
    with PairLoader(root, **options) as loader:
        list(loader)
        batches = iter(loader)
        for _ in range(3):  # DALI works ahead
            next(batches)
        with open(normal.path, "r+b") as handle:
            handle.seek(max(normal.offset, 0))
            handle.write(bytes(200))
        with pytest.raises(LoaderError, match=rf"{key}\.normal cannot be decoded"):
            list(batches)
    assert key in decoded
    assert len(decoded) <= (2 + 1) * 2 + 2


def test_a_pass_that_failed_neither_ends_quietly_nor_saves_a_wrong_place(shards, tmp_path):
    root = shutil.copytree(shards, tmp_path / "copy")
    low = Contents(**vars(open_files(open_set(root), "train"))).pairs[20].lows[0]
    options = {"batch_size": 2, "prefetch": 1, "shuffle": False, **PLAIN}
    with PairLoader(root, keys=True, **options) as loader:
        expected = [keys for *_, keys in loader]
    with open(low.path, "r+b") as handle:
        handle.seek(low.offset)
        data = handle.read(low.size)
        handle.seek(low.offset)
        handle.write(bytes(low.size))
    with PairLoader(root, keys=True, **options) as loader:
        batches = iter(loader)
        with pytest.raises(LoaderError, match="cannot be decoded"):
            list(batches)
        with pytest.raises(LoaderError, match="ended with an error"):
            next(batches)
        state = loader.state_dict()
        assert 0 < state["batch"] < len(expected)
    with open(low.path, "r+b") as handle:
        handle.seek(low.offset)
        handle.write(data)
    with PairLoader(root, keys=True, **options) as loader:
        loader.load_state_dict(state)
        assert [keys for *_, keys in loader] == expected[state["batch"] :]
        next(iter(loader))
    state = loader.state_dict()  # of a loader that is closed
    with PairLoader(root, keys=True, **options) as loader:
        loader.load_state_dict(state)
        assert [keys for *_, keys in loader] == expected[1:]
