"""Lightning's Trainer: fit with validation, limits, and two processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("nvidia.dali")
L = pytest.importorskip("lightning")
torch = pytest.importorskip("torch")

from gloam.loaders import PairLoader, TorchLoader  # noqa: E402

from .ranks import BATCH, LENGTH, TRAIN, VAL, mixed, numbers  # noqa: E402


class Watched(L.LightningModule):
    """A model that writes down what it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Conv2d(3, 3, 1)
        self.seen: dict[str, list[list[int]]] = {"train": [], "val": [], "sanity": []}

    def on_train_start(self) -> None:
        if self.trainer.fit_loop.restarting:  # in mid-epoch, which then does not start
            self.seen["train"].append([])

    def on_train_epoch_start(self) -> None:
        self.seen["train"].append([])

    def on_validation_epoch_start(self) -> None:
        self.seen["sanity" if self.trainer.sanity_checking else "val"].append([])

    def training_step(self, batch, index):
        self.seen["train"][-1] += numbers(batch[1])
        return (self.layer(batch[0]) - batch[1]).abs().mean()

    def validation_step(self, batch, index) -> None:
        self.seen["sanity" if self.trainer.sanity_checking else "val"][-1] += numbers(batch[1])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 1e-3)


def loaders(root, kind, **more):
    options = {
        "batch_size": BATCH,
        "size": (40, 56),
        "device": "cpu",
        "workers": 1 if kind is PairLoader else 0,
    }
    return kind(root, "train", **options, **more), kind(root, "val", **options)


def trainer(folder, **options):
    return L.Trainer(
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
        **{"max_epochs": 3, "enable_checkpointing": False} | options,
    )


@pytest.mark.parametrize("kind", [PairLoader, TorchLoader])
@pytest.mark.parametrize("sanity", [0, 2])
def test_fit_trains_and_validates_every_epoch(shards, tmp_path, kind, sanity):
    model, (train, val) = Watched(), loaders(shards, kind)
    with train, val:
        trainer(tmp_path, num_sanity_val_steps=sanity).fit(model, train, val)
    assert [len(epoch) for epoch in model.seen["train"]] == [LENGTH * BATCH] * 3
    assert all(len(set(epoch)) == LENGTH * BATCH for epoch in model.seen["train"])
    assert model.seen["train"][0] != model.seen["train"][1] != model.seen["train"][2]
    assert [len(set(epoch)) for epoch in model.seen["val"]] == [VAL] * 3
    assert [len(epoch) for epoch in model.seen["sanity"]] == ([2 * BATCH] if sanity else [])


def test_fit_trains_on_a_mixture(shards, tmp_path):
    model, train = Watched(), mixed(shards)
    _, val = loaders(shards, TorchLoader)
    with train, val:
        trainer(tmp_path).fit(model, train, val)
        length = len(train) * BATCH
    assert [len(epoch) for epoch in model.seen["train"]] == [length] * 3
    assert model.seen["train"][0] != model.seen["train"][1]


@pytest.mark.parametrize("kind", [PairLoader, TorchLoader])
def test_overfitting_sees_the_same_batches_of_loaders_that_do_not_shuffle(shards, tmp_path, kind):
    model, (train, val) = Watched(), loaders(shards, kind, shuffle=False)
    with train, val:
        trainer(tmp_path, overfit_batches=2).fit(model, train, val)
    assert [len(epoch) for epoch in model.seen["train"]] == [2 * BATCH] * 3
    assert model.seen["train"][0] == model.seen["train"][1] == model.seen["train"][2]


@pytest.mark.parametrize("kind", [PairLoader, TorchLoader])
def test_limits_begin_an_epoch_each_time(shards, tmp_path, kind):
    model, (train, val) = Watched(), loaders(shards, kind)
    with train, val:
        trainer(tmp_path, limit_train_batches=5, limit_val_batches=2).fit(model, train, val)
    assert [len(epoch) for epoch in model.seen["train"]] == [5 * BATCH] * 3
    assert model.seen["train"][0] != model.seen["train"][1] != model.seen["train"][2]
    assert [len(epoch) for epoch in model.seen["val"]] == [2 * BATCH] * 3
    assert model.seen["val"][0] == model.seen["val"][1]


@pytest.mark.parametrize("kind", [PairLoader, TorchLoader])
def test_a_run_resumed_from_a_checkpoint_in_mid_epoch_sees_the_batches_that_were_left(
    shards, tmp_path, kind
):
    whole, (train, val) = Watched(), loaders(shards, kind)
    every = L.pytorch.callbacks.ModelCheckpoint(
        tmp_path, "{step}", every_n_train_steps=4, save_top_k=-1
    )
    with train, val:
        trainer(tmp_path, max_epochs=2, enable_checkpointing=True, callbacks=[every]).fit(
            whole, train, val
        )
    second, (train, val) = Watched(), loaders(shards, kind)
    with train, val:
        trainer(tmp_path, max_epochs=2).fit(second, train, val, ckpt_path=tmp_path / "step=4.ckpt")
    seen = [number for epoch in second.seen["train"] for number in epoch]
    assert seen == whole.seen["train"][0][4 * BATCH :] + whole.seen["train"][1]


SCRIPT = """
import json, sys
from gloam.loaders import PairLoader, TorchLoader
from tests.clients.test_lightning import Watched, trainer

# No `if __name__ == "__main__"`: TorchLoader's processes do not run this script.
root, folder = sys.argv[1:]
options = {"batch_size": 2, "size": (40, 56), "device": "cpu", "workers": 1}
# Before there is a process group:
made = [
    (kind(root, "train", **options), kind(root, "val", **options))
    for kind in (PairLoader, TorchLoader)
]
seen = []
for train, val in made:
    model = Watched()
    running = trainer(folder, devices=2, strategy="ddp", max_epochs=2)
    running.fit(model, train, val)
    seen.append(model.seen)
with open(f"{folder}/seen-{running.global_rank}.json", "w") as file:
    json.dump(seen, file)
"""


@pytest.mark.slow
def test_two_processes_share_every_epoch(shards, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = os.pathsep.join([root, os.path.join(root, "src")])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore"}
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        environment.pop(name, None)
    command = [sys.executable, str(script), str(shards), str(tmp_path)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr[-3000:]
    ranks = [json.loads((tmp_path / f"seen-{rank}.json").read_text()) for rank in range(2)]
    for seen in zip(*ranks, strict=True):  # of each kind of loader
        for epoch in range(2):
            numbers = [*seen[0]["train"][epoch], *seen[1]["train"][epoch]]
            assert len(numbers) == len(set(numbers)) == TRAIN // 2 // 2 * 2 * 2
            numbers = [*seen[0]["val"][epoch], *seen[1]["val"][epoch]]
            assert sorted(numbers) == sorted(set(numbers))
            assert len(numbers) == VAL
