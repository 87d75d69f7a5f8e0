"""Whether what a GPU's loaders give is right while the GPU is busy with something else.

    python benchmarks/busy.py FOLDER [--photographs 1500] [--turns 3] [--record busy-h200]

Four processes train on the GPU beside, as many as half of the cores count to nothing. Loaders of
stored and live pairs and clips are compared with the CPU's, key by key: an image is wrong where it
differs by more than a level on average (decoders of JPEG do so by .1 to .3, and resizing by less).
Work that waits on a busy GPU is what tells whether memory is used again too early. Needs a GPU and
DALI; on a CPU it compares a loader with itself.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from clips import write_video
from live import photographs
from recording import options_of, recorded

import gloam
from gloam.engines.process import available_cores

TRAINS = """
import torch
net = torch.nn.Sequential(*[torch.nn.Conv2d(64, 64, 3, padding=1) for _ in range(6)]).cuda()
images = torch.randn(16, 64, 96, 96, device="cuda")
while True:
    for _ in range(20):
        net(images).sum().backward()
    float(images.sum())
"""
COUNTS = "while True: sum(range(10000))"
SIZE = 96, 160
Images = dict[str, tuple[Any, Any]]


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--photographs", type=int, default=1500)
    parser.add_argument("--turns", type=int, default=3)
    args = parser.parse_args()
    cores = available_cores()
    source, videos = args.folder / "photographs", args.folder / "videos"
    photographs(source, args.photographs)
    videos.mkdir(exist_ok=True)
    for number in range(6):
        write_video(videos, number)
    how: dict[str, Any] = {"recipe": "even", "select": False, "workers": cores}
    for codec in ("png", "jpeg"):
        root = args.folder / codec
        gloam.build(root, [f"folder={source}"], low_codec=codec, val=0, shard_size=100, **how)
    gloam.build(args.folder / "clips", f"clips={videos}", frames=8, step=24, shard_size=4, **how)
    plain: dict[str, Any] = {
        "size": SIZE, "shuffle": False, "last_batch": "partial", "keys": True, "dtype": "uint8",
        "workers": cores,
    }  # fmt: skip
    live = {"live": True, "draws": "set"}
    pairs = partial(gloam.PairLoader, batch_size=64, **plain)
    clips = partial(gloam.ClipLoader, args.folder / "clips", batch_size=4, **plain)
    ways: dict[str, Callable[..., Any]] = {
        "pairs, PNG": partial(pairs, args.folder / "png"),
        "pairs, JPEG": partial(pairs, args.folder / "jpeg"),
        "pairs, live": partial(pairs, args.folder / "jpeg", **live),
        "clips, PNG": partial(clips, backend="dali"),
        "clips, live": partial(clips, backend="dali", **live),
    }
    with recorded(args.record):
        on = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
        print(f"{cores} cores, {on}; {args.turns} turns")
        exact = {name: dict(each(make(device="cpu"))) for name, make in ways.items()}
        for busy in (False, True):
            with load(cores // 2 if busy else 0):
                for name, make in ways.items():
                    print(f"{'busy' if busy else 'idle'}: {name}: ", end="", flush=True)
                    print(compared(make, exact[name], args.turns), flush=True)


@contextmanager
def load(counting: int) -> Iterator[None]:
    """Keep the GPU and some cores busy; neither where there is none to be."""
    programs = [TRAINS] * 4 * torch.cuda.is_available() + [COUNTS] * counting
    made = [subprocess.Popen([sys.executable, "-c", one]) for one in programs if counting]
    try:
        time.sleep(10 if made else 0)
        yield
    finally:
        for one in made:
            one.kill()


def each(loader: Any) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Yield the key and the images of each sample."""
    for low, normal, keys in loader:
        yield from zip(keys, zip(low.cpu().numpy(), normal.cpu().numpy(), strict=True), strict=True)
    loader.close()


def compared(make: Callable[..., Any], exact: Images, turns: int) -> str:
    """Return how many samples are wrong, of a new loader in each turn."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    wrong, count, largest = [0, 0], 0, 0.0
    for _ in range(turns):
        for key, made in each(make(device=device)):
            count += 1
            for kind, (one, other) in enumerate(zip(made, exact[key], strict=True)):
                frames = np.abs(one.astype(np.int16) - other).reshape(-1, one[..., :, :].size)
                apart = float(frames.mean(axis=1).max())
                wrong[kind] += apart > 1
                largest = max(largest, apart)
    return (
        f"{wrong[0]} lows and {wrong[1]} normals of {count} wrong; on average {largest:.2f} levels"
        " apart at most"
    )


if __name__ == "__main__":
    main()
