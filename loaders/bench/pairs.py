"""How many pairs a second this machine can load, by every way there is."""

from __future__ import annotations

import itertools
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

import torch

from ...engines.process import available_cores
from ...errors import LoaderError
from ...manifests.sets.pair_set import open_set
from ..index import contents_of
from ..mixtures.mixture import Mixture, at, mixture_in
from ..torch_loader import TorchLoader

Reader = Literal["auto", "webdataset", "file", "external"]


@dataclass(frozen=True)
class Speed:
    """One way to load, and how fast it was.

    What it is called, pairs a second, seconds to its first batch; or why it did not run.
    """

    name: str
    pairs_a_second: float
    first_batch_s: float
    note: str = ""


@dataclass(frozen=True)
class Bench:
    """All ways, and what they ran on."""

    machine: dict[str, Any]
    speeds: list[Speed]

    @property
    def advice(self) -> str:
        """What to take on this machine: the fastest way to load; "" where none ran."""
        ran = [speed for speed in self.speeds if speed.pairs_a_second and speed.first_batch_s]
        if not ran:
            return ""
        best = max(ran, key=lambda speed: speed.pairs_a_second)
        return f"fastest here: {best.name}"

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "machine": self.machine,
            "speeds": [asdict(speed) for speed in self.speeds],
            "advice": self.advice,
        }


def bench(
    root: Path,
    split: str,
    batch_size: int,
    size: int,
    seconds: float,
    workers: tuple[int, ...],
    say: Callable[[str], None],
) -> Bench:
    """Measure the ways to load a set.

    Parameters
    ----------
    root : Path
        A set.
    split : str
    batch_size, size : int
        Images are resized to size x size.
    seconds : float
        For each way, after its first batches.
    workers : tuple of int
        Numbers of processes of the plain DataLoader.
    say : function
        Called with the name of what is measured next.
    """
    contents = contents_of(root, split)
    batch_size = min(batch_size, contents.count)
    gpu = torch.cuda.is_available()
    common: dict[str, Any] = {
        "batch_size": batch_size,
        "size": size,
        "crop": "resize",
        "shuffle": True,
        "last_batch": "drop",
        "rank": 0,
        "world_size": 1,
    }
    machine = machine_facts("pairs", contents.count, batch_size, size)
    speeds = []
    loaded = partial(_dali, root, split, gpu, common, seconds)
    live = open_set(root).live
    readers = cast(tuple[Reader, ...], tuple(dict.fromkeys((contents.reader, "external"))))
    ways: list[tuple[str, dict[str, Any]]] = [
        (f"DALI, {reader} reader{', live' if live else ''}", {"reader": reader})
        for reader in readers
    ]
    if not live:
        ways.append(("DALI, live", {"live": True}))
    ways.append(("DALI, live, random crops", {"live": True, "crop": "random"}))
    where = "the GPU's" if gpu else "host"
    ways.append((f"resident in {where} memory", {"resident": True}))
    if gpu:
        resident = {"live": True, "resident": True, "crop": "random"}
        ways.append(("resident, live, random crops", resident))
    for name, options in ways:
        say(name)
        speeds.append(loaded(name, options))
    device = "cuda" if gpu else "cpu"
    decoders: tuple[Literal["opencv", "pillow"], ...] = ("opencv", "pillow")
    plain = partial(TorchLoader, root, split, device=device, **common)
    for decoder, processes in itertools.product(decoders, workers):
        name = f"DataLoader, {decoder}, {processes} workers"
        say(name)
        speeds.append(timed(name, partial(plain, workers=processes, decoder=decoder), seconds))
    for processes in () if live else workers:
        name = f"DataLoader, live, {processes} workers"
        say(name)
        speeds.append(timed(name, partial(plain, workers=processes, live=True), seconds))
    say("already in memory")
    speeds.append(_upper_bound(batch_size, size, gpu, seconds))
    return Bench(machine, speeds)


def bench_mixture(
    path: Path,
    split: str,
    batch_size: int,
    size: int,
    seconds: float,
    workers: tuple[int, ...],
    say: Callable[[str], None],
) -> Bench:
    """Measure a mixture, each of its components alone, and what those allow it; see `bench`."""
    mixture, speeds = mixture_in(path), []
    device = "cuda" if torch.cuda.is_available() else "cpu"
    common: dict[str, Any] = {"batch_size": batch_size, "size": size, "device": device}
    common |= {"rank": 0, "world_size": 1}
    with TorchLoader(mixture, split, **common) as loader:
        machine = machine_facts("pairs", loader.contents.count, batch_size, size)
    weights = {name: at(one.weight, 0) for name, one in mixture.components.items()}
    for processes in workers:
        load = partial(TorchLoader, split=split, workers=processes, **common)
        alone: dict[str, float] = {}
        for name in (name for name in weights if weights[name]):
            alone_always = mixture.components[name].model_copy(update={"weight": {0: 1.0}})
            one = Mixture({name: alone_always}, max(batch_size, 1) * 1000)
            say(f"{name}, {processes} workers")
            speeds.append(timed(f"{name} alone, {processes} workers", partial(load, one), seconds))
            alone[name] = speeds[-1].pairs_a_second
        say(f"mixture, {processes} workers")
        speeds.append(timed(f"mixture, {processes} workers", partial(load, mixture), seconds))
        if all(alone.values()):
            parts = sum(weights[name] / speed for name, speed in alone.items())
            allowed = sum(weights.values()) / parts
            speeds.append(Speed(f"allowed by components, {processes} workers", allowed, 0))
    return Bench(machine, speeds)


def machine_facts(what: str, count: int, batch_size: int, size: int) -> dict[str, Any]:
    """Return what was measured, and on which machine."""
    return {
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
        "cores": available_cores(),
        "processor": platform.processor() or platform.machine(),
        what: count,
        "batch_size": batch_size,
        "size": size,
        "torch": torch.__version__,
    }


def _dali(
    root: Path,
    split: str,
    gpu: bool,
    common: dict[str, Any],
    seconds: float,
    name: str,
    options: dict[str, Any],
) -> Speed:
    try:
        from ..pair_loader import PairLoader
    except ImportError as error:
        return Speed(name, 0, 0, f"not run: {error}")
    device = "gpu" if gpu else "cpu"
    how: dict[str, Any] = {"backend": "dali", **common, **options}
    return timed(name, lambda: PairLoader(root, split, device=device, **how), seconds)


def timed(name: str, make: Callable[[], Any], seconds: float) -> Speed:
    """Measure a loader, after its first batches."""
    start = time.perf_counter()
    try:
        with make() as loader:
            batches = _endless(loader)
            next(batches)
            _wait()
            first = time.perf_counter() - start
            for _ in range(3):
                next(batches)
            _wait()
            start, pairs = time.perf_counter(), 0
            while time.perf_counter() - start < seconds:
                pairs += len(next(batches)[0])
            _wait()
            return Speed(name, pairs / (time.perf_counter() - start), first)
    except (LoaderError, ImportError) as error:
        return Speed(name, 0, 0, f"not run: {error}")


def _endless(loader: Any) -> Iterator[Any]:
    while True:
        yield from loader


def _upper_bound(batch_size: int, size: int, gpu: bool, seconds: float) -> Speed:
    """Measure random pairs of images that lie decoded in the device's memory, as floats."""
    device = "cuda" if gpu else "cpu"
    held = torch.randint(
        0, 256, (min(2048, 4 * batch_size), 2, 3, size, size), dtype=torch.uint8, device=device
    )
    start, pairs = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        chosen = held[torch.randint(0, len(held), (batch_size,), device=device)].float() / 255
        pairs += len(chosen)
        _wait()
    return Speed("already in memory (upper bound)", pairs / (time.perf_counter() - start), 0)


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
