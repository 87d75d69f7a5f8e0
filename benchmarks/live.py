"""Live lows on a GPU: that they are the CPU's, and their speed beside stored ones.

    python benchmarks/live.py FOLDER [--photographs 12000] [--record live-h200]

FOLDER takes a few GB (/dev/shm, say): photographs of 500 x 375 cropped from those inside
scikit-image, and a set of them with PNG lows. Compared are 100 pairs of the validation split: the
live lows of exactly decoded normals with the stored ones, and those of normals that the GPU decoded
with the CPU's lows of these very pixels. Timed are PairLoader at 192 with augmentation, batches of
256, and `darken_batch` of CUDA tensors, draws included. Needs a GPU, DALI and numba-cuda.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import skimage.data
import torch
from PIL import Image
from recording import recorded

import gloam
from gloam.engines.process import available_cores

SIZE = 500, 375


def photographs(folder: Path, count: int) -> Path:
    """A folder of JPEGs, crops of colour photographs, all different."""
    folder.mkdir(parents=True, exist_ok=True)
    names = ("astronaut", "coffee", "chelsea", "rocket")
    originals = [getattr(skimage.data, name)()[..., :3] for name in names]
    rng = np.random.default_rng(0)
    for i in range(count):
        image, share = originals[i % len(originals)], rng.uniform(0.4, 1)
        h, w = int(image.shape[0] * share), int(image.shape[1] * share)
        y, x = rng.integers(0, image.shape[0] - h + 1), rng.integers(0, image.shape[1] - w + 1)
        path = folder / f"p{i:06d}.jpg"
        if not path.is_file():
            crop = Image.fromarray(image[y : y + h, x : x + w])
            crop.resize(SIZE, Image.Resampling.BICUBIC).save(path, quality=90)
    return folder


def compare(root: Path, exact: bool, reader: str) -> None:
    """Compare live lows with stored ones, or with the CPU's of the pixels that were decoded."""
    loader = gloam.PairLoader(
        root,
        "val",
        batch_size=1,
        dtype="uint8",
        layout="HWC",
        device="cuda",
        keys=True,
        reader=reader,
        live=True,
        exact=exact,
    )
    stored = {pair.key: pair for pair in gloam.open_set(root).pairs("val")}
    different = count = 0
    for low, normal, keys in loader:
        pixels = normal[0].cpu().numpy()
        wanted = (
            stored[keys[0]].pixels()[0]
            if exact
            else gloam.darken(pixels, loader.live.recipe, seed=loader.live.seed, key=keys[0])
        )
        different += bool((low[0].cpu().numpy() != wanted).any())
        count += 1
    what = "exact, with the stored lows" if exact else "decoded by the GPU, with the CPU's lows"
    print(f"{what}, reader {loader.reader}: {different} of {count} images differ")


def speed(root: Path, title: str, seconds: float = 8.0, **options: Any) -> float:
    """Pairs a second, after the first batches."""
    loader = gloam.PairLoader(
        root, "train", batch_size=256, size=192, augment=True, device="cuda", **options
    )
    count, start = 0, 0.0
    while not start or time.perf_counter() - start < seconds:
        for batch, (low, _) in enumerate(loader):
            if not start and batch == 3:
                torch.cuda.synchronize()
                start = time.perf_counter()
            elif start:
                count += len(low)
    torch.cuda.synchronize()
    found = count / (time.perf_counter() - start)
    loader.close()
    print(f"{title:32} {found:9,.0f} pairs a second", flush=True)
    return found


def batches(root: Path) -> None:
    """Images a second of `darken_batch`, draws included."""
    loader = gloam.PairLoader(
        root, "train", batch_size=256, dtype="uint8", layout="HWC", device="cuda", live=True
    )
    normals = next(iter(loader))[1].contiguous()
    loader.close()
    for _ in range(2):
        gloam.darken_batch(normals, "uneven", seed=1)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for seed in range(10):
        gloam.darken_batch(normals, "uneven", seed=seed)
    torch.cuda.synchronize()
    found = 10 * len(normals) / (time.perf_counter() - start)
    print(f"{'darken_batch, draws included':32} {found:9,.0f} images a second")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--photographs", type=int, default=12_000)
    parser.add_argument("--record", metavar="NAME", help="Also write results/NAME.txt.")
    args = parser.parse_args()
    with recorded(args.record):
        source = photographs(args.folder / "photographs", args.photographs)
        root = args.folder / "set"
        start = time.perf_counter()
        options: dict[str, Any] = {"select": False, "val": 100, "workers": available_cores()}
        gloam.build(root, [f"folder={source}"], **options)
        print(f"built with PNG lows in {time.perf_counter() - start:.1f} s")
        for exact, reader in ((True, "auto"), (True, "external"), (False, "auto")):
            compare(root, exact, reader)
        stored = speed(root, "stored PNG lows")
        live = speed(root, "live, fresh draws", live=True)
        speed(root, "live, fresh draws, random crops", live=True, crop="random")
        print(f"live over stored: {live / stored:.2f}")
        batches(root)


if __name__ == "__main__":
    main()
