"""Speed and memory of `gloam build` and `gloam regenerate`, as ratios within one run.

    python benchmarks/build.py PHOTOS [--copies 30]

PHOTOS is a folder of photographs; it is built as if it held several copies of each, with JPEG lows (quality 95, 4:4:4). The
floor is what any such tool must do: OpenCV decode of each photograph plus OpenCV encode of it at the same quality and chroma.
Ratios to OpenCV's default 4:2:0, which is a third faster to encode, are shown beside. "build" is everything after start-up on
one core: listing, measuring, planning, darkening, packing, closing.

On two shared cores of an AMD EPYC of family 26, 100 photographs of ImageNet (0.231 Mpixel), 30 copies; two runs:

    OpenCV decode and encode       1.89 ms an image          1.97 ms
    build --no-select              4.33 ms, 2.29 of it       4.55 ms, 2.31 of it
    regenerate, another ISO        4.52 ms, 2.39 of it       4.70 ms, 2.39 of it
    build, with selection          6.50 ms, 3.43 of it       6.74 ms, 3.43 of it
    two workers, times one         1.67 (start-up 0.70 s)    1.68 (0.79 s)
    OpenCV in two processes        1.67 times one            1.61 times one
    memory of the largest worker   174 MB                    173 MB after 3,000 pairs

10,000 pairs in a busy hour: 49.3 s by one worker, 29.4 s by two, 1.68 times. The cores share a host with others: two processes
that do nothing but OpenCV gain no more. Of a pair's time 1.0 ms is decoding, 1.8 darkening (1.6 of them the kernel, 7 ns a pixel;
with the draw .92 of the floor, chroma noise reduction included), .9 encoding, .2 hashing every byte twice. Measuring a candidate
decodes it once more, which is most of what selection costs. The marks are 2.5 of the floor and 1.8 times (2.0 end to end and 1.5
for the model alone): the first and the last are reached.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing import forkserver
from pathlib import Path

import cv2
import numpy as np
from gloam.manifests.images import SUFFIXES, decode, load_normal
from gloam.manifests.measure import measure
from gloam.manifests.setfile import read_set
from gloam.manifests.sources import Source
from gloam.manifests.suitability import load_profile
from gloam.manifests.workers import ordered_map, prepare_workers
from gloam.synth import PRELOAD, darken
from gloam.synth.build import build
from gloam.synth.making import encode_low
from gloam.synth.models import draw, render
from gloam.synth.recipe import load_recipe
from gloam.synth.regenerate import regenerate
from gloam.synth.request import OutputOptions, Request

JPEG = OutputOptions(low_codec="jpg")
FULL = [cv2.IMWRITE_JPEG_QUALITY, 95, cv2.IMWRITE_JPEG_SAMPLING_FACTOR, 0x111111]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", type=Path)
    parser.add_argument("--copies", type=int, default=30, help="of each photograph in the set that is built")
    parser.add_argument("--recipe", default="uneven")
    args = parser.parse_args()
    files = sorted(path for path in args.photos.rglob("*") if path.suffix.lower() in SUFFIXES)
    data = [path.read_bytes() for path in files]
    stages(data, args.recipe)
    # In memory where there is such a folder: what is measured is the build, not the disk.
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        photos = Path(folder, "photos")
        for copy in range(args.copies):
            for i, path in enumerate(files):
                target = photos / str(copy) / f"{i}{path.suffix}"
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)
        whole(photos, Path(folder), len(files) * args.copies, args.recipe)


def best(function: Callable[[], object], rounds: int = 5) -> float:
    """Seconds of the fastest of several runs."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


FLOOR_MS = 0.0


def stages(data: list[bytes], recipe_name: str) -> None:
    """Milliseconds an image of the parts of a build and of the floor."""
    global FLOOR_MS
    recipe = load_recipe(recipe_name)
    arrays = [np.frombuffer(d, np.uint8) for d in data]
    decoded = [cv2.imdecode(a, cv2.IMREAD_COLOR) for a in arrays]
    normals = [load_normal(d).pixels for d in data]
    draws = [draw(recipe, 0, str(i)) for i in range(len(data))]
    lows = [render(n, d) for n, d in zip(normals, draws, strict=True)]
    default = [cv2.IMWRITE_JPEG_QUALITY, 95]
    rows: dict[str, Callable[[], object]] = {
        "OpenCV decode": lambda: [cv2.imdecode(a, cv2.IMREAD_COLOR) for a in arrays],
        "OpenCV encode, 95 4:2:0": lambda: [cv2.imencode(".jpg", d, default) for d in decoded],
        "OpenCV encode, 95 4:4:4": lambda: [cv2.imencode(".jpg", d, FULL) for d in decoded],
        "measure": lambda: [measure(d, 10**9) for d in data],
        "load normal": lambda: [load_normal(d) for d in data],
        "decode JPEG": lambda: [decode(d, "jpg") for d in data],
        "draw": lambda: [draw(recipe, 0, str(i)) for i in range(len(data))],
        "darken": lambda: [render(n, d) for n, d in zip(normals, draws, strict=True)],
        "encode low, 95 4:4:4": lambda: [encode_low(low, JPEG) for low in lows],
    }
    print(f"{len(data)} photographs, {np.mean([n.size / 3e6 for n in normals]):.3f} Mpixel on average")
    times = {name: best(f) / len(data) * 1e3 for name, f in rows.items()}
    FLOOR_MS = times["OpenCV decode"] + times["OpenCV encode, 95 4:4:4"]
    for name, ms in times.items():
        print(f"  {name:26} {ms:6.2f} ms  {ms / FLOOR_MS:5.2f} of the floor")
    print(f"  {'floor':26} {FLOOR_MS:6.2f} ms")


def whole(photos: Path, folder: Path, count: int, recipe_name: str) -> None:
    """Seconds a pair of whole builds with one and two workers, and the memory of their processes."""
    source = Source(kind="folder", path=str(photos), name="folder")
    everything = Request(sources=(source,), recipe=load_recipe(recipe_name), output=JPEG)
    selected = everything.model_copy(update={"profile": load_profile().model_copy(update={"duplicate_bits": None})})
    paths = sorted(path for path in photos.rglob("*") if path.is_file())
    cores = os.sched_getaffinity(0)
    build(everything, folder / "warm", 1)
    peaks: dict[str, float] = {}
    stop = threading.Event()
    watcher = threading.Thread(target=watch, args=(peaks, stop))
    watcher.start()
    names = ("floor", "one", "again", "selected", "floors", "start", "two", "two_again")
    times: dict[str, list[float]] = {name: [] for name in names}
    # Interleaved, and the best of each: other work on the machine slows all of them alike.
    for _ in range(3):
        os.sched_setaffinity(0, {min(cores)})
        times["floor"].append(seconds(lambda: through_opencv(paths)))
        times["one"].append(seconds(lambda: fresh(folder / "one", everything, 1)))
        times["again"].append(seconds(lambda: remade(folder / "one", folder / "again", 1)))
        times["selected"].append(seconds(lambda: fresh(folder / "selected", selected, 1)) * count / made(folder / "selected"))
        os.sched_setaffinity(0, cores)
        times["start"].append(start_up())
        times["floors"].append(seconds(lambda: list(ordered_map(through_opencv, [paths[::2], paths[1::2]], 2))))
        forkserver._forkserver._stop()
        times["two"].append(seconds(lambda: fresh(folder / "two", everything, 2)))
        forkserver._forkserver._stop()
        times["two_again"].append(seconds(lambda: remade(folder / "one", folder / "again", 2)))
    stop.set()
    watcher.join()
    floor, one, again, select, floors, start, two, two_again = (min(of) for of in times.values())
    print(f"one core, {count:,} photographs, best of 3 interleaved rounds:")
    print(f"  OpenCV decode and encode     {floor / count * 1e3:6.2f} ms an image")
    print(f"  build --no-select            {one / count * 1e3:6.2f} ms a pair   {one / floor:5.2f} of it")
    print(f"  regenerate, another ISO      {again / count * 1e3:6.2f} ms a pair   {again / floor:5.2f} of it")
    print(f"  build, with selection        {select / count * 1e3:6.2f} ms a pair   {select / floor:5.2f} of it")
    print(f"two workers: {two:.2f} s against {one:.2f} s, {one / two:.2f} times one worker (regenerate {again / two_again:.2f});")
    print(f"  of it {start:.2f} s until both have started; OpenCV in two processes, started before: {floor / floors:.2f} times")
    print(f"memory of the largest worker: {max(peaks.values()):.0f} MB after {count:,} pairs")


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
    """Note the peak resident memory in MB of this process's workers, what they share included, as long as they run."""
    while not stop.wait(0.1):
        for child in children(os.getpid()):
            # Workers are forked from a server that is a child of this process.
            for worker in children(child):
                with suppress(OSError, IndexError):  # it ended meanwhile
                    status = Path(f"/proc/{worker}/status").read_text()
                    peaks[worker] = float(status.partition("VmHWM:")[2].split()[0]) / 1024


def children(pid: int | str) -> list[str]:
    try:
        return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []


def remade(origin: Path, root: Path, workers: int) -> None:
    shutil.rmtree(root, ignore_errors=True)
    regenerate(origin, root, overrides=["camera.iso=6400"], workers=workers)


def fresh(root: Path, request: Request, workers: int) -> None:
    shutil.rmtree(root, ignore_errors=True)
    build(request, root, workers)


def start_up() -> float:
    """Seconds until two workers have answered once: starting Python, importing, loading the compiled kernels."""
    forkserver._forkserver._stop()
    start = time.perf_counter()
    prepare_workers([PRELOAD], 2)
    picture = np.full((64, 64, 3), 128, np.uint8)
    list(ordered_map(partial(darken, recipe="uneven"), [picture, picture], 2))
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
