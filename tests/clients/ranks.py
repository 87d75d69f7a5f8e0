"""Functions that tests of trainers share; ranks import it, and none of the trainers with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from gloam.loaders import PairLoader, mix

TRAIN, VAL, BATCH = 37, 11, 4
LENGTH, VAL_LENGTH = TRAIN // BATCH, -(-VAL // BATCH)


def numbers(normal) -> list[int]:
    """Which pairs a batch holds."""
    return ((normal[:, 0, 0, 0] * 255).round().long() // 4).tolist()


def mixed(shards, **more):
    """Stored pairs and lit ones, three to one."""
    mixture = mix({"set": (shards, 3), "lit": {"data": shards, "weight": 1, "identity": True}})
    return PairLoader(mixture, batch_size=BATCH, size=(40, 56), device="cpu", workers=0, **more)


def on_ranks(world: int, folder: Path, script: str, *given: str) -> str:
    """Run a script in several processes, as torchrun does; returns what they print."""
    path = folder / "script.py"
    path.write_text(script)
    root = Path(__file__).parents[2]
    environment = {
        **os.environ,
        "PYTHONPATH": f"{root}{os.pathsep}{root}/src",
        "PYTHONWARNINGS": "ignore",
    }
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
    done = subprocess.run(
        [*command, str(world), str(path), *given],
        capture_output=True, text=True, timeout=300, check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
