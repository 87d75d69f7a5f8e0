"""Loading a mixture, beside what the speeds of its components, weighted, allow it.

    python benchmarks/mixtures.py FOLDER [--photographs 10000] [--record mixtures-h200]

FOLDER takes 2 GB (/dev/shm, say): photographs of 500 x 375 as of benchmarks/live.py, and two sets
of them with JPEG lows, in shards and in files. Components are live lows, stored pairs of either
layout, a list of pairs, and lit pictures. Each is loaded alone by PairLoader with DALI as anyone
would, then all of them as a mixture, by DALI and by torch's processes, in turns in one run. A
mixture takes at least the sum over its components of share / speed for a pair: its reciprocal is
what they allow. Windows of 192 with augmentation, batches of 256, on a GPU where there is one.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch
from live import photographs
from recording import options_of, recorded

import gloam
from gloam.loaders.bench import Asked
from gloam.manifests.sets.pair_set import open_set

COMMAND = [sys.executable, "-c", "from gloam.cli.main import gloam; gloam()"]
BUILD = ["--no-select", "--low-codec", "jpeg", "--low-chroma", "420", "--val", "1"]
WEIGHTS = {"live": 4, "stored": 3, "files": 1, "list": 1, "lit": 1}


def built(root: Path, photos: Path, layout: str) -> Path:
    """A set of photographs."""
    if not (root / "set.json").is_file():
        source = ["build", str(root), "--source", f"folder={photos}", "--layout", layout]
        done = subprocess.run([*COMMAND, *source, *BUILD], capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
    return root


def sources(folder: Path, count: int) -> dict[str, dict[str, Any]]:
    """Return each component, as a mixture has it."""
    photos = photographs(folder / "photographs", count)
    shards, files = (built(folder / name, photos, name) for name in ("shards", "files"))
    pairs = [
        tuple(str(files / "train" / kind / f"{pair.key}.jpg") for kind in ("low", "normal"))
        for pair in open_set(files).pairs("train")
    ]
    return {
        "live": {"data": str(shards), "live": True},
        "stored": {"data": str(shards)},
        "files": {"data": str(files)},
        "list": {"data": pairs},
        "lit": {"data": str(shards), "identity": True},
    }


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--photographs", type=int, default=10_000)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--turns", type=int, default=3)
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    common: dict[str, Any] = {"batch_size": args.batch_size, "size": 192, "augment": True}
    common |= {"device": device, "rank": 0, "world_size": 1}
    parts = sources(args.folder, args.photographs)
    weighted = {name: {**one, "weight": WEIGHTS[name]} for name, one in parts.items()}
    mixed = gloam.mix(weighted)
    loaders = {}
    for name, one in parts.items():
        alone: Any = gloam.mix({name: {**one, "weight": 1}}) if "identity" in one else one["data"]
        live = {"live": True} if "live" in one else {}
        loaders[name] = partial(gloam.PairLoader, alone, backend="dali", **common, **live)
    mixtures = ("dali", "torch")
    for backend in mixtures:
        loaders[backend] = partial(gloam.PairLoader, mixed, backend=backend, **common)
    asked = Asked(args.folder, "train", args.batch_size, 192, args.seconds, (), lambda name: None)
    with recorded(args.record):
        speeds: dict[str, list[float]] = {name: [] for name in loaders}
        for _ in range(args.turns):
            for name, load in loaders.items():
                speed = asked.timed(name, load)
                if speed.note:
                    sys.exit(f"{name}: {speed.note}")
                speeds[name].append(speed.pairs_a_second)
        for name, turns in speeds.items():
            what = f"mixture, {name}" if name in mixtures else f"{name} alone"
            share = f", weight {WEIGHTS[name]}" if name in WEIGHTS else ""
            print(f"{what + share:24}", *(f"{one:10,.0f}" for one in turns), "pairs a second")
        middle = {name: median(turns) for name, turns in speeds.items()}
        whole = sum(WEIGHTS.values())
        allowed = whole / sum(weight / middle[name] for name, weight in WEIGHTS.items())
        print(f"{'allowed by components':24} {allowed:10,.0f} by medians")
        for backend in mixtures:
            print(f"{backend}: {middle[backend] / allowed:.2f} of what is allowed")


if __name__ == "__main__":
    main()
