"""Find what holds several GPUs of one host back: every stage of loading on each GPU alone,
and on all of them at once.

    torchrun --standalone --nproc-per-node 4 benchmarks/several_gpus.py SHARDS

SHARDS is a set of JPEG pairs, such as benchmarks/loaders.py makes. Every rank has its share of the
cores in both cases, so a stage whose ratio is below the number of GPUs is slowed by what they
share: memory, buses, the host's other guests. The output of a run on four NVIDIA H200 stands in
results/several-gpus-h200.txt.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from recording import shards_of

from gloam.loaders import PairLoader
from gloam.loaders.contents import Contents
from gloam.loaders.dali.pipelines import SIDE_BY_SIDE, fn, pipeline_def
from gloam.loaders.ranks import usable_cores
from gloam.manifests.sets.pair_set import open_set
from gloam.manifests.sets.split_files import open_files

SECONDS, BATCH = 4.0, 256


def main() -> None:
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    shards = Path(sys.argv[1])
    if dist.get_rank() == 0:
        print(
            f"{dist.get_world_size()} x {torch.cuda.get_device_name()}, {usable_cores()} cores"
            " each",
            flush=True,
        )
    report("copies within the host's memory, GB a second", host_copies)
    report("copies from pinned memory to the GPU, GB a second", copies_to_gpu)
    report("reading shards, pairs a second", lambda alone: pipeline_speed(undecoded, shards))
    report("decoding the same batch again and again", lambda alone: pipeline_speed(held, shards))
    report("reading and decoding", lambda alone: pipeline_speed(decoded, shards))
    report("PairLoader, resized to 192", lambda alone: loader_speed(shards, alone))
    dist.destroy_process_group()


def report(name: str, measure: Callable[[bool], float]) -> None:
    """Measure on each rank in turn, then on all of them, and print both."""
    rank, world = dist.get_rank(), dist.get_world_size()
    mine = torch.zeros(2, dtype=torch.float64, device="cuda")
    for turn in range(world):
        dist.barrier()
        if rank == turn:
            mine[0] = measure(True)
    dist.barrier()
    mine[1] = measure(False)
    every = [torch.zeros_like(mine) for _ in range(world)]
    dist.all_gather(every, mine)
    if rank == 0:
        alone, together = ([values[i].item() for values in every] for i in range(2))
        line = (
            f"alone {' '.join(f'{v:,.0f}' for v in alone)}; at once"
            f" {' '.join(f'{v:,.0f}' for v in together)}"
        )
        print(
            f"{name}: {line}; all of them {sum(together) / (sum(alone) / world):.2f} times one",
            flush=True,
        )


def repeated(step: Callable[[], Any], amount: float) -> float:
    """Amount a second of a step that does so much, over some seconds after a tenth of them."""
    for share in (0.1, 1.0):
        torch.cuda.synchronize()
        start, steps = time.perf_counter(), 0
        while time.perf_counter() - start < SECONDS * share:
            step()
            steps += 1
        torch.cuda.synchronize()
    return steps * amount / (time.perf_counter() - start)


def host_copies(alone: bool) -> float:
    threads = min(8, usable_cores())
    sources = [np.ones(64 << 20, np.uint8) for _ in range(threads)]
    targets = [np.empty_like(source) for source in sources]
    with ThreadPoolExecutor(threads) as pool:
        return repeated(
            lambda: list(pool.map(np.copyto, targets, sources)), threads * sources[0].nbytes / 1e9
        )


def copies_to_gpu(alone: bool) -> float:
    source = torch.ones(256 << 20, dtype=torch.uint8).pin_memory()
    target = torch.empty_like(source, device="cuda")

    def step() -> None:
        target.copy_(source, non_blocking=True)
        torch.cuda.synchronize()

    return repeated(step, source.numel() / 1e9)


def read(shards: Path) -> tuple[Any, Any]:
    tars, indexes = shards_of(shards)
    _, low, normal = fn.readers.webdataset(
        paths=tars,
        index_paths=indexes,
        ext=["json", "low.png;low.jpg", "normal.jpg;normal.png"],
        random_shuffle=True,
        initial_fill=1024,
        shard_id=dist.get_rank(),
        num_shards=dist.get_world_size(),
    )
    return low, normal


@pipeline_def
def undecoded(shards: Path) -> tuple[Any, ...]:
    return read(shards)


@pipeline_def
def decoded(shards: Path) -> tuple[Any, ...]:
    return tuple(fn.decoders.image(list(read(shards)), device="mixed", hw_decoder_load=0.9))


@pipeline_def
def held(shards: Path) -> tuple[Any, ...]:
    pairs = Contents(**vars(open_files(open_set(shards), "train"))).pairs
    both = zip(*(pairs[number].extents(False) for number in range(BATCH)), strict=True)
    images = tuple([np.frombuffer(one.read(), np.uint8) for one in own] for own in both)
    low, normal = fn.external_source(source=lambda: images, num_outputs=2, batch=True)
    return tuple(fn.decoders.image([low, normal], device="mixed", hw_decoder_load=0.9))


def pipeline_speed(definition: Any, shards: Path) -> float:
    pipeline = definition(
        shards,
        batch_size=BATCH,
        num_threads=usable_cores(),
        device_id=torch.cuda.current_device(),
        prefetch_queue_depth=4,
        **SIDE_BY_SIDE,
    )
    pipeline.build()
    return repeated(pipeline.run, BATCH)


def loader_speed(shards: Path, alone: bool) -> float:
    part = {"rank": 0, "world_size": 1} if alone else {}
    with PairLoader(shards, batch_size=BATCH, size=192, workers=usable_cores(), **part) as loader:
        batches = iter(loader)

        def step() -> None:
            nonlocal batches
            if next(batches, None) is None:
                batches = iter(loader)
                next(batches)

        return repeated(step, BATCH)


if __name__ == "__main__":
    main()
