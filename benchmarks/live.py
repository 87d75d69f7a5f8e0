"""Live lows on a GPU: that lows are the CPU's, and how fast they are.

    python benchmarks/live.py FOLDER [--photographs 20000] [--give] [--record live-h200]

FOLDER takes 15 GB (/dev/shm, say): photographs of 500 x 375 cropped from those inside scikit-image,
and sets of them. Built are sets with PNG, JPEG and no lows, and a small one before each, for what a
command takes to start; in shards as small as to give every worker many, as those of the reference
set do. Compared are pairs of the validation split: the live lows of exactly decoded normals with
the stored ones, and those of normals that the GPU decoded with the CPU's lows of these very pixels.
Timed are PairLoader at 192 with augmentation, batches of 256, decoding alone, and `darken_batch` of
CUDA tensors, draws included; and what `extras=` costs, against the same loader that is asked for
nothing (`--give` does that alone). Needs a GPU, DALI and numba-cuda.
"""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import skimage.data
import torch
from PIL import Image
from recording import options_of, recorded

import gloam
from gloam.engines.process import available_cores
from gloam.loaders.options import EXTRAS

SIZE = 500, 375
_REFERENCE = 153_856  # pairs


def photographs(folder: Path, count: int) -> Path:
    """A folder of JPEGs, crops of colour photographs, all different."""
    folder.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(available_cores()) as pool:
        list(pool.map(partial(_some, folder), *zip(*_parts(count), strict=True)))
    return folder


def _parts(count: int) -> list[tuple[int, int]]:
    return [(first, min(first + 256, count)) for first in range(0, count, 256)]


def _some(folder: Path, first: int, end: int) -> None:
    names = ("astronaut", "coffee", "chelsea", "rocket")
    originals = [getattr(skimage.data, name)()[..., :3] for name in names]
    rng = np.random.default_rng(first)
    for i in range(first, end):
        image, share = originals[i % len(originals)], rng.uniform(0.4, 1)
        h, w = int(image.shape[0] * share), int(image.shape[1] * share)
        y, x = rng.integers(0, image.shape[0] - h + 1), rng.integers(0, image.shape[1] - w + 1)
        path = folder / f"p{i:06d}.jpg"
        if not path.is_file():
            crop = Image.fromarray(image[y : y + h, x : x + w])
            crop.resize(SIZE, Image.Resampling.BICUBIC).save(path, quality=90)


def compare(root: Path, exact: bool) -> None:
    """Compare live lows with stored ones, or with the CPU's of the pixels that were decoded."""
    loader = gloam.PairLoader(
        root,
        "val",
        batch_size=1,
        dtype="uint8",
        layout="HWC",
        device="cuda",
        keys=True,
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
    print(f"{what}: {different} of {count} images differ")


def speed(root: Path, title: str, seconds: float = 8.0, **options: Any) -> float:
    """Pairs a second, after the first batches."""
    options = {"crop": "resize"} | options
    loader = gloam.PairLoader(
        root, "train", batch_size=256, size=192, augment=True, device="cuda", **options
    )
    count, start = 0, 0.0
    while not start or time.perf_counter() - start < seconds:
        for batch, (low, *_) in enumerate(loader):
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


def giving(root: Path) -> None:
    """Measure what `extras` costs: ratios of pairs a second within this run."""
    ways: dict[str, dict[str, Any]] = {
        "live": {"live": True},
        "live, recipe train": {"live": True, "recipe": "train"},
        "live, resized": {"live": True, "crop": "resize"},
        "live, recipe train, resized": {"live": True, "recipe": "train", "crop": "resize"},
        "stored": {},
        "resident, live": {"live": True, "resident": True},
    }
    for name, options in ways.items():
        options = {"crop": "random", "backend": "dali"} | options
        plain = speed(root, name, **options)
        for asked in ((), ("draw", "ev"), ("noise",), EXTRAS):
            what = "all" if asked == EXTRAS else ", ".join(asked) or "nothing"
            found = speed(root, f"{name}, given {what}", extras=asked, **options)
            print(f"{name}: {found / plain:.2f} of its speed, given {what}", flush=True)


def decoding(root: Path, seconds: float = 5.0) -> float:
    """Normals a second that are read and decoded, and nothing else."""
    from gloam.loaders.dali import pipelines
    from gloam.loaders.read import EncodedSteps

    loader = gloam.PairLoader(root, "train", batch_size=256, device="cuda", live=True)
    pipeline = pipelines.encoded_images(
        EncodedSteps(loader.components, loader.steps_ahead(), available_cores(), False),
        loader.options,
        batch_size=256,
        num_threads=available_cores(),
        device_id=0,
        prefetch_queue_depth=4,
        **pipelines.DECODERS_ALONE,
    )
    pipeline.build()
    for _ in range(10):
        pipeline.run()
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        pipeline.run()
        count += 256
    torch.cuda.synchronize()
    found = count / (time.perf_counter() - start)
    print(f"{'decoding normals alone':32} {found:9,.0f} a second", flush=True)
    return found


def batches(source: Path) -> None:
    """Images a second of `darken_batch`, draws included."""
    paths = sorted(source.iterdir())[:256]
    normals = torch.stack([torch.from_numpy(np.array(Image.open(path))) for path in paths]).cuda()
    for _ in range(3):
        gloam.darken_batch(normals, "uneven", seed=1)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for seed in range(40):
        gloam.darken_batch(normals, "uneven", seed=seed)
    torch.cuda.synchronize()
    found = 40 * len(normals) / (time.perf_counter() - start)
    print(f"{'darken_batch, draws included':32} {found:9,.0f} images a second")


def built(folder: Path, name: str, **options: Any) -> Path:
    """Build a set, and a small one before it; tells how long the reference set would take."""
    taken = []
    for source in ("few", "photographs"):
        root = folder / f"{name}, {source}"
        start = time.perf_counter()
        every: dict[str, Any] = {"select": False, "val": 100, "workers": available_cores()}
        every["shard_size"] = 200
        report = gloam.build(root, [f"folder={folder / source}"], **every, **options)
        taken.append(time.perf_counter() - start)
    pairs = sum(report.info.counts.values())
    rate = pairs / (taken[1] - taken[0])
    print(
        f"{name:16} {pairs:,} pairs in {taken[1]:.1f} s, of which {taken[0]:.1f} s to start:"
        f" {rate:,.0f} a second; {_REFERENCE:,} in {_REFERENCE / rate:.0f} s",
        flush=True,
    )
    return root


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--photographs", type=int, default=20_000)
    parser.add_argument("--give", action="store_true", help="measure what extras= cost, alone")
    args = parser.parse_args()
    with recorded(args.record):
        source = photographs(args.folder / "photographs", args.photographs)
        photographs(args.folder / "few", 256)
        gloam.build(  # kernels are compiled
            args.folder / "first",
            [f"folder={args.folder / 'few'}"],
            select=False,
            workers=available_cores(),
        )
        jpeg = built(args.folder, "JPEG lows", low_codec="jpeg")
        if args.give:
            giving(jpeg)
            return
        png = built(args.folder, "PNG lows")
        built(args.folder, "no lows", low_codec="none")
        for exact in (True, False):
            compare(png, exact)
        stored = speed(png, "stored PNG lows")
        stored_jpeg = speed(jpeg, "stored JPEG lows")
        alone = decoding(jpeg)
        live = speed(jpeg, "live", live=True)
        crops = speed(jpeg, "live, random crops", live=True, crop="random")
        for name, found in (("live", live), ("live, random crops", crops)):
            print(
                f"{name}: {found / stored:.1f} of stored PNG, {found / stored_jpeg:.2f} of stored"
                f" JPEG, {found / alone:.2f} of decoding alone"
            )
        speed(jpeg, "resident, live, random crops", live=True, crop="random", resident=True)
        speed(
            jpeg,
            "the same as uint8",
            live=True,
            crop="random",
            resident=True,
            dtype="uint8",
        )
        batches(source)
        giving(jpeg)


if __name__ == "__main__":
    main()
