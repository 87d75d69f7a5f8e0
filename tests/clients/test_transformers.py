"""Hugging Face's Trainer: three epochs, evaluation after each, and a run that is gone on with."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("nvidia.dali")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")
torch = pytest.importorskip("torch")

from gloam.loaders import PairLoader, TorchLoader, mix  # noqa: E402

from .ranks import BATCH, LENGTH, VAL, VAL_LENGTH, numbers, on_ranks  # noqa: E402


class Brightener(torch.nn.Module):
    """Takes batches as they are, and writes down what it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Conv2d(3, 3, 1)
        self.seen: dict[bool, list[list[int]]] = {True: [], False: []}

    def forward(self, batch):
        low, normal = batch
        self.seen[self.training].append(numbers(normal))
        return {"loss": (self.layer(low) - normal).abs().mean()}


class PairTrainer(transformers.Trainer):
    """A Trainer of loaders that somebody else made."""

    def __init__(self, train, val, **options) -> None:
        super().__init__(**options)
        self._loaders = train, val

    def get_train_dataloader(self):
        return self.accelerator.prepare(self._loaders[0])

    def get_eval_dataloader(self, eval_dataset=None):
        return self.accelerator.prepare(self._loaders[1])

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(inputs)
        return (outputs["loss"], outputs) if return_outputs else outputs["loss"]

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        with torch.no_grad():
            return model(inputs)["loss"], None, None


def trainer(shards, kind, folder, **options):
    common = {
        "batch_size": options.pop("batch", BATCH),
        "size": (40, 56),
        "device": "cpu",
        "workers": 1 if kind is PairLoader else 0,
    }
    model = Brightener()
    arguments = transformers.TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=3,
        per_device_train_batch_size=BATCH,
        eval_strategy="epoch",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        remove_unused_columns=False,
        **{"save_strategy": "no", **options},
    )
    train, val = kind(shards, "train", **common), kind(shards, "val", **common)
    return model, PairTrainer(
        train,
        val,
        model=model,
        args=arguments,
        train_dataset=train.dataset,
        eval_dataset=val.dataset,
    )


def test_a_mixture_is_trained_on(shards, tmp_path):
    def mixture(root, split, **options):
        return PairLoader(mix({"set": (root, 3), "again": (root, 1)}, epoch=52), split, **options)

    model, running = trainer(shards, mixture, tmp_path)
    running.train()
    assert running.state.global_step == len(model.seen[True])
    assert len({n for batch in model.seen[True] for n in batch}) == 37


@pytest.mark.parametrize("kind", [PairLoader, TorchLoader])
@pytest.mark.parametrize("accumulate", [1, 2])
def test_three_epochs_are_trained_and_evaluated(shards, tmp_path, kind, accumulate):
    model, running = trainer(shards, kind, tmp_path, gradient_accumulation_steps=accumulate)
    running.train()
    batches = model.seen[True]
    assert len(batches) == 3 * LENGTH
    epochs = [
        [n for batch in batches[LENGTH * i : LENGTH * (i + 1)] for n in batch] for i in range(3)
    ]
    assert all(len(set(epoch)) == LENGTH * BATCH for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2]
    assert running.state.global_step == 3 * -(-LENGTH // accumulate)
    validated = model.seen[False]
    assert len(validated) == 3 * VAL_LENGTH
    for i in range(3):
        assert (
            len({n for batch in validated[VAL_LENGTH * i : VAL_LENGTH * (i + 1)] for n in batch})
            == VAL
        )


@pytest.mark.parametrize("kind", [PairLoader, TorchLoader])
def test_a_run_gone_on_with_in_mid_epoch_skips_what_was_seen(shards, tmp_path, kind):
    model, running = trainer(shards, kind, tmp_path)
    running.train()
    whole = model.seen[True]
    stop = LENGTH + 4
    _, stopped = trainer(
        shards, kind, tmp_path, save_strategy="steps", save_steps=stop, max_steps=stop
    )
    stopped.train()
    model, running = trainer(shards, kind, tmp_path)
    running.train(resume_from_checkpoint=str(tmp_path / f"checkpoint-{stop}"))
    assert model.seen[True] == whole[stop:]


EVALUATED = """
import json
import sys

import torch
from gloam.loaders import PairLoader, TorchLoader
from tests.clients.ranks import numbers
from tests.clients.test_transformers import PairTrainer, trainer

root, folder = sys.argv[1:]


def predicted(self, model, inputs, prediction_loss_only, ignore_keys=None):
    found = torch.tensor(numbers(inputs[1]))
    return model(inputs)["loss"].detach(), found, found


PairTrainer.prediction_step = predicted
found = []
for kind, size in ((PairLoader, 3), (TorchLoader, 4)):
    _, running = trainer(root, kind, folder, batch=size, per_device_eval_batch_size=size)
    running.compute_metrics = lambda outputs: found.append(outputs.predictions.tolist()) or {}
    running.evaluate()
    running.evaluate()
if running.is_world_process_zero():
    print(json.dumps(found))
"""


@pytest.mark.slow
def test_two_processes_evaluate_every_pair_once(shards, tmp_path):
    printed = on_ranks(2, tmp_path, EVALUATED, str(shards), str(tmp_path / "out")).splitlines()
    found = json.loads(next(line for line in printed if line.startswith("[")))
    assert [sorted(set(one)) == sorted(one) for one in found] == [True] * 4
    assert [len(one) for one in found] == [VAL] * 4
