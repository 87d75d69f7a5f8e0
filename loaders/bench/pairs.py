"""Measure how many pairs a second this machine loads, by every loader."""

from __future__ import annotations

import itertools
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch

from ...engines.process import available_cores
from ...errors import LoaderError
from ...manifests.sets.pair_set import open_set
from ..backend import is_installed
from ..index import contents_of
from ..mixtures.mixture import Mixture, at, mixture_in
from ..pair_loader import PairLoader, TorchLoader


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

    def timed(self, name: str, make: Callable[[], Any]) -> Speed:
        """Measure a loader, after its first batches."""
        self.say(name)
        start = time.perf_counter()
        try:
            with make() as loader:
                batches = itertools.chain.from_iterable(itertools.repeat(loader))
                next(batches)
                _wait()
                first = time.perf_counter() - start
                for _ in range(3):
                    next(batches)
                _wait()
                start, pairs = time.perf_counter(), 0
                while time.perf_counter() - start < self.seconds:
                    pairs += len(next(batches)[0])
                _wait()
                return Speed(name, pairs / (time.perf_counter() - start), first)
        except (LoaderError, ImportError) as error:
            return Speed(name, 0, 0, f"not run: {error}")


def bench_pairs(asked: Asked) -> Bench:
    """Measure the ways to load a set."""
    root, split = asked.root, asked.split
    contents = contents_of(root, split)
    asked = asked._replace(batch_size=min(asked.batch_size, contents.count))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    common: dict[str, Any] = {
        "batch_size": asked.batch_size,
        "size": asked.size,
        "device": device,
        "crop": "resize",
        "shuffle": True,
        "last_batch": "drop",
        "rank": 0,
        "world_size": 1,
    }
    live = open_set(root).live
    ways: list[tuple[str, dict[str, Any]]] = [
        ("DALI, live" if live else "DALI, stored", {}),
    ]
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
    speeds.append(_upper_bound(asked, device))
    return Bench(machine_facts(asked, "pairs", contents.count), speeds)


def bench_mixture(asked: Asked) -> Bench:
    """Measure a mixture, each component alone, and the speed that these permit."""
    mixture, speeds = mixture_in(asked.root), []
    device = "cuda" if torch.cuda.is_available() else "cpu"
    common: dict[str, Any] = {"batch_size": asked.batch_size, "size": asked.size, "device": device}
    common |= {"rank": 0, "world_size": 1}
    with TorchLoader(mixture, asked.split, **common) as loader:
        machine = machine_facts(asked, "pairs", loader.order.count)
    weights = {name: at(one.weight, 0) for name, one in mixture.components.items()}
    ways: dict[str, Callable[..., Any]] = {
        f"{processes} workers": partial(TorchLoader, workers=processes)
        for processes in asked.workers
    }
    if is_installed():
        ways["DALI"] = partial(PairLoader, backend="dali")
    for way, loader_of in ways.items():
        load = partial(loader_of, split=asked.split, **common)
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


def _upper_bound(asked: Asked, device: str) -> Speed:
    """Measure random pairs of images that lie decoded in the device's memory, as floats."""
    asked.say("already in memory")
    count, size = asked.batch_size, asked.size
    shape = min(2048, 4 * count), 2, 3, size, size
    images = torch.randint(0, 256, shape, dtype=torch.uint8, device=device)
    start, pairs = time.perf_counter(), 0
    while time.perf_counter() - start < asked.seconds:
        chosen = images[torch.randint(0, len(images), (count,), device=device)].float() / 255
        pairs += len(chosen)
        _wait()
    return Speed("already in memory (upper bound)", pairs / (time.perf_counter() - start), 0)


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
