"""Measure how fast clips load: stored and live sets, folders of frames, video files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from ...errors import LoaderError
from ...manifests.sets.info import SET_FILE
from ...manifests.sets.pair_set import open_set
from ..backend import is_installed
from ..clips.clip_loader import ClipLoader
from .pairs import Asked, Bench, machine_facts


def bench_clips(asked: Asked, frames: int) -> Bench:
    """Measure the ways to load clips: of `frames` frames, where `asked.root` is no set."""
    root = asked.root
    of_set = (root / SET_FILE).is_file()
    windows = None if of_set else frames
    options: dict[str, Any] = {"size": asked.size, "crop": "resize", "shuffle": True}
    loaded = partial(ClipLoader, root, asked.split, frames=windows, **options)
    count = loaded(batch_size=1, workers=0, device="cpu").contents.count
    asked = asked._replace(batch_size=min(asked.batch_size, count))
    machine = machine_facts(asked, "clips", count)
    machine["frames"] = open_set(root).frames if of_set else frames
    device = "cuda" if torch.cuda.is_available() else "cpu"
    ways: list[tuple[str, dict[str, Any]]] = []
    if of_set and not open_set(root).live:
        ways.append(("stored", {}))
    ways += [("live", {"live": True}), ("live, random crops", {"live": True, "crop": "random"})]
    common = {"batch_size": asked.batch_size, "last_batch": "drop", "rank": 0, "world_size": 1}
    speeds = []
    for name, more in ways:
        make = partial(loaded, device=device, **common, **more)
        who: dict[str, Callable[[], ClipLoader]] = {}
        dali, pyav = partial(make, backend="dali"), partial(make, decoder="pyav")
        if is_installed() and (device == "cuda" or name == "stored") and _can(dali):
            who[f"DALI, {device}"] = dali
        if not of_set and _can(pyav):
            who[f"PyAV, {device}"] = pyav
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
