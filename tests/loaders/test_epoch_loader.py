"""The habits of a DataLoader, of both loaders: what every iter() begins, and what ends one."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from itertools import islice

import pytest

from gloam.errors import LoaderError
from gloam.loaders import PairLoader, TorchLoader
from gloam.loaders.ranks import Rank

from .numbered import TRAIN, VAL, epoch_numbers, numbers

pytest.importorskip("nvidia.dali")
torch = pytest.importorskip("torch")

KINDS = ["shards", "files", "torch", "torch-processes"]
LENGTH = TRAIN // 4


@pytest.fixture(params=KINDS)
def make(request, shards, files):
    def loader(split="train", **options):
        options = {"batch_size": 4, "size": (40, 56), "device": "cpu", "workers": 2} | options
        if request.param.startswith("torch"):
            return TorchLoader(
                shards, split, **options | {"workers": 2 if "processes" in request.param else 0}
            )
        return PairLoader(files if request.param == "files" else shards, split, **options)

    return loader


def taken(batches) -> list[int]:
    return [number for _, normal in batches for number in numbers(normal)]


def test_every_epoch_has_its_batches_whoever_takes_them(make):
    with make() as whole:
        expected = [epoch_numbers(whole) for _ in range(4)]
    with make() as loader:
        assert (
            taken(batch for _, batch in zip(range(len(loader)), loader, strict=False))
            == expected[0]
        )
        assert taken(islice(loader, len(loader))) == expected[1]
        iterator = iter(loader)
        assert taken(next(iterator) for _ in range(len(loader))) == expected[2]
        with pytest.raises(StopIteration):
            next(iterator)
        with pytest.raises(StopIteration):
            next(iterator)
        assert taken(loader) == expected[3]
        assert loader.epoch == 4


def test_after_a_break_the_next_pass_is_a_whole_epoch_the_next_one(make):
    with make() as loader:
        first = numbers(next(iter(loader))[1])
        assert loader.state_dict()["batch"] == 1
        second = epoch_numbers(loader)
        assert len(second) == LENGTH * 4
        assert loader.epoch == 2
    with make() as other:
        assert epoch_numbers(other)[:4] == first
        other.set_epoch(0)
        assert epoch_numbers(other)[:4] == first
    with make() as jumped:
        jumped.set_epoch(1)
        assert epoch_numbers(jumped) == second
    with make("val") as loader:  # as Lightning's sanity check does
        for _ in range(3):
            next(iter(loader))
        assert len(set(epoch_numbers(loader))) == VAL


def test_an_iterator_without_a_batch_begins_nothing(make):
    with make() as loader:
        iter(loader), iter(loader)
        assert loader.epoch == 0
        expected = epoch_numbers(loader)
    with make() as loader:
        assert epoch_numbers(loader) == expected


def test_of_two_passes_the_older_one_ends_with_a_message(make):
    with make() as loader:
        older = iter(loader)
        next(older)
        newer = iter(loader)
        next(newer)
        with pytest.raises(LoaderError, match="another one has begun"):
            next(older)
        assert len(list(newer)) == LENGTH - 1
        current = iter(loader)
        next(current)
        loader.set_epoch(7)
        with pytest.raises(LoaderError, match="set_epoch was called"):
            next(current)
        assert len(list(loader)) == LENGTH
        assert loader.epoch == 8
        current = iter(loader)
        next(current)
        loader.load_state_dict(loader.state_dict())
        with pytest.raises(LoaderError, match="has ended"):
            next(current)
        current = iter(loader)
        loader.close()
        with pytest.raises(LoaderError, match="closed"):
            next(current)
        with pytest.raises(LoaderError, match="closed"):
            iter(loader)


def test_the_epoch_of_a_loaded_state_keeps_the_place_in_it(make):
    with make() as whole:
        taken(whole)
        expected = taken(whole)
    with make() as loader:
        taken(loader)
        iterator = iter(loader)
        for _ in range(3):
            next(iterator)
        state = loader.state_dict()
    with make() as loader:
        loader.load_state_dict(state)
        loader.set_epoch(1)  # as trainers do at the beginning of every epoch
        assert taken(loader) == expected[3 * 4 :]
        loader.load_state_dict(state)
        loader.set_epoch(2)
        assert len(taken(loader)) == LENGTH * 4


@pytest.mark.parametrize(
    "duplicate", [lambda loader: pickle.loads(pickle.dumps(loader)), copy.deepcopy, copy.copy]
)
def test_copies_go_on_by_themselves(make, duplicate):
    with make() as loader:
        with duplicate(loader) as fresh:
            expected = [taken(fresh) for _ in range(3)]
        assert taken(loader) == expected[0]
        with duplicate(loader) as second:
            assert taken(second) == expected[1]
            assert taken(second) == expected[2]
        assert taken(loader) == expected[1]
        next(iter(loader))
        with duplicate(loader) as third:
            assert third.state_dict() == loader.state_dict()
            assert len(taken(third)) == LENGTH * 4


def test_what_trainers_look_at(make):
    with make() as train, make("val") as val:
        assert (train.batch_size, train.drop_last, val.drop_last) == (4, True, False)
        assert (len(train.dataset), len(val.dataset)) == (TRAIN, VAL)
        assert train.num_workers in (0, 2)
        low, normal = train.dataset[3]
        assert low.shape == normal.shape == (40, 56, 3)
        assert (train.dataset[-1][1] == train.dataset[TRAIN - 1][1]).all()
        for beyond in (TRAIN, -TRAIN - 1):
            with pytest.raises(IndexError):
                train.dataset[beyond]
        assert isinstance(val.sampler, torch.utils.data.SequentialSampler)
        assert train.sampler is train.batch_sampler.sampler is None
        assert f"{TRAIN} pairs in train" in repr(train)
        assert repr(train).startswith(("<PairLoader of", "<TorchLoader of"))
        assert len(iter(train)) == len(train)


def test_ranks_are_found_at_the_first_batch(make, monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "SLURM_PROCID", "SLURM_NTASKS"):
        monkeypatch.delenv(name, raising=False)
    found = []
    with (
        make("val", batch_size=1) as given,
        make("val", batch_size=1, rank=0, world_size=1) as whole,
    ):
        assert len(given) == VAL
        monkeypatch.setenv("WORLD_SIZE", "2")
        for rank in range(2):
            monkeypatch.setenv("RANK", str(rank))
            with make("val", batch_size=1) as loader:
                found += taken(loader)
                assert loader.rank == Rank(rank, 2)
        assert len(found) == len(set(found)) == VAL
        assert len(taken(given)) == len(given) == VAL // 2 + 1
        monkeypatch.setenv("RANK", "0")
        with pytest.raises(
            LoaderError, match="rank 1 of 2 at the loader's first batch and is 0 of 2 now"
        ):
            next(iter(given))
        assert len(taken(whole)) == VAL  # what was given stays


@pytest.mark.parametrize(("world", "size"), [(2, 1), (2, 4), (3, 3), (3, 4)])
def test_padded_batches_are_whole_and_say_what_is_repeated(make, world, size):
    counted, lengths = [], set()
    for rank in range(world):
        options = {"rank": rank, "world_size": world, "last_batch": "padded"}
        with make("val", batch_size=size, **options) as loader:
            lengths.add(len(loader))
            for _, normal in loader:
                assert len(normal) == size
                counted += numbers(normal)[: size - loader.padded]
            assert loader.remainder == VAL % (world * size)
    assert len(lengths) == 1
    assert sorted(counted) == sorted(set(counted))
    assert len(counted) == VAL


def test_a_pass_that_was_interrupted_leaves_the_next_one_whole(make):
    """Ctrl-C does so after DALI made a batch, and before it is handed out."""
    with make("val") as whole, make("val") as loader:
        expected = taken(whole)
        for before in range(len(whole)):
            batches = iter(loader)
            for _ in range(before):
                next(batches)
            loader._count = interrupt
            with pytest.raises(KeyboardInterrupt):
                next(batches)
            del loader._count
            assert taken(loader) == expected


def interrupt() -> None:
    raise KeyboardInterrupt


FORKED = """
import os, sys
from gloam.errors import LoaderError
from gloam.loaders import PairLoader, TorchLoader

options = {"batch_size": 4, "size": 32, "device": "cpu", "workers": 1}
for kind in (PairLoader, TorchLoader):
    loader = kind(sys.argv[1], **options)
    passing = iter(loader)
    next(passing)
    child = os.fork()
    if child == 0:
        for use in (lambda: next(passing), lambda: next(iter(loader))):
            try:
                use()
            except LoaderError as error:
                print(error, flush=True)
        loader.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert len(list(loader)) == len(loader)
    loader.close()
"""


@pytest.mark.slow
def test_a_loader_that_was_used_says_so_in_a_forked_child(shards):
    command = [sys.executable, "-W", "ignore", "-c", FORKED, str(shards)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.count("was used before this process was forked") == 4


def test_lists_are_loaded_as_sets_are(files):
    from gloam.loaders import pairs_in

    pairs = pairs_in(files / "train" / "low", files / "train" / "normal")
    for loader in (PairLoader, TorchLoader):
        with loader(
            pairs, batch_size=4, device="cpu", workers=0 if loader is TorchLoader else 1
        ) as train:
            first, second = epoch_numbers(train), epoch_numbers(train)
            assert first != second
            assert len(set(first)) == LENGTH * 4
        with loader(
            pairs, "val", batch_size=4, device="cpu", workers=0 if loader is TorchLoader else 1
        ) as val:
            assert epoch_numbers(val) == epoch_numbers(val)
            assert len(set(epoch_numbers(val))) == TRAIN
