"""Pairs in memory: the batches of every other loader, without decoding anything twice."""

from __future__ import annotations

import time

import numpy as np
import pytest
import torch

import gloam
from gloam.errors import LoaderError
from gloam.loaders import resident
from gloam.loaders.backend import Device

PLAIN = {"batch_size": 4, "device": "cpu", "size": 32, "keys": True, "augment": True}


def batches(loader):
    return [(low, normal, keys) for low, normal, keys in loader]


def equal(one, other):
    return len(one) == len(other) and all(
        a[2] == b[2] and torch.equal(a[0], b[0]) and torch.equal(a[1], b[1])
        for a, b in zip(one, other, strict=True)
    )


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("data", ["shards", "files"])
def test_every_pair_comes_once_an_epoch_and_states_go_on(request, data, live):
    data = request.getfixturevalue(data)
    loader = gloam.PairLoader(data, resident=True, live=live, last_batch="partial", **PLAIN)
    first, second = batches(loader), batches(loader)
    keys = [key for batch in first for key in batch[2]]
    assert sorted(keys) == sorted(p.key for p in gloam.open_set(data).pairs("train"))
    assert keys != [key for batch in second for key in batch[2]]
    passing = iter(loader)
    next(passing)
    state = loader.state_dict()
    left = list(passing)
    other = gloam.PairLoader(data, resident=True, live=live, last_batch="partial", **PLAIN)
    other.load_state_dict(state)
    assert equal(batches(other), left)
    other.set_epoch(1)
    assert equal(batches(other), second)


def test_live_pairs_are_those_of_the_reader(shards):
    options = {**PLAIN, "augment": False, "size": None, "batch_size": 1, "live": True}
    resident = gloam.PairLoader(shards, resident=True, **options)
    read = gloam.PairLoader(shards, **options)
    assert equal(batches(resident), batches(read))


def test_each_rank_holds_its_own_part(shards):
    parts = []
    for rank in range(2):
        loader = gloam.PairLoader(
            shards, resident=True, last_batch="partial", rank=rank, world_size=2, **PLAIN
        )
        epochs = [[key for batch in batches(loader) for key in batch[2]] for _ in range(2)]
        assert sorted(epochs[0]) == sorted(epochs[1])
        parts.append(set(epochs[0]))
    assert not parts[0] & parts[1]
    assert len(parts[0] | parts[1]) == len(list(gloam.open_set(shards).pairs("train")))


def test_too_much_is_refused_with_both_numbers(shards, monkeypatch):
    monkeypatch.setattr(resident, "free_memory", lambda: 10_000)
    with pytest.raises(LoaderError, match=r"pairs take 0\.0 GiB decoded, 0\.0 GiB are free"):
        next(iter(gloam.PairLoader(shards, resident=True, **PLAIN)))


def test_what_does_not_fit_is_not_decoded_to_the_end(monkeypatch):
    monkeypatch.setattr(resident, "free_memory", lambda: 10_000)
    seen = []

    def decoded(pair):
        seen.append(pair)
        time.sleep(0.001)  # or else all may be done before the first is counted
        return (np.zeros((30, 40, 3), np.uint8),)

    with pytest.raises(resident.DoesNotFit, match="its 5,000 pairs take"):
        resident.decode_all(range(5000), range(5000), decoded, 2, "set")
    assert len(seen) < 5000


def test_auto_reads_batch_by_batch_what_does_not_fit(shards, monkeypatch, capsys):
    read = gloam.PairLoader(shards, **PLAIN)
    wanted = [keys for *_, keys in read]
    monkeypatch.setattr(resident, "free_memory", lambda: 10_000)
    auto = gloam.PairLoader(shards, resident="auto", **PLAIN)
    assert [keys for *_, keys in auto] == wanted
    assert "loading it batch by batch" in capsys.readouterr().err


@pytest.mark.parametrize("fits", [True, False])
def test_a_gpu_may_be_given_all_samples_where_a_ranks_own_do_not_fit(shards, monkeypatch, fits):
    spans = []

    def renderer(decoder, components, sizes, device, first, last, most):
        spans.append((first, last))

    def filled(*asked):
        if not fits:
            raise resident.DoesNotFit("its pairs do not fit")

    monkeypatch.setattr("gloam.loaders.render.cuda_renderer.CudaRenderer", renderer)
    monkeypatch.setattr(Device, "current", lambda _: 0)
    ranks = {"rank": 1, "world_size": 2, "last_batch": "partial"}
    loader = gloam.PairLoader(shards, resident="auto", **{**PLAIN, "device": "cuda"}, **ranks)
    monkeypatch.setattr(loader.backend, "_fill_pool", filled)
    monkeypatch.setattr(loader.backend, "_reading_decoder", lambda *asked: None)
    loader.backend._begin_renderer(loader)
    count = loader.order.count
    assert spans == [(count // 2, count) if fits else (0, None)]


def test_a_longest_side_makes_what_is_held_smaller(shards):
    options = {**PLAIN, "size": None, "batch_size": 1, "augment": False}
    for live in (False, True):
        loader = gloam.PairLoader(shards, resident=True, resident_side=24, live=live, **options)
        for low, normal, _ in loader:
            assert low.shape == normal.shape
            assert max(normal.shape[-2:]) <= 24


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resident": "yes"}, "resident 'yes': must be True, False or 'auto'"),
        ({"resident_side": 100}, "resident_side goes with resident=True"),
        ({"resident": True, "resident_side": 0}, "resident_side = 0"),
    ],
)
def test_wrong_options_are_refused(shards, options, message):
    with pytest.raises(LoaderError, match=message):
        gloam.PairLoader(shards, **options, **PLAIN)
