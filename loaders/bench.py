"""Measure how fast pairs, images and clips load on this machine, by every loader."""

from __future__ import annotations

import itertools
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from ..engines.process import (
    available_cores,
    begin_child,
    main_left_alone,
    prepare_own_process,
    prepare_workers,
)
from ..errors import LoaderError
from ..manifests.open_data import images_in, images_listed
from ..manifests.sets.info import SET_FILE
from ..manifests.sets.pair_set import open_set
from ..manifests.sets.split_files import open_files
from .backend import is_installed
from .clips.clip_loader import ClipLoader
from .image_loader import ImageLoader
from .mixture import Mixture, at, mixture_in
from .pair_loader import PairLoader, TorchLoader
from .workers import copied_ahead


@dataclass(frozen=True)
class Speed:
    """One way to load, and how fast it was; or a note why it did not run."""

    name: str
    pairs_a_second: float
    first_batch_s: float
    note: str = ""


@dataclass(frozen=True)
class Bench:
    """Speeds of all loaders, and the machine that they were measured on."""

    machine: dict[str, Any]
    speeds: list[Speed]

    @property
    def advice(self) -> str:
        """The fastest way to load on this machine; "" where none ran."""
        ran = [speed for speed in self.speeds if speed.pairs_a_second and speed.first_batch_s]
        if not ran:
            return ""
        best = max(ran, key=lambda speed: speed.pairs_a_second)
        return f"fastest here: {best.name}"

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self) | {"advice": self.advice}


class Asked(NamedTuple):
    """The loading to measure.

    root: a set, a folder, a list or a mixture.
    batch_size, size: images are resized to size x size.
    seconds: for each way, after its first batches.
    workers: numbers of processes of the plain DataLoader.
    say: called with the name of what is measured next.
    """

    root: Path
    split: str
    batch_size: int
    size: int
    seconds: float
    workers: tuple[int, ...]
    say: Callable[[str], None]

    @property
    def common(self) -> dict[str, Any]:
        """Options of every loader, which measures alone."""
        device = "cuda" if torch.cuda.is_available() else "cpu"
        options = {"batch_size": self.batch_size, "size": self.size, "device": device}
        return options | {"rank": 0, "world_size": 1}

    def timed(self, name: str, make: Callable[[], Any]) -> Speed:
        """Measure a loader, after its first batches."""
        self.say(name)
        start = time.perf_counter()
        try:
            with make() as loader:
                batches = itertools.chain.from_iterable(itertools.repeat(loader))
                next(batches)
                _wait_for_gpu()
                first = time.perf_counter() - start
                for _ in range(3):
                    next(batches)
                _wait_for_gpu()
                start, pairs = time.perf_counter(), 0
                while time.perf_counter() - start < self.seconds:
                    pairs += len(next(batches)[0])
                _wait_for_gpu()
                return Speed(name, pairs / (time.perf_counter() - start), first)
        except (LoaderError, ImportError) as error:
            return Speed(name, 0, 0, f"not run: {error}")


def bench_pairs(asked: Asked) -> Bench:
    """Measure the ways to load a set."""
    root, split = asked.root, asked.split
    pairs = open_set(root)
    count = open_files(pairs, split).count
    asked = asked._replace(batch_size=min(asked.batch_size, count))
    common = asked.common | {"crop": "resize", "shuffle": True, "last_batch": "drop"}
    device = common["device"]
    live = pairs.live
    ways: list[tuple[str, dict[str, Any]]] = [("DALI, live" if live else "DALI, stored", {})]
    if not live:
        ways.append(("DALI, live", {"live": True}))
    ways.append(("DALI, live, random crops", {"live": True, "crop": "random"}))
    where = "the GPU's" if device == "cuda" else "host"
    ways.append((f"resident in {where} memory", {"resident": True}))
    if device == "cuda":
        resident = {"live": True, "resident": True, "crop": "random"}
        ways.append(("resident, live, random crops", resident))
    plain: dict[str, dict[str, Any]] = {name: {"decoder": name} for name in ("opencv", "pillow")}
    if not live:
        plain["live"] = {"live": True}
    for (name, options), processes in itertools.product(plain.items(), asked.workers):
        options = {"backend": "torch", "workers": processes, **options}
        ways.append((f"DataLoader, {name}, {processes} workers", options))
    speeds = []
    for name, options in ways:
        how = {"backend": "dali", **common, **options}
        speeds.append(asked.timed(name, partial(PairLoader, root, split, **how)))
    speeds.append(_measure_memory(asked, device))
    return Bench(machine_facts(asked, "pairs", count), speeds)


def bench_mixture(asked: Asked) -> Bench:
    """Measure a mixture, each component alone, and the speed that these permit."""
    mixture, speeds = mixture_in(asked.root), []
    with TorchLoader(mixture, asked.split, **asked.common) as loader:
        machine = machine_facts(asked, "pairs", loader.order.count)
    weights = {name: at(one.weight, 0) for name, one in mixture.components.items()}
    ways: dict[str, Callable[..., Any]] = {
        f"{processes} workers": partial(TorchLoader, workers=processes)
        for processes in asked.workers
    }
    if is_installed():
        ways["DALI"] = partial(PairLoader, backend="dali")
    for way, loader_of in ways.items():
        load = partial(loader_of, split=asked.split, **asked.common)
        alone: dict[str, float] = {}
        for name in (name for name in weights if weights[name]):
            alone_always = mixture.components[name].model_copy(update={"weight": {0: 1.0}})
            one = Mixture({name: alone_always}, max(asked.batch_size, 1) * 1000)
            speeds.append(asked.timed(f"{name} alone, {way}", partial(load, one)))
            alone[name] = speeds[-1].pairs_a_second
        speeds.append(asked.timed(f"mixture, {way}", partial(load, mixture)))
        if all(alone.values()):
            parts = sum(weights[name] / speed for name, speed in alone.items())
            allowed = sum(weights.values()) / parts
            speeds.append(Speed(f"allowed by components, {way}", allowed, 0))
    return Bench(machine, speeds)


def machine_facts(asked: Asked, what: str, count: int) -> dict[str, Any]:
    """Return facts of the measured data and of the machine."""
    return {
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
        "cores": available_cores(),
        "processor": platform.processor() or platform.machine(),
        what: count,
        "batch_size": asked.batch_size,
        "size": asked.size,
        "torch": torch.__version__,
    }


def _measure_memory(asked: Asked, device: str) -> Speed:
    """Measure random pairs of images that lie decoded in the device's memory, as floats."""
    asked.say("already in memory")
    count, size = asked.batch_size, asked.size
    shape = min(2048, 4 * count), 2, 3, size, size
    images = torch.randint(0, 256, shape, dtype=torch.uint8, device=device)
    start, pairs = time.perf_counter(), 0
    while time.perf_counter() - start < asked.seconds:
        chosen = images[torch.randint(0, len(images), (count,), device=device)].float() / 255
        pairs += len(chosen)
        _wait_for_gpu()
    return Speed("already in memory (upper bound)", pairs / (time.perf_counter() - start), 0)


def _wait_for_gpu() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def bench_images(asked: Asked) -> Bench:
    """Measure the ways to load the images of a folder or list."""
    root, size = asked.root, asked.size
    images = images_in(root) if root.is_dir() else images_listed(root)
    count = min(asked.batch_size, len(images.paths))
    asked, gpu = asked._replace(batch_size=count), torch.cuda.is_available()
    speeds = [asked.timed("DALI", partial(ImageLoader, root, backend="dali", **asked.common))]
    for decoder in ("opencv", "pillow"):
        for processes in asked.workers:
            for ahead in (False, True) if gpu else (False,):
                name = f"DataLoader, {decoder}, {processes} workers"
                name += ", prefetched to the GPU" if ahead else ""
                data = _Images(images.paths, images.labels, decoder, size)
                make = partial(_Plain, data, count, processes, gpu, ahead)
                speeds.append(asked.timed(name, make))
    return Bench(machine_facts(asked, "images", len(images.paths)), speeds)


class _Images(Dataset[Any]):
    """Images by number, as a DataLoader's processes make them: uint8 CHW."""

    def __init__(self, paths: list[str], labels: list[int], decoder: str, size: int) -> None:
        self._paths, self._labels, self._decoder, self._size = paths, labels, decoder, size

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, number: int) -> tuple[torch.Tensor, int]:
        path, sides = self._paths[number], (self._size, self._size)
        if self._decoder == "opencv":
            read = cv2.imread(path, cv2.IMREAD_COLOR_RGB)
            if read is None:
                raise ValueError(f"{path}: cannot be read")
            image: Any = cv2.resize(read, sides, interpolation=cv2.INTER_LINEAR)
        else:
            with Image.open(path) as opened:
                whole = opened.convert("RGB")
            image = np.asarray(whole.resize(sides, Image.Resampling.BILINEAR))
        return torch.from_numpy(image.transpose(2, 0, 1).copy()), self._labels[number]


class _Plain:
    """A plain DataLoader, whose batches are made floats on the device."""

    def __init__(
        self, images: _Images, batch_size: int, workers: int, gpu: bool = False, ahead: bool = False
    ) -> None:
        self._device, self._ahead = torch.device("cuda" if gpu else "cpu"), ahead
        self._loader = DataLoader(
            images,
            batch_size=batch_size,
            shuffle=True,
            drop_last=True,
            num_workers=workers,
            pin_memory=gpu,
            persistent_workers=workers > 0,
            worker_init_fn=_prepare_worker,
            multiprocessing_context=prepare_workers([__name__], workers + 1) if workers else None,
        )

    def __enter__(self) -> _Plain:
        return self

    def __exit__(self, *exception: object) -> None:
        iterator = getattr(self._loader, "_iterator", None)
        if iterator is not None:
            iterator._shutdown_workers()

    def __iter__(self) -> Iterator[Any]:
        stream = torch.cuda.Stream() if self._ahead else None
        with main_left_alone():
            batches = iter(self._loader)

        def on_device(batch: Any) -> tuple[torch.Tensor, torch.Tensor]:
            with nullcontext() if stream is None else torch.cuda.stream(stream):
                images, labels = (one.to(self._device, non_blocking=True) for one in batch)
                return images.float() / 255, labels

        moved = map(on_device, batches)
        return copied_ahead(moved, stream) if self._ahead else moved


def _prepare_worker(number: int) -> None:
    prepare_own_process()
    begin_child()


def bench_clips(asked: Asked, frames: int) -> Bench:
    """Measure the ways to load clips: of `frames` frames, where `asked.root` is no set."""
    root = asked.root
    of_set = (root / SET_FILE).is_file()
    windows = None if of_set else frames
    options: dict[str, Any] = {"crop": "resize", "shuffle": True}
    loaded = partial(ClipLoader, root, asked.split, frames=windows, **options)
    alone: dict[str, Any] = {"size": asked.size, "batch_size": 1, "workers": 0, "device": "cpu"}
    count = loaded(**alone).contents.count
    asked = asked._replace(batch_size=min(asked.batch_size, count))
    machine = machine_facts(asked, "clips", count)
    machine["frames"] = open_set(root).frames if of_set else frames
    common, ways = asked.common | {"last_batch": "drop"}, list[tuple[str, dict[str, Any]]]()
    if of_set and not open_set(root).live:
        ways.append(("stored", {}))
    ways += [("live", {"live": True}), ("live, random crops", {"live": True, "crop": "random"})]
    speeds = []
    for name, more in ways:
        make = partial(loaded, **common | more)
        who: dict[str, Callable[[], ClipLoader]] = {}
        dali, pyav = partial(make, backend="dali"), partial(make, decoder="pyav")
        if is_installed() and (common["device"] == "cuda" or name == "stored") and _can(dali):
            who[f"DALI, {common['device']}"] = dali
        if not of_set and _can(pyav):
            who[f"PyAV, {common['device']}"] = pyav
        for processes in asked.workers:
            who[f"{processes} workers"] = partial(make, backend="torch", workers=processes)
        speeds += [asked.timed(f"ClipLoader, {name}, {how}", by) for how, by in who.items()]
    return Bench(machine, speeds)


def _can(make: Callable[[], ClipLoader]) -> bool:
    """Return whether a loader can be made: DALI does not decode every video, PyAV no folder."""
    try:
        make()
    except LoaderError:
        return False
    return True
