"""The training example on two CPU processes: every pair once, and a stopped run that ends where a
whole one does."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from PIL import Image

import gloam
from gloam.manifests.selection.bounds import EVERYTHING
from gloam.manifests.selection.plan import PlanOptions
from gloam.manifests.sources import Source
from gloam.synth.building.build import build_request
from gloam.synth.building.request import Request
from gloam.synth.recipes.load import load_recipe

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def small_set(photographs, tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("training") / "set"
    source = Source(kind="folder", path=str(photographs), name="p")
    plan = PlanOptions(val=7, shard_size=8)
    build_request(
        Request(sources=(source,), profile=EVERYTHING, plan=plan, recipe=load_recipe("even")), root
    )
    return root


def train(
    data: Path,
    checkpoint: Path,
    *more: str,
    normals: Path | None = None,
    processes: int = 2,
) -> str:
    """Return what the example prints."""
    launcher = (
        ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
        if processes > 1
        else []
    )
    command = [
        sys.executable,
        *launcher,
        str(EXAMPLES / "train.py"),
        *map(str, filter(None, (data, normals))),
        "--batch-size",
        "2",
        "--size",
        "32",
        "--width",
        "4",
        "--epochs",
        "2",
        "--checkpoint",
        str(checkpoint),
        *more,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_two_processes_train_and_resume_exactly(small_set, tmp_path, monkeypatch, capsys):
    output = train(small_set, tmp_path / "whole.pt")
    assert re.findall(r"(\d+) whole validation pairs", output) == ["7", "7"]
    train(small_set, tmp_path / "parts.pt", "--every", "3", "--stop-after", "3")
    again = ["train.py", str(small_set), "--checkpoint", str(tmp_path / "parts.pt")]
    monkeypatch.setattr(sys, "argv", again)
    with pytest.raises(SystemExit):
        runpy.run_path(str(EXAMPLES / "train.py"), run_name="__main__")
    assert "--resume goes on" in capsys.readouterr().err
    train(small_set, tmp_path / "parts.pt", "--every", "3", "--resume")
    whole, parts = (
        torch.load(tmp_path / name, weights_only=True) for name in ("whole.pt", "parts.pt")
    )
    assert whole["step"] == parts["step"] == 8
    for name, weights in whole["model"].items():
        assert torch.equal(weights, parts["model"][name]), name


@pytest.mark.slow
def test_the_utilisation_probe_runs(small_set):
    command = [
        sys.executable,
        str(EXAMPLES / "alexnet.py"),
        str(small_set),
        "--batch-size",
        "2",
        "--size",
        "64",
        "--steps",
        "1",
        "--workers",
        "0",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("images a second") == 3


@pytest.mark.slow
def test_real_pairs_train_and_are_measured_where_some_are_named(small_set, tmp_path):
    gloam.export(small_set, tmp_path / "files", layout="files")
    real = [tmp_path / "files" / "train" / kind for kind in ("low", "normal")]
    others = [str(tmp_path / "files" / "val" / kind) for kind in ("low", "normal")]
    once = ("--epochs", "1", "--live", "--recipe", "train")
    alone = train(real[1], tmp_path / "a.pt", *once, "--val", *others, processes=1)
    assert "7 whole validation pairs" in alone
    both = train(real[0], tmp_path / "b.pt", "--epochs", "1", normals=real[1], processes=1)
    assert "no validation pairs, so nothing is measured: --val" in both
    assert "17 pairs, 8 steps an epoch, each of 2 windows of 32 x 32" in both


@pytest.mark.slow
def test_a_trained_model_enhances_photographs_and_is_measured_on_pairs(
    small_set, photographs, tmp_path
):
    printed = train(small_set, tmp_path / "unet.pt", "--epochs", "1", processes=1)
    gloam.export(small_set, tmp_path / "files", layout="files")
    photo = next(photographs.glob("*.jpg"))
    folders = [str(tmp_path / "files" / "val" / kind) for kind in ("low", "normal")]
    command = [
        sys.executable,
        str(EXAMPLES / "enhance.py"),
        str(tmp_path / "unet.pt"),
        str(photo),
        str(photographs),
        "--out",
        str(tmp_path / "out"),
        "--low",
        folders[0],
        "--normal",
        folders[1],
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    validated = re.search(r"7 whole validation pairs: (PSNR \d+\.\d+ dB, SSIM 0\.\d+)", printed)
    assert validated
    assert f"7 pairs: {validated[1]}; with the normal's mean" in done.stdout
    with Image.open(tmp_path / "out" / f"{photo.stem}.png") as made, Image.open(photo) as original:
        assert made.size == original.size
    assert len(list((tmp_path / "out").iterdir())) == 24
