"""Accelerate: prepare, accumulate, skip_first_batches."""

from __future__ import annotations

import pytest

pytest.importorskip("nvidia.dali")
accelerate = pytest.importorskip("accelerate")
torch = pytest.importorskip("torch")

from gloam.loaders import PairLoader, TorchLoader  # noqa: E402

from .ranks import BATCH, LENGTH, TRAIN, VAL, mixed, numbers, on_ranks  # noqa: E402


@pytest.fixture(params=["dali", "torch", "torch-processes"])
def make(request, shards):
    def loader(split="train"):
        options = {"batch_size": BATCH, "size": (40, 56), "device": "cpu"}
        if request.param.startswith("torch"):
            return TorchLoader(
                shards, split, workers=2 if "processes" in request.param else 0, **options
            )
        return PairLoader(shards, split, workers=1, **options)

    return loader


@pytest.fixture
def accelerator():
    accelerate.state.AcceleratorState._reset_state(True)
    accelerate.state.GradientState._reset_state()
    yield accelerate.Accelerator(cpu=True, gradient_accumulation_steps=2)
    accelerate.state.AcceleratorState._reset_state(True)
    accelerate.state.GradientState._reset_state()


def test_a_mixture_is_prepared_and_gone_on_with_by_skipping(shards, accelerator):
    train = accelerator.prepare(mixed(shards))
    whole = [numbers(normal) for _, normal in train]
    again = accelerator.prepare(mixed(shards))
    left = accelerate.skip_first_batches(again, 2)
    assert [numbers(normal) for _, normal in left] == whole[2:]
    assert len(whole) == len(train)


def test_prepared_loaders_give_whole_epochs_and_accumulation_ends_with_them(make, accelerator):
    layer = torch.nn.Conv2d(3, 3, 1)
    model, optimiser, train, val = accelerator.prepare(
        layer, torch.optim.SGD(layer.parameters(), 1e-3), make(), make("val")
    )
    for _ in range(3):
        seen, steps = [], []
        for low, normal in train:
            with accelerator.accumulate(model):
                accelerator.backward((model(low) - normal).abs().mean())
                steps.append(accelerator.sync_gradients)
                optimiser.step()
                optimiser.zero_grad()
            seen += numbers(normal)
        assert len(set(seen)) == len(seen) == LENGTH * BATCH
        assert LENGTH % 2 == 1
        assert steps == [False, True] * (LENGTH // 2) + [True]  # the odd one at the end counts too
        assert not accelerator.gradient_state.in_dataloader
        assert len({number for _, normal in val for number in numbers(normal)}) == VAL
    train.close()
    val.close()


def test_gather_for_metrics_takes_nothing_away(make, accelerator):
    val = accelerator.prepare(make("val"))
    seen = [
        number
        for _, normal in val
        for number in accelerator.gather_for_metrics(torch.tensor(numbers(normal))).tolist()
    ]
    assert len(seen) == len(set(seen)) == VAL
    val.close()


def test_skipped_batches_are_those_of_the_epoch(make, accelerator):
    with make() as whole:
        epochs = [[numbers(normal) for _, normal in whole] for _ in range(12)]
    loader = accelerator.prepare(make())
    with loader:
        for begun, first in zip(range(0, 12, 3), (0, 1, 5, LENGTH), strict=True):
            skipping = accelerator.skip_first_batches(loader, first)
            assert [numbers(normal) for _, normal in skipping] == epochs[begun][first:]
            assert loader.epoch == begun + 1
            assert [numbers(normal) for _, normal in loader] == epochs[begun + 1]
            skipping = accelerate.skip_first_batches(loader, first)
            assert [numbers(normal) for _, normal in skipping] == epochs[begun + 2][first:]
    assert len({number for batch in epochs[0] for number in batch}) == TRAIN // BATCH * BATCH


GATHERED = """
import sys

import accelerate
import torch
from gloam.loaders import PairLoader, TorchLoader
from tests.clients.ranks import VAL, numbers

accelerator = accelerate.Accelerator(cpu=True)
root, *cases = sys.argv[1:]
for case in cases:
    kind, size = case.split("-")
    options = {"batch_size": int(size), "size": (40, 56), "device": "cpu", "workers": 1}
    if kind == "torch":
        val = accelerator.prepare(TorchLoader(root, "val", **options))
    else:
        val = accelerator.prepare(PairLoader(root, "val", **options))
    for _ in range(2):
        seen, own = [], 0
        for _, normal in val:
            assert len(normal) == int(size), case
            own += len(normal) - val.padded
            seen += accelerator.gather_for_metrics(torch.tensor(numbers(normal))).tolist()
        assert len(seen) == len(set(seen)) == VAL, (case, seen)
        assert accelerator.reduce(torch.tensor(own)).item() == VAL, case
    val.close()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "cases"), [(2, ["dali-3", "dali-1", "torch-4"]), (3, ["torch-2"])]
)
def test_what_ranks_gather_is_every_pair_once(shards, tmp_path, world, cases):
    on_ranks(world, tmp_path, GATHERED, str(shards), *cases)
