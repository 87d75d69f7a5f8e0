"""Builds into an object store, and on Ray, beside local ones: time, memory, bytes.

    python benchmarks/reach.py PHOTOGRAPHS [--pairs 600] [--units 200] [--record reach]

The store is moto's server of S3, a Python program on this same machine, whose own work counts. Each
pair of builds is repeated, in turn, and the one whose ratio is the middle one told; the build that
compiles goes before. Ray has a cluster of this machine's cores, which is up before the clock runs.
Loaded are the set in the store, without and with copies of its shards, and the local one. Needs
`pip install 'gloam[cloud,ray]' 'moto[server]'`.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from recording import options_of, recorded

import gloam
from gloam.engines.process import available_cores
from gloam.storage.stores import as_path

_SERVER = """
import logging, sys, boto3
from moto.server import ThreadedMotoServer
logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
port = server.get_host_and_port()[1]
boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}").create_bucket(Bucket="bucket")
print(port, flush=True)
sys.stdin.read()
"""


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("photographs", type=Path)
    parser.add_argument("--pairs", type=int, default=600)
    parser.add_argument("--units", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    os.environ |= {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
    os.environ |= {"AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1"}
    server = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", _SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    os.environ["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{server.stdout.readline().strip()}"
    with tempfile.TemporaryDirectory() as folder, recorded(args.record):
        try:
            stores(Path(folder), args)
            cluster(Path(folder), args)
        finally:
            server.kill()


def stores(folder: Path, args: Any) -> None:
    """Builds and loaders, in a folder and in a store."""
    common = {"pairs": args.pairs, "val": 0, "shard_size": 50, "select": False}
    source = f"folder={args.photographs.resolve()}"

    def local(number: int) -> None:
        built(folder / f"set {number}", source, **common)

    def far(number: int) -> None:
        built(f"s3://bucket/set {number}", source, **common)

    local(-1)
    times = in_turn(args.repeats, local, far)
    one, other = folder / "set 0", as_path("s3://bucket/set 0")
    assert gloam.open_set(one).info.sha256 == gloam.open_set(other).info.sha256
    print(
        f"{args.pairs} pairs, {available_cores()} workers: in a folder {times[0]:.1f} s, in a store"
        f" {times[1]:.1f} s: {times[1] / times[0]:.2f}; equal bytes"
    )
    options = {"batch_size": 16, "size": 192, "crop": "random", "device": "cpu"}
    kinds: list[tuple[str, Any, dict[str, Any]]] = [
        ("local", one, {}),
        ("store", other, {}),
        ("store, copies", other, {"cache": folder / "cache"}),
    ]
    for name in ("PairLoader", "TorchLoader"):
        rates = []
        for kind, root, more in kinds:
            with getattr(gloam, name)(root, **options, **more) as loader:
                for epoch in range(3):
                    start = time.perf_counter()
                    count = sum(len(low) for low, _ in loader)
                    rate = count / (time.perf_counter() - start)
                    while epoch == 0 and more and not loader.contents.cache.whole:
                        time.sleep(0.1)
                rates.append(rate)
            print(f"{name}, {kind}: {rate:,.0f} pairs a second, {rate / rates[0]:.2f} of local")


def cluster(folder: Path, args: Any) -> None:
    """Builds by this machine's processes, and by Ray on them."""
    from gloam.engines.ray import RayEngine

    size = max(1, args.pairs // args.units)
    common = {"pairs": size * args.units, "shard_size": size, "select": False}
    source = f"folder={args.photographs.resolve()}"
    engine = RayEngine()
    assert isinstance(engine, RayEngine)

    def near(number: int) -> None:
        built(folder / f"near {number}", source, **common)

    def far(number: int) -> None:
        built(folder / f"far {number}", source, engine=engine, **common)

    far(-1)
    times = in_turn(args.repeats, near, far)
    one, other = folder / "near 0", folder / "far 0"
    assert gloam.open_set(one).info.sha256 == gloam.open_set(other).info.sha256
    print(
        f"{args.units} units of {size} pairs: by {available_cores()} processes {times[0]:.1f} s, by"
        f" Ray {times[1]:.1f} s: {times[1] / times[0]:.2f}; equal bytes"
    )
    start = time.perf_counter()
    assert sum(1 for _ in engine.map(nothing, range(10_000))) == 10_000
    taken = time.perf_counter() - start
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"10,000 jobs of nothing by Ray: {taken:.1f} s; this process, torch and DALI in it, had"
        f" {most:,.0f} MiB at most"
    )
    engine.close()


def nothing(number: int) -> int:
    """A job."""
    return number


def built(root: Any, source: str, **options: Any) -> None:
    """Build a set with all cores."""
    gloam.build(root, source, workers=available_cores(), **options)


def in_turn(repeats: int, *functions: Callable[[int], None]) -> list[float]:
    """The seconds of each of some functions, called in turn: the middle ones of all turns.

    The share that other tenants take of a machine changes within minutes: a ratio is of one turn.
    """
    times: list[list[float]] = [[] for _ in functions]
    for number in range(repeats):
        for taken, function in zip(times, functions, strict=True):
            start = time.perf_counter()
            function(number)
            taken.append(time.perf_counter() - start)
    ratios = [later / first for first, later in zip(*times, strict=True)]
    turn = ratios.index(sorted(ratios)[len(ratios) // 2])
    print("ratios of all turns: " + ", ".join(f"{ratio:.2f}" for ratio in ratios))
    return [taken[turn] for taken in times]


if __name__ == "__main__":
    main()
