"""Measure what sets of very many pairs take: planning and opening, with made-up rows.

    python benchmarks/scale.py FOLDER [--rows 10000000] [--record scale]

Each is measured in a process of its own, with its memory beyond that of the imports. Planned are
made-up candidates that nothing has to be chosen from (`--no-select`), as `gloam build` plans them;
opened is a made-up set of sparse shards of 1,000 pairs, which takes some 2 GB of FOLDER for 10^7.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from recording import options_of, recorded

_SHARD = 1000


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=10_000_000)
    args = parser.parse_args()
    root = args.folder / f"made up, {args.rows}"
    if not (root / "set.json").is_file():
        make_set(root, args.rows)
    with recorded(args.record):
        for rows in (args.rows // 10, args.rows):
            measured(f"planning {rows:,} candidates", planning, rows)
        measured(f"opening a set of {args.rows:,} pairs", opening, root)
        measured("the same, and 100 places of an epoch", places, root)


def measured(what: str, function: Callable[..., tuple[float, int]], *args: Any) -> None:
    """Run a function in a new process; tell its seconds and memory."""
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(theirs, function, args))
    process.start()
    theirs.close()
    seconds, rows, before, after = mine.recv()
    process.join()
    grown = (after - before) * 1024
    print(
        f"{what:45} {seconds:6.1f} s, {1e6 * seconds / rows:7.3f} us a row;"
        f" {grown / 2**20:7,.0f} MiB more, {grown / rows:6.1f} bytes a row",
        flush=True,
    )


def _measure(answer: Any, function: Callable[..., tuple[float, int]], args: Any) -> None:
    # Imports, and what they begin, do not count.
    from gloam.loaders import TorchLoader
    from gloam.manifests.selection.plan import make_plan

    assert callable(TorchLoader)
    assert callable(make_plan)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds, rows = function(*args)
    answer.send((seconds, rows, before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))


def planning(rows: int) -> tuple[float, int]:
    """Plan from a table of candidates, which is there already."""
    from gloam.manifests.selection.bounds import EVERYTHING
    from gloam.manifests.selection.candidates import leave_unmeasured
    from gloam.manifests.selection.plan import PlanOptions, make_plan
    from gloam.manifests.sources import Source

    numbers = np.arange(rows)
    text = pa.array(np.char.add("imagenet-", numbers.astype("U8")))
    listed = pa.table(
        {
            "source": pa.array(["imagenet"]).take(pa.array(np.zeros(rows, np.int64))),
            "key": text,
            "path": text,
            "size": numbers,
        }
    )
    del numbers, text
    candidates = leave_unmeasured(listed)
    start = time.perf_counter()
    source = Source(kind="imagenet", path="x", name="imagenet")
    plan = make_plan(candidates, [source], EVERYTHING, PlanOptions(val=1000))
    assert len(plan.pairs) == rows
    return time.perf_counter() - start, rows


def opening(root: Path) -> tuple[float, int]:
    """Make a loader of a set, which checks sizes and indexes."""
    from gloam.loaders import TorchLoader

    start = time.perf_counter()
    loader = TorchLoader(root, batch_size=256, size=192, workers=0, device="cpu")
    return time.perf_counter() - start, loader.contents.count


def places(root: Path) -> tuple[float, int]:
    """Find where the pairs of the first batches of a shuffled epoch lie."""
    from gloam.loaders import TorchLoader

    start = time.perf_counter()
    loader = TorchLoader(root, batch_size=256, size=192, workers=0, device="cpu")
    batches = iter(loader.batch_sampler)
    assert len([next(batches) for _ in range(100)]) == 100
    return time.perf_counter() - start, loader.contents.count


def make_set(root: Path, rows: int) -> None:
    """Write a set whose tars are sparse and hold nothing."""
    from gloam.manifests.sets.info import BuildNote, SetInfo, write_set
    from gloam.manifests.sets.layouts.layout import unit_name, write_list
    from gloam.manifests.sets.layouts.shard_tar import index_path, shard_path
    from gloam.manifests.sets.receipts import Receipt, UnitFile, write_receipt
    from gloam.storage.atomic import sha256_bytes
    from gloam.synth.building.request import OutputOptions

    (root / "shards").mkdir(parents=True)
    rng = np.random.default_rng(0)
    note = BuildNote(
        request={"plan": {"seed": 0}, "output": OutputOptions().model_dump()},
        versions={},
        plan_sha256="",
    )
    units = [unit_name("train", number) for number in range(rows // _SHARD)]
    for number, unit in enumerate(units):
        sizes = rng.integers(1, 2**17, (_SHARD, 2))
        place, lines = 0, []
        for i, (low, normal) in enumerate(sizes.tolist()):
            key, groups = f"imagenet-n{number:07d}_{i:04d}", []
            for ending, size in (("json", 2000), ("low.png", low), ("normal.jpg", normal)):
                groups.append(f"{ending} {place + 512} {size} {key}.{ending}")
                place += 512 + -(-size // 512) * 512
            lines.append(" ".join(groups))
        index = "\n".join([f"v1.2 {_SHARD}", *lines, ""]).encode()
        index_path(root, unit).write_bytes(index)
        with open(shard_path(root, unit), "wb") as tar:
            tar.truncate(place)
        files = [
            UnitFile(path=f"shards/{unit}.tar", sha256="0" * 64, bytes=place),
            UnitFile(path=f"shards/{unit}.idx", sha256=sha256_bytes(index), bytes=len(index)),
        ]
        receipt = Receipt(
            format=2,
            unit=unit,
            fingerprint=note.fingerprint,
            pairs=_SHARD,
            refused=[],
            files=files,
        )
        write_receipt(root, receipt)
    write_list(root, "train-shards", (f"shards/{unit}.tar" for unit in units))
    write_list(root, "train-indexes", (f"shards/{unit}.idx" for unit in units))
    info = SetInfo(
        name="made up",
        layout="shards",
        seed=0,
        recipe="even",
        counts={"train": rows, "val": 0, "refused": 0},
        fingerprint=note.fingerprint,
        build=note,
        libraries={},
        units=dict.fromkeys(units, _SHARD),
        files={},
    )
    write_set(root, info)


if __name__ == "__main__":
    main()
