"""Loading speed on a machine with GPUs: readers, hardware decoder share, DataLoader, validation,
AlexNet and a U-Net's waiting.

    python benchmarks/loaders.py FOLDER [--pairs 10000] [--only
    readers,decoder,val,alexnet,unet,waits,ranks]

Makes JPEG pairs of 500 x 375 from the photographs inside scikit-image in FOLDER (about 1.2 GB), as
shards and as files, and measures everything in one run. With several GPUs, `--only ranks` under
torchrun measures all of them together; take 40,000 pairs or more for it, as each epoch ends with a
part of a batch that "drop" throws away. The output of a run on one NVIDIA H200 stands in
results/loaders-h200.txt, of four in results/several-gpus-h200.txt.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import skimage.data
import torch
from PIL import Image
from recording import options_of, shards_of

from gloam.loaders import PairLoader
from gloam.loaders.bench import Asked, bench_pairs
from gloam.loaders.dali.pipelines import SIDE_BY_SIDE, fn, pipeline_def
from gloam.loaders.ranks import usable_cores

WAYS = ("readers", "decoder", "val", "alexnet", "unet", "waits")
LOADED: dict[str, dict[str, Any]] = {
    "stored": {},
    "live": {"live": True},
    "resident, live": {"live": True, "resident": True},
}
sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))


def photographs(folder: Path, count: int) -> Path:
    """Crops of colour photographs, 500 x 375, all different."""
    if folder.exists():
        return folder
    originals = [
        Image.fromarray(getattr(skimage.data, name)()[..., :3])
        for name in ("astronaut", "coffee", "chelsea", "rocket")
    ]
    folder.mkdir(parents=True)
    with ThreadPoolExecutor(usable_cores()) as pool:
        list(
            pool.map(
                lambda i: photograph(originals[i % 4], i).save(folder / f"{i:06d}.jpg", quality=92),
                range(count),
            )
        )
    return folder


def photograph(original: Image.Image, i: int) -> Image.Image:
    rng = np.random.default_rng(i)
    share = rng.uniform(0.5, 1)
    w, h = int(original.width * share), int(original.height * share)
    x, y = rng.integers(0, original.width - w + 1), rng.integers(0, original.height - h + 1)
    made = original.crop((x, y, x + w, y + h)).resize((500, 375), Image.Resampling.BICUBIC)
    made = made.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if rng.integers(2) else made
    noise = rng.normal(0, 4, (375, 500, 3)).astype(np.float32)
    return Image.fromarray((np.asarray(made) + noise).clip(0, 255).astype(np.uint8))


def make_set(root: Path, photos: Path, layout: str) -> Path:
    if not (root / "set.json").exists():
        gloam = "from gloam.cli.main import gloam; gloam()"
        command = [
            sys.executable,
            "-c",
            gloam,
            "build",
            str(root),
            "--source",
            f"folder={photos}",
            "--layout",
            layout,
        ]
        command += [
            "--no-select",
            "--low-codec",
            "jpeg",
            "--low-chroma",
            "420",
            "--val",
            "1856",
            "--shard-size",
            "500",
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return root


def seconds_of(loader: PairLoader, batches: int) -> tuple[float, int]:
    """Time of some batches after the first few, epoch after epoch."""
    iterator = endless(loader)
    for _ in range(8):
        next(iterator)
    torch.cuda.synchronize()
    start, pairs = time.perf_counter(), 0
    for _ in range(batches):
        pairs += len(next(iterator)[0])
    torch.cuda.synchronize()
    return time.perf_counter() - start, pairs


def endless(loader: PairLoader) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    return itertools.chain.from_iterable(itertools.repeat(loader))


def readers(shards: Path, files: Path) -> None:
    """Both layouts within an epoch, the plain DataLoader, and the bound."""
    for root in (shards, files):
        for batch_size in (128, 256, 512):
            with PairLoader(root, batch_size=batch_size, size=192) as loader:
                seconds, pairs = seconds_of(loader, 60)
            speed = f"{pairs / seconds:8,.0f} pairs a second"
            print(f"{root.name:10}, batch {batch_size}: {speed}", flush=True)
    asked = Asked(shards, "train", 256, 192, 4.0, (4, usable_cores()), lambda name: None)
    result = bench_pairs(asked)
    for speed in result.speeds:
        line = (
            f"gloam bench: {speed.name:32} {speed.pairs_a_second:10,.0f} pairs a second, first"
            f" batch {speed.first_batch_s:.2f} s"
        )
        print(line, speed.note, flush=True)


def decoder(shards: Path) -> None:
    """Which share of the JPEGs the hardware decoder should take, and which batch size."""
    for batch_size in (128, 256, 512):
        for share in (0.0, 0.5, 0.65, 0.8, 0.9, 1.0):
            with PairLoader(
                shards, batch_size=batch_size, size=192, hw_decoder_load=share
            ) as loader:
                seconds, pairs = seconds_of(loader, 40)
            print(
                f"batch {batch_size}, hw_decoder_load {share:4}: {pairs / seconds:8,.0f} pairs a"
                " second",
                flush=True,
            )


def val(shards: Path) -> None:
    """The validation pairs, after start-up."""
    with PairLoader(shards, "val", batch_size=256, size=192) as loader:
        for _ in range(3):
            start = time.perf_counter()
            pairs = sum(len(low) for low, _ in loader)
            torch.cuda.synchronize()
            print(f"{pairs} validation pairs in {time.perf_counter() - start:.2f} s", flush=True)


@pipeline_def
def decoded(tars: list[str], indexes: list[str]) -> tuple[Any, ...]:
    """Lows and normals read and decoded, and nothing else."""
    _, low, normal = fn.readers.webdataset(
        paths=tars,
        index_paths=indexes,
        ext=["json", "low.png;low.jpg", "normal.jpg;normal.png"],
        random_shuffle=True,
        initial_fill=1024,
    )
    return tuple(fn.decoders.image([low, normal], device="mixed", hw_decoder_load=1.0))


@contextmanager
def jpeg_engines(name: str) -> Iterator[None]:
    """Print how busy the hardware decoders were within the block, by nvidia-smi, second by
    second."""
    command = ["nvidia-smi", "dmon", "-s", "u", "-d", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as monitor:
        yield
        monitor.terminate()
        rows = [line.split() for line in monitor.communicate()[0].splitlines()]
    place = (
        next(row for row in rows if "jpg" in row).index("jpg") - 1
    )  # the header's own "#" is a word
    print(
        f"{name}: JPEG engines busy {[int(row[place]) for row in rows if row[0].isdigit()]} %",
        flush=True,
    )


def alexnet(shards: Path) -> None:
    """The probe of examples/alexnet.py beside what decoding alone can give, and how busy the
    hardware decoders are in either."""
    from alexnet import held, measure

    device = torch.device("cuda")
    for batch_size in (256, 512):
        tars, indexes = shards_of(shards)
        pipeline = decoded(
            tars,
            indexes,
            batch_size=batch_size,
            num_threads=usable_cores(),
            device_id=0,
            prefetch_queue_depth=4,
            **SIDE_BY_SIDE,
        )
        with jpeg_engines(f"decoding alone, batch {batch_size}"):
            for i in range(40 + 100_000 // batch_size):
                if i == 40:
                    torch.cuda.synchronize()
                    start = time.perf_counter()
                pipeline.run()
            torch.cuda.synchronize()
            pairs = 100_000 // batch_size * batch_size
            print(
                f"decoding alone, batch {batch_size}: {pairs / (time.perf_counter() - start):,.0f}"
                " pairs a second",
                flush=True,
            )
        del pipeline
        with PairLoader(
            shards, batch_size=batch_size, size=192, augment=True, hw_decoder_load=1.0
        ) as loader:
            batches = endless(loader)
            low, normal = (images.clone() for images in next(batches))
            bound = measure(
                f"AlexNet, data that is there, batch {batch_size}",
                held((low, normal)),
                150,
                device,
                None,
            )
            with jpeg_engines("AlexNet, PairLoader"):
                measure("AlexNet, PairLoader", batches, 100_000 // batch_size, device, bound)


def unet(shards: Path) -> None:
    """Share of time that the GPU stands still before a step of the training example, with batches
    that are there and with loaded ones: between an event after a step and one before the next, as
    the GPU itself sees them. The first is what Python costs.
    """
    from train import UNet

    def new() -> Callable[..., None]:
        model = UNet().cuda()
        return stepping(model, torch.optim.AdamW(model.parameters()))

    waiting("U-Net", new, shards, (64, 256), 60)


def waits(shards: Path) -> None:
    """The same of AlexNet, which takes a batch in a fifteenth of the time."""
    from alexnet import AlexNet

    def new() -> Callable[..., None]:
        model = AlexNet().cuda()
        return stepping(model, torch.optim.SGD(model.parameters(), 0.01))

    waiting("AlexNet", new, shards, (256,), 600)


def stepping(model: torch.nn.Module, optimiser: torch.optim.Optimizer) -> Callable[..., None]:
    """A step of training on a pair's tensors."""

    def step(low: torch.Tensor, normal: torch.Tensor) -> None:
        with torch.autocast("cuda", torch.bfloat16):
            made = model(low)
            loss = (made - normal).abs().mean() if made.ndim == 4 else made.square().mean()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()

    return step


def waiting(
    network: str,
    new: Callable[[], Callable[..., None]],
    shards: Path,
    sizes: tuple[int, ...],
    steps: int,
) -> None:
    """Print for each way to load what the GPU waits before steps of a network."""
    for size, (name, options) in itertools.product(sizes, LOADED.items()):
        crop = "random" if options else "random-resized"
        step = new()
        with PairLoader(
            shards, batch_size=size, size=192, augment=True, crop=crop, **options
        ) as loader:
            batches = endless(loader)
            held = tuple(images.clone() for images in next(batches))
            for given in (held, None):
                for _ in range(10):
                    step(*(given or next(batches)))
                torch.cuda.synchronize()
                start, pauses = time.perf_counter(), []
                for _ in range(steps):
                    pauses.append([torch.cuda.Event(enable_timing=True) for _ in range(2)])
                    pauses[-1][0].record()
                    pair = given or next(batches)
                    pauses[-1][1].record()
                    step(*pair)
                torch.cuda.synchronize()
                seconds = time.perf_counter() - start
                waited = sum(done.elapsed_time(begun) for done, begun in pauses) / 1e3 / seconds
                print(
                    f"{network}, batch {size}, {name if given is None else 'held'}:"
                    f" {steps * size / seconds:,.0f} pairs a second; the GPU waits {waited:.3%} of"
                    " the time before steps",
                    flush=True,
                )


def ranks(shards: Path) -> None:
    """All ranks together: pairs a second, and that no sample comes twice."""
    import torch.distributed as dist

    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    with PairLoader(shards, batch_size=256, size=192) as loader:
        batches = endless(loader)
        for _ in range(20):
            next(batches)
        torch.cuda.synchronize()
        dist.barrier()
        start = time.perf_counter()
        for _ in range(300):
            next(batches)
        torch.cuda.synchronize()
        slowest = torch.tensor([time.perf_counter() - start], device="cuda")
        dist.all_reduce(slowest, dist.ReduceOp.MAX)
        together = dist.get_world_size() * 300 * 256 / slowest.item()
    seen: dict[str, list[str]] = {}
    for split in ("train", "val"):
        with PairLoader(shards, split, batch_size=100, size=32, keys=True) as loader:
            mine = [key for _, _, keys in loader for key in keys]
        everyone: list[list[str]] = [[] for _ in range(dist.get_world_size())]
        dist.all_gather_object(everyone, mine)
        seen[split] = [key for keys in everyone for key in keys]
    if dist.get_rank() == 0:
        counts = {split: (len(keys), len(set(keys))) for split, keys in seen.items()}
        speed = (
            f"{dist.get_world_size()} GPUs, 300 batches of 256 each: {together:,.0f} pairs a second"
            " together"
        )
        print(f"{speed}; (samples, different ones): {counts}", flush=True)
    dist.destroy_process_group()


def main() -> None:
    parser = options_of(__doc__, record=False)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--only", default=",".join(WAYS))
    args = parser.parse_args()
    if args.only == "ranks":
        ranks(args.folder / "shards")
        return
    photos = photographs(args.folder / "photos", args.pairs)
    start = time.perf_counter()
    shards, files = (
        make_set(args.folder / layout, photos, layout) for layout in ("shards", "files")
    )
    seconds = time.perf_counter() - start
    print(
        f"{torch.cuda.get_device_name()}, {usable_cores()} cores; {args.pairs} pairs built twice in"
        f" {seconds:.1f} s",
        flush=True,
    )
    ways = args.only.split(",")
    if "readers" in ways:
        readers(shards, files)
    for name, way in (
        ("decoder", decoder),
        ("val", val),
        ("alexnet", alexnet),
        ("unet", unet),
        ("waits", waits),
    ):
        if name in ways:
            way(shards)


if __name__ == "__main__":
    main()
