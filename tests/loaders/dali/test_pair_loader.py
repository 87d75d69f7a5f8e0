"""All sets and lists on DALI's CPU back end: pairs in step, exact epochs, exact resume, errors."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from gloam.errors import LoaderError, SetError
from gloam.loaders import PairLoader
from gloam.loaders.contents import Contents
from gloam.manifests.sets.layouts.shards import Shards
from gloam.manifests.sets.pair_set import open_set
from gloam.manifests.sets.split_files import open_files

from ..numbered import TRAIN, VAL, epoch_numbers, mixed_sizes, numbered, numbers

pytest.importorskip("nvidia.dali")
torch = pytest.importorskip("torch")

KINDS = ["shards", "files", "list", "shards-lows", "files-lows"]
PLAIN = {"device": "cpu", "workers": 2, "size": (40, 56)}


@pytest.fixture(params=KINDS)
def make(request, shards, files, shard_lows, file_lows):
    """Loaders over the same pairs, wherever they lie."""

    def loader(split="train", **options):
        layout, _, lows_only = request.param.partition("-")
        if layout == "list":
            stored = Contents(**vars(open_files(open_set(files), split))).pairs
            pairs = [
                (stored[i].lows[0].path, stored[i].normals[0].path) for i in range(len(stored))
            ]
            return PairLoader(pairs, split, **PLAIN | options)
        root, lows = (files, file_lows) if layout == "files" else (shards, shard_lows)
        if lows_only:
            return PairLoader(lows, split, normals=root, **PLAIN | options)
        return PairLoader(root, split, **PLAIN | options)

    return loader


def test_pairs_are_in_step_and_epochs_exact_three_times(make):
    with make("train", batch_size=4, seed=1) as loader:
        epochs = [epoch_numbers(loader) for _ in range(3)]
    assert all(len(epoch) == len(set(epoch)) == TRAIN // 4 * 4 for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2]
    with make("train", batch_size=4, seed=1) as again:
        assert epoch_numbers(again) == epochs[0]
        assert epoch_numbers(again) == epochs[1]
        again.set_epoch(2)  # comes next anyway
        assert epoch_numbers(again) == epochs[2]
        again.set_epoch(9)
        jumped = epoch_numbers(again)
    with make("train", batch_size=4, seed=1) as again:
        again.set_epoch(9)
        assert epoch_numbers(again) == jumped
    with make("train", batch_size=4, seed=2) as other:
        assert epoch_numbers(other) != epochs[0]


@pytest.mark.parametrize("world", [1, 2, 3, 7])
def test_ranks_share_validation_exactly_and_training_without_repeats(make, world):
    for batch_size in (1, 3, 4):
        found = []
        for rank in range(world):
            with make("val", batch_size=batch_size, rank=rank, world_size=world) as loader:
                epochs = [epoch_numbers(loader) for _ in range(2)]
                assert epochs[0] == epochs[1]
                assert len(loader) == -(-len(epochs[0]) // batch_size)
            found += epochs[0]
        assert len(found) == VAL
        assert len(set(found)) == VAL
    epochs, lengths = [[], [], []], set()
    for rank in range(world):
        with make("train", batch_size=2, rank=rank, world_size=world) as loader:
            lengths.add(len(loader))
            for epoch in epochs:
                epoch += epoch_numbers(loader)
    length = lengths.pop()
    assert not lengths
    assert all(len(epoch) == len(set(epoch)) == length * 2 * world for epoch in epochs)


def test_resume_at_any_batch_gives_the_same_rest(make):
    def batches(loader):
        return [(numbers_of(low, normal), low.clone()) for low, normal in loader]

    def numbers_of(low, normal):
        assert (low - normal / 2).abs().max() <= 1.5 / 255
        return sorted(low[:, 0].amax((1, 2)).tolist())

    options = {"batch_size": 4, "seed": 5, "augment": True, "crop": "random-resized", "size": 24}
    with make("train", **options) as whole:
        expected = batches(whole) + batches(whole) + batches(whole)
    length = len(expected) // 3
    for stop in (0, 1, length // 2, length - 1, length):
        with make("train", **options) as first:
            iterator = iter(first)
            for _ in range(stop):
                next(iterator)
            state = json.loads(json.dumps(first.state_dict()))
        with make("train", **options) as second:
            second.load_state_dict(state)
            assert second.state_dict() == state
            # What was left of the epoch, which may be nothing, and the next one.
            rest = batches(second) + batches(second)
        assert len(rest) == 2 * length - stop
        following = expected[stop : stop + len(rest)]
        assert [n for n, _ in rest] == [n for n, _ in following]
        assert all(torch.equal(a, b) for (_, a), (_, b) in zip(rest, following, strict=True))


def test_a_state_of_something_else_is_refused_with_what_differs(make):
    with make("train", batch_size=4) as loader:
        state = loader.state_dict()
    for changes, word in (
        ({"batch_size": 5}, "batch_size"),
        ({"seed": 9}, "seed"),
        ({"rank": 1, "world_size": 2}, "world_size"),
    ):
        with (
            make("train", **{"batch_size": 4} | changes) as other,
            pytest.raises(LoaderError, match=word),
        ):
            other.load_state_dict(state)
    with make("val", batch_size=4) as other, pytest.raises(LoaderError, match="pairs"):
        other.load_state_dict(state)
    with pytest.raises(LoaderError, match="not a state"):
        other.load_state_dict({})


@pytest.mark.parametrize("crop", ["resize", "random", "random-resized"])
@pytest.mark.parametrize("size", [32, (24, 48), 80])
def test_both_images_of_a_pair_get_the_same_draw(make, crop, size):
    with make("train", batch_size=8, size=size, crop=crop, augment=True) as loader:
        seen = set()
        for low, normal in loader:
            assert low.shape == (8, 3, *((size, size) if isinstance(size, int) else size))
            assert (low - normal / 2).abs().max() < 1.5 / 255
            across = (normal[:, 2, :, -1] - normal[:, 2, :, 0]).mean(1)
            seen |= set(torch.sign(across).tolist())
        assert seen >= {-1.0, 1.0}


def test_forms_of_tensors(make):
    with make("val", batch_size=2, dtype="float16", value_range=(-1, 1), layout="HWC") as loader:
        low, normal = next(iter(loader))
        assert low.dtype == torch.float16
        assert low.shape == (2, 40, 56, 3)
        assert -1 <= normal.min() < -0.9
    with make("val", batch_size=2, dtype="uint8") as loader:
        low, normal = next(iter(loader))
        assert low.dtype == torch.uint8
        assert normal.max() > 200


def test_keys_come_with_their_pairs(make):
    with make("train", batch_size=4, keys=True) as loader:
        for _, normal, keys in loader:
            assert [int(key.rpartition("n")[2]) for key in keys] == numbers(normal)


def test_pixels_are_those_of_the_files(make):
    with make("val", batch_size=1, size=None, dtype="uint8", layout="HWC") as loader:
        for low, normal in loader:
            (number,) = {int(n) // 4 for n in normal[0, :, :, 0].ravel()}
            assert (normal[0].numpy() == numbered(number)).all()
            assert (low[0].numpy() == np.rint(numbered(number) * 0.5)).all()


def test_different_sizes_need_padding_or_single_batches():
    with PairLoader(
        mixed_sizes(), "val", batch_size=3, size=None, pad=True, device="cpu"
    ) as loader:
        shapes = [low.shape for low, _ in loader]
    assert shapes == [(3, 3, 32, 50), (3, 3, 35, 50)]
    with PairLoader(mixed_sizes(), "val", batch_size=1, device="cpu") as loader:
        assert [low.shape[2] for low, _ in loader] == [30, 31, 32, 33, 34, 35]
    with (
        PairLoader(mixed_sizes(), "val", batch_size=3, size=None, device="cpu") as loader,
        pytest.raises(LoaderError, match="different sizes"),
    ):
        next(iter(loader))


def test_lists_out_of_step_are_noticed(files, tmp_path):
    root = shutil.copytree(files, tmp_path / "files")
    names = root / "lists" / "train-low.txt"
    lines = names.read_text().splitlines()
    names.write_text("\n".join([*lines[1:], lines[0]]) + "\n")
    with (
        PairLoader(root, batch_size=4, **PLAIN) as loader,
        pytest.raises(SetError, match="out of step"),
    ):
        list(loader)


def test_a_closed_loader_says_so(shards):
    loader = PairLoader(shards, batch_size=2, device="cpu")
    loader.close()
    with pytest.raises(LoaderError, match="closed"):
        next(iter(loader))


def test_a_set_of_lows_only_wants_its_own_normals(shards, files, shard_lows, file_lows, tmp_path):
    with pytest.raises(SetError, match="holds lows only"):
        PairLoader(shard_lows, batch_size=4, **PLAIN)
    with pytest.raises(SetError, match="is not the set that"):
        PairLoader(shard_lows, normals=files, batch_size=4, **PLAIN)
    with pytest.raises(SetError, match="its own normals"):
        PairLoader(shards, normals=shards, batch_size=4, **PLAIN)
    with pytest.raises(LoaderError, match="not with a list"):
        PairLoader([("a", "b")], normals=shards, batch_size=4, **PLAIN)
    assert not any(
        ".normal." in name
        for unit in (shard_lows / "shards").glob("*.idx")
        for name in unit.read_text().split()
    )
    assert not list(file_lows.rglob("normal"))
    with PairLoader(shard_lows, "val", normals=shards, batch_size=4, **PLAIN) as loader:
        assert sorted(epoch_numbers(loader)) == sorted(
            epoch_numbers(PairLoader(shards, "val", batch_size=4, **PLAIN))
        )


def test_lows_and_normals_out_of_step_are_noticed(shards, shard_lows, monkeypatch):
    honest = Shards.extents

    def reversed_normals(self, root, split, units, names, *, held):
        units = units[::-1] if "normal" in names else units
        return honest(self, root, split, units, names, held=held)

    monkeypatch.setattr(Shards, "extents", reversed_normals)
    loader = PairLoader(shard_lows, "val", normals=shards, batch_size=4, **PLAIN)
    with loader, pytest.raises(SetError, match="gloam verify both"):
        list(loader)
