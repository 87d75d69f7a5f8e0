"""Time and memory of planning 1.5 million made-up candidates from five sources.

    python benchmarks/plan.py [--candidates 1500000] [--pairs 153856]

`--record plan` writes results/plan.txt, too.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np
import pyarrow as pa
from recording import options_of, recorded

from gloam.manifests.selection.bounds import load_profile
from gloam.manifests.selection.plan import PlanOptions, make_plan
from gloam.manifests.sources import Source

KINDS = ("imagenet", "voc", "coco", "iapr", "streetscenes")
SHARES = (0.85, 0.012, 0.08, 0.013, 0.045)


def made_up(count: int) -> pa.Table:
    """Candidates as they come from measuring, most of them suitable, one in fifty a near-duplicate
    of another."""
    rng = np.random.default_rng(0)
    source = np.repeat(KINDS, np.rint(np.array(SHARES) * count).astype(int))[:count]
    count = len(source)
    hashes = rng.integers(0, 2**63, count, dtype=np.uint64)
    repeats = rng.integers(0, count, count // 50)
    hashes[repeats] = hashes[rng.integers(0, count, len(repeats))] ^ (
        np.uint64(1) << rng.integers(0, 63, len(repeats)).astype(np.uint64)
    )
    columns = {
        "source": source,
        "key": [f"{s}-n{i % 1000:08d}_{i}" for i, s in enumerate(source)],
        "path": [f"train/n{i % 1000:08d}/n{i % 1000:08d}_{i}.JPEG" for i in range(count)],
        "container": ["photographs"] * count,
        "member": [f"n{i}.JPEG" for i in range(count)],
        "offset": np.full(count, -1),
        "size": rng.integers(30_000, 200_000, count),
        "stamp": np.zeros(count, np.int64),
        "width": rng.integers(100, 600, count).astype(np.int32),
        "height": rng.integers(100, 600, count).astype(np.int32),
        "mean": rng.beta(8, 9, count),
        "clipped": rng.beta(0.5, 12, count),
        "dark": rng.beta(0.7, 10, count),
        "bright": rng.beta(9, 2, count),
        "laplacian": rng.lognormal(6.9, 0.7, count),
        "colourfulness": rng.gamma(4, 10, count),
        "perceptual_hash": hashes,
        "reason": [""] * count,
        "detail": [""] * count,
    }
    return pa.table(columns)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--candidates", type=int, default=1_500_000)
    parser.add_argument("--pairs", type=int, default=153_856)
    args = parser.parse_args()
    with recorded(args.record):
        measure(args.candidates, args.pairs)


def measure(candidates: int, pairs: int) -> None:
    """Plan, and say what it took."""
    table = made_up(candidates)
    sources = [Source(kind=kind, path="photographs", name=kind) for kind in KINDS]
    start = time.perf_counter()
    plan = make_plan(
        table, sources, load_profile(), PlanOptions(pairs=pairs, val=1856, shard_size=1000)
    )
    seconds = time.perf_counter() - start
    reasons, counts = np.unique(
        plan.candidates["reason"].to_numpy(zero_copy_only=False).astype(str), return_counts=True
    )
    for reason, count in zip(reasons, counts, strict=True):
        print(f"  {count:9,} {reason or 'planned'}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{len(table):,} candidates, {len(plan.pairs):,} planned: {seconds:.1f} s, {peak:.0f} MB at"
        " most (made-up rows included)"
    )


if __name__ == "__main__":
    sys.exit(main())
