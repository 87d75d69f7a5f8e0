"""Live lows: of every loader the very lows of a stored set, or new ones every epoch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import gloam
from gloam.errors import LoaderError, SetError
from gloam.loaders.order import epoch_seed

LOADERS = [
    ("TorchLoader", {"workers": 0}),
    ("TorchLoader", {"workers": 2}),
    ("PairLoader", {}),
]


@pytest.fixture(scope="module")
def sets(photographs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("sets")
    for name, options in (
        ("shards", {}),
        ("files", {"layout": "files"}),
        ("live", {"low_codec": "none"}),
        ("live files", {"low_codec": "none", "layout": "files"}),
    ):
        gloam.build(
            root / name, [f"folder={photographs}"], val=4, select=False, shard_size=7, **options
        )
    return {path.name: path for path in root.iterdir()}


def loader(name: str, data: object, options: dict, **more: object):
    return getattr(gloam, name)(data, device="cpu", **{**options, **more})


def by_key(batches) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    return {
        key: (low.numpy(), normal.numpy())
        for lows, normals, keys in batches
        for low, normal, key in zip(lows, normals, keys, strict=True)
    }


@pytest.mark.parametrize(("name", "options"), LOADERS)
@pytest.mark.parametrize("data", ["shards", "files", "live", "live files"])
def test_the_sets_own_draws_give_the_stored_lows(sets, name, options, data):
    plain = {"batch_size": 1, "dtype": "uint8", "keys": True, "layout": "HWC"}
    made = by_key(loader(name, sets[data], options, live=True, draws="set", exact=True, **plain))
    stored = {pair.key: pair.pixels() for pair in gloam.open_set(sets["shards"]).pairs("train")}
    assert made.keys() == stored.keys()
    for key, (low, normal) in stored.items():
        assert (made[key][0] == low).all(), key
        assert (made[key][1] == normal).all(), key


@pytest.mark.parametrize(("name", "options"), LOADERS)
def test_fresh_draws_are_a_function_of_seed_epoch_and_key(sets, name, options):
    plain = {"batch_size": 1, "dtype": "uint8", "keys": True, "layout": "HWC", "seed": 9}
    one = loader(name, sets["shards"], options, live=True, recipe="even", **plain)
    epochs = [by_key(one), by_key(one)]
    assert not any((epochs[0][key][0] == epochs[1][key][0]).all() for key in epochs[0])
    for epoch, pairs in enumerate(epochs):
        for key, (low, normal) in pairs.items():
            seed = epoch_seed(9, epoch, "lows")
            assert (low == gloam.darken(normal, "even", seed=seed, key=key)).all()
    again = loader(name, sets["shards"], options, live=True, recipe="even", **plain)
    again.set_epoch(1)
    for key, (low, _) in by_key(again).items():
        assert (low == epochs[1][key][0]).all()


@pytest.mark.parametrize(("name", "options"), LOADERS)
@pytest.mark.parametrize("crop", ["resize", "random", "random-resized"])
def test_a_state_goes_on_in_mid_epoch_with_the_batches_that_were_left(sets, name, options, crop):
    plain = {"batch_size": 4, "size": 48, "crop": crop, "augment": True, "keys": True, "live": True}
    one = loader(name, sets["shards"], options, **plain)
    for _ in one:
        pass
    passing = iter(one)
    for _ in range(2):
        next(passing)
    state = one.state_dict()
    left = list(passing)
    other = loader(name, sets["shards"], options, **plain)
    other.load_state_dict(state)
    for (low, normal, keys), (wanted_low, wanted_normal, wanted) in zip(other, left, strict=True):
        assert keys == wanted
        assert torch.equal(low, wanted_low)
        assert torch.equal(normal, wanted_normal)
    with pytest.raises(LoaderError, match=r"live\.recipe"):
        loader(name, sets["shards"], options, recipe="even", **plain).load_state_dict(state)


@pytest.mark.parametrize(("name", "options"), LOADERS)
def test_both_images_of_a_pair_are_cropped_and_turned_alike(sets, name, options):
    same = ["curve.gamma=1"]  # a low that is its normal
    plain = {"batch_size": 2, "size": 40, "augment": True, "dtype": "uint8", "live": True}
    recipe = gloam.load_recipe("gamma", [*same, "curve.beta=1", "curve.alpha=1"])
    for crop in ("resize", "random", "random-resized"):
        for low, normal in loader(name, sets["shards"], options, crop=crop, recipe=recipe, **plain):
            assert torch.equal(low, normal)


@pytest.mark.parametrize(("name", "options"), LOADERS)
def test_plain_photographs_are_darkened(photographs, name, options):
    paths = gloam.pairs_in(photographs)
    plain = {"batch_size": 1, "dtype": "uint8", "keys": True, "layout": "HWC", "draws": "set"}
    made = by_key(loader(name, paths, options, live=True, recipe="even", **plain))
    assert made.keys() == {Path(path).stem for path in paths}
    for key, (low, normal) in made.items():
        assert (low == gloam.darken(normal, "even", seed=0, key=key)).all()


@pytest.mark.parametrize("name", ["TorchLoader", "PairLoader"])
def test_wrong_use_gets_one_line(sets, name):
    with pytest.raises(LoaderError, match="holds no lows, as it was built with --low-codec none"):
        loader(name, sets["live"], {}, batch_size=1, live=False)
    with pytest.raises(LoaderError, match="recipe goes with live=True"):
        loader(name, sets["shards"], {}, batch_size=1, recipe="even")
    with pytest.raises(LoaderError, match="draws 'other': must be fresh or set"):
        loader(name, sets["shards"], {}, batch_size=1, live=True, draws="other")
    assert loader(name, sets["live"], {}, batch_size=1).live.draws == "fresh"
    assert loader(name, sets["live"], {}, split="val", batch_size=1).live.draws == "set"


def test_pixels_of_a_live_pair_say_that_it_stores_no_low(sets):
    with pytest.raises(SetError, match="of a set of live lows, which loaders make"):
        next(gloam.open_set(sets["live"]).pairs()).pixels()
