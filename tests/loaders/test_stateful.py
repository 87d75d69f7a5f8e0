"""Trainers that save the state of torchdata's StatefulDataLoader find the same habits here."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import gloam

data = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is missing")

# torchdata 0.11 asks torch 2.13 for something that is deprecated there.
pytestmark = pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")
Maker = Callable[[], Any]


@pytest.fixture(scope="module")
def made(photographs, tmp_path_factory):
    root = tmp_path_factory.mktemp("stateful") / "set"
    gloam.build(root, f"folder={photographs}", val=4, select=False, recipe="even", shard_size=5)
    return root


@pytest.fixture(params=["torchdata", "PairLoader", "TorchLoader", "ImageLoader"])
def maker(request, made) -> Iterator[Maker]:
    """Makes loaders of the same pairs, in the same order."""
    opened = []

    def make() -> Any:
        options = {"batch_size": 3, "shuffle": False, "crop": "resize", "size": 32}
        kind = "TorchLoader" if request.param == "torchdata" else request.param
        more = {"device": "cpu"} | ({"workers": 0} if kind == "TorchLoader" else {"workers": 1})
        loader = getattr(gloam, kind)(made, last_batch="partial", **options, **more)
        opened.append(loader)
        if request.param == "torchdata":
            return data.StatefulDataLoader(Resized(loader.dataset), batch_size=3)
        return loader

    yield make
    for loader in opened:
        loader.close()


class Resized:
    """A loader's pairs, as a DataLoader stacks them."""

    def __init__(self, pairs: Any) -> None:
        self.pairs = pairs

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, number: int) -> Any:
        return tuple(image[:16, :16].copy() for image in self.pairs[number])


def sums(batches: Any) -> list[float]:
    return [float(low.sum()) for low, _ in batches]


def test_a_state_taken_in_mid_epoch_goes_on_there(maker):
    whole = sums(maker())
    loader = maker()
    batches = iter(loader)
    first = sums(next(batches) for _ in range(2))
    state = copy.deepcopy(loader.state_dict())
    again = maker()
    again.load_state_dict(state)
    assert first + sums(again) == whole
    assert sums(again) == whole  # the next epoch is whole


def test_a_state_taken_at_the_last_batch_has_nothing_left_of_its_epoch(maker):
    loader = maker()
    whole = sums(loader)
    again = maker()
    batches = iter(again)
    assert sums(next(batches) for _ in whole) == whole
    state = copy.deepcopy(again.state_dict())
    resumed = maker()
    resumed.load_state_dict(state)
    assert sums(resumed) == []
    assert sums(resumed) == whole
    assert sums(batches) == []  # what was left where the state was taken


def test_a_state_taken_at_an_epochs_end_begins_the_next_one(maker):
    loader = maker()
    whole = sums(loader)
    state = loader.state_dict()
    again = maker()
    again.load_state_dict(state)
    assert sums(again) == whole


def test_a_state_taken_before_the_first_batch_is_the_beginning(maker):
    loader = maker()
    state = loader.state_dict()
    again = maker()
    again.load_state_dict(state)
    assert sums(again) == sums(loader)


def test_lengths_are_of_batches(maker):
    loader = maker()
    assert len(loader) == len(sums(loader))


def test_a_new_iterator_begins_anew(maker):
    loader = maker()
    batches = iter(loader)
    first = sums([next(batches), next(batches)])
    assert sums(loader)[:2] == first
