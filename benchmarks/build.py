"""Speed and memory of `gloam build` and `gloam regenerate`, as ratios within one run.

    python benchmarks/build.py PHOTOS [--copies 30] [--low-codec png|jpg] [--record build]

PHOTOS is a folder of photographs; it is built as if it held several copies of each, with PNG lows
or JPEG ones (quality 95, 4:4:4). The floor is what any such tool must do: OpenCV decode of each
photograph plus OpenCV encode of it at the same quality and chroma. Ratios to OpenCV's default
4:2:0, which is a third faster to encode, are shown beside. "build" is everything after start-up on
one core: listing, measuring, planning, darkening, packing, closing.

The whole commands have Python's start in them; the server that two workers are forked from imports
while the command itself does. `--record build` writes what is printed to results/build.txt;
results/build-two-cores.txt has several.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path

import cv2
import numpy as np
from recording import options_of, recorded

from gloam.engines.process import prepare_own_process
from gloam.manifests.images.decode import decode
from gloam.manifests.images.header import SUFFIXES
from gloam.manifests.images.normals import load_normal
from gloam.manifests.selection.bounds import load_profile
from gloam.manifests.selection.measures import measure
from gloam.manifests.sets.info import read_set
from gloam.manifests.sources import Source
from gloam.synth.building.build import build_request
from gloam.synth.building.make_unit import encode_low
from gloam.synth.building.regenerate import regenerate
from gloam.synth.building.request import OutputOptions, Request
from gloam.synth.models import LowMaker, draw_many
from gloam.synth.recipes.load import load_recipe

FULL = [cv2.IMWRITE_JPEG_QUALITY, 95, cv2.IMWRITE_JPEG_SAMPLING_FACTOR, 0x111111]


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("photos", type=Path)
    parser.add_argument(
        "--copies", type=int, default=30, help="of each photograph in the set that is built"
    )
    parser.add_argument("--low-codec", choices=["png", "jpg"], default="png")
    parser.add_argument("--recipe", default="uneven")
    args = parser.parse_args()
    with recorded(args.record):
        everything(args)


def everything(args: argparse.Namespace) -> None:
    """Measure the parts, then the whole."""
    prepare_own_process()  # as the command does
    files = sorted(path for path in args.photos.rglob("*") if path.suffix.lower() in SUFFIXES)
    data = [path.read_bytes() for path in files]
    output = OutputOptions(low_codec=args.low_codec)
    stages(data, args.recipe, output)
    # In memory where there is such a folder: what is measured is the build, not the disk.
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        photos = Path(folder, "photos")
        for copy in range(args.copies):
            for i, path in enumerate(files):
                target = photos / str(copy) / f"{i}{path.suffix}"
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)
        whole(photos, Path(folder), len(files) * args.copies, args.recipe, output)


def best(function: Callable[[], object], rounds: int = 5) -> float:
    """Seconds of the fastest of several runs."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


FLOOR_MS = 0.0


def stages(data: list[bytes], recipe_name: str, output: OutputOptions) -> None:
    """Milliseconds an image of the parts of a build and of the floor."""
    global FLOOR_MS
    recipe = load_recipe(recipe_name)
    arrays = [np.frombuffer(d, np.uint8) for d in data]
    decoded = [cv2.imdecode(a, cv2.IMREAD_COLOR) for a in arrays]
    normals = [load_normal(d).pixels for d in data]
    keys = [str(i) for i in range(len(data))]
    maker = LowMaker(draw_many(recipe, 0, keys))
    lows = [maker.low(i, normal) for i, normal in enumerate(normals)]
    default = [cv2.IMWRITE_JPEG_QUALITY, 95]
    rows: dict[str, Callable[[], object]] = {
        "OpenCV decode": lambda: [cv2.imdecode(a, cv2.IMREAD_COLOR) for a in arrays],
        "OpenCV encode, 95 4:2:0": lambda: [cv2.imencode(".jpg", d, default) for d in decoded],
        "OpenCV encode, 95 4:4:4": lambda: [cv2.imencode(".jpg", d, FULL) for d in decoded],
        "measure": lambda: [measure(d, 10**9) for d in data],
        "load normal": lambda: [load_normal(d) for d in data],
        "decode JPEG": lambda: [decode(d, "jpg") for d in data],
        "draw": lambda: LowMaker(draw_many(recipe, 0, keys)),
        "darken": lambda: [maker.low(i, normal) for i, normal in enumerate(normals)],
        f"encode low, {output.low_codec}": lambda: [encode_low(low, output) for low in lows],
    }
    print(
        f"{len(data)} photographs, {np.mean([n.size / 3e6 for n in normals]):.3f} Mpixel on average"
    )
    times = {name: best(f) / len(data) * 1e3 for name, f in rows.items()}
    FLOOR_MS = times["OpenCV decode"] + times["OpenCV encode, 95 4:4:4"]
    for name, ms in times.items():
        print(f"  {name:26} {ms:6.2f} ms  {ms / FLOOR_MS:5.2f} of the floor")
    print(f"  {'floor':26} {FLOOR_MS:6.2f} ms")


def whole(photos: Path, folder: Path, count: int, recipe_name: str, output: OutputOptions) -> None:
    """Seconds a pair of whole builds, of whole commands with one and two workers, and the memory of
    their processes."""
    source = Source(kind="folder", path=str(photos), name="folder")
    everything = Request(sources=(source,), recipe=load_recipe(recipe_name), output=output)
    selected = everything.model_copy(
        update={"profile": load_profile().model_copy(update={"duplicate_bits": None})}
    )
    paths = sorted(path for path in photos.rglob("*") if path.is_file())
    cores = os.sched_getaffinity(0)
    build_request(everything, folder / "warm", 1)
    peaks: dict[str, float] = {}
    stop = threading.Event()
    watcher = threading.Thread(target=watch, args=(peaks, stop))
    watcher.start()
    options = [
        "--source",
        f"folder={photos}",
        "--no-select",
        "--low-codec",
        output.low_codec,
        "--recipe",
        recipe_name,
    ]
    times: dict[str, list[float]] = {}

    def note(name: str, function: Callable[[], object], root: Path | None = None) -> None:
        if root is not None:  # what the last round made
            shutil.rmtree(root, ignore_errors=True)
        times.setdefault(name, []).append(seconds(function))

    one, again, chosen = folder / "one", folder / "again", folder / "selected"
    # Interleaved, and the best of each: other work on the machine slows all of them alike.
    for _ in range(3):
        os.sched_setaffinity(0, {min(cores)})
        note("floor", lambda: through_opencv(paths))
        note("one", lambda: build_request(everything, one), one)
        note("again", lambda: regenerate(one, again, overrides=["camera.iso=6400"]), again)
        note("selected", lambda: build_request(selected, chosen), chosen)
        os.sched_setaffinity(0, cores)
        with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
            list(pool.map(through_opencv, [paths[:200], paths[-200:]]))  # both start, and warm up
            note("floors", lambda: list(pool.map(through_opencv, [paths[::2], paths[1::2]])))
        for workers in ("1", "2"):
            note(
                f"build {workers}",
                lambda w=workers: command(folder / "two", "build", *options, "--workers", w),
                folder / "two",
            )
            note(
                f"regenerate {workers}",
                lambda w=workers: command(
                    folder / "new", "regenerate", folder / "two", "--workers", w
                ),
                folder / "new",
            )
    stop.set()
    watcher.join()
    took = {name: min(each) for name, each in times.items()}
    per_pair = {"one": count, "again": count, "selected": made(folder / "selected")}
    print(f"one core, {count:,} photographs, best of 3 interleaved rounds:")
    floor = took["floor"] / count
    print(f"  OpenCV decode and encode     {floor * 1e3:6.2f} ms an image")
    rows = {
        "one": "build --no-select",
        "again": "regenerate, another ISO",
        "selected": "build, with selection",
    }
    for name, title in rows.items():
        each = took[name] / per_pair[name]
        print(f"  {title:28} {each * 1e3:6.2f} ms a pair   {each / floor:5.2f} of it")
    print("whole commands, Python's start included, with one and two workers:")
    for name in ("build", "regenerate"):
        one, two = took[f"{name} 1"], took[f"{name} 2"]
        print(f"  gloam {name:22} {one:6.2f} s and {two:5.2f} s: {one / two:.2f} times as fast")
    print(
        f"  OpenCV in two processes, started before: {took['floor'] / took['floors']:.2f} times as"
        " fast"
    )
    print(f"memory of the largest worker: {max(peaks.values()):.0f} MB after {count:,} pairs")


def command(root: Path, name: str, *arguments: object) -> None:
    """A `gloam` command as a user gives it, the set it makes being `root`."""
    places = [root, *arguments] if name == "build" else [arguments[0], root, *arguments[1:]]
    gloam = [sys.executable, "-c", "from gloam.cli.main import gloam; gloam()", name]
    subprocess.run([*gloam, *map(str, places)], check=True, stdout=subprocess.DEVNULL)


def through_opencv(paths: list[Path]) -> None:
    """The floor."""
    for path in paths:
        array = np.frombuffer(path.read_bytes(), np.uint8)
        cv2.imencode(".jpg", cv2.imdecode(array, cv2.IMREAD_COLOR), FULL)


def seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def made(root: Path) -> int:
    return sum(read_set(root).units.values())


def watch(peaks: dict[str, float], stop: threading.Event) -> None:
    """Note the peak resident memory in MB of this process's workers, what they share included, as
    long as they run."""
    while not stop.wait(0.1):
        # A command's workers are forked from a server, its child.
        for server in [server for command in children(os.getpid()) for server in children(command)]:
            for worker in children(server):
                with suppress(OSError, IndexError):  # it ended meanwhile
                    status = Path(f"/proc/{worker}/status").read_text()
                    peaks[worker] = float(status.partition("VmHWM:")[2].split()[0]) / 1024


def children(pid: int | str) -> list[str]:
    try:
        return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []


if __name__ == "__main__":
    sys.exit(main())
