"""How fast clips are loaded: of a set, stored and live; of folders of frames and video files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

from ...errors import LoaderError
from ...manifests.sets.info import SET_FILE
from ...manifests.sets.pair_set import open_set
from ..backend import is_installed
from ..clips.clip_loader import ClipLoader
from .pairs import Bench, machine_facts, timed


def bench_clips(
    root: Path,
    split: str,
    frames: int,
    batch_size: int,
    size: int,
    seconds: float,
    workers: tuple[int, ...],
    *,
    say: Callable[[str], None],
) -> Bench:
    """Measure the ways to load clips, resized to size x size.

    Parameters
    ----------
    root, split, batch_size, size, seconds, workers, say
        As of `pairs.bench`; a pair is a clip here.
    frames : int
        Of each clip, where `root` is no set.
    """
    of_set = (root / SET_FILE).is_file()
    windows = None if of_set else frames
    loaded = partial(
        ClipLoader, root, split, frames=windows, size=size, crop="resize", shuffle=True
    )
    count = loaded(batch_size=1, workers=0, device="cpu").contents.count
    batch_size = min(batch_size, count)
    machine = machine_facts("clips", count, batch_size, size)
    machine["frames"] = open_set(root).frames if of_set else frames
    device = "cuda" if torch.cuda.is_available() else "cpu"
    ways: list[tuple[str, dict[str, Any]]] = []
    if of_set and not open_set(root).live:
        ways.append(("stored", {}))
    ways += [("live", {"live": True}), ("live, random crops", {"live": True, "crop": "random"})]
    common = {"batch_size": batch_size, "last_batch": "drop", "rank": 0, "world_size": 1}
    speeds = []
    for name, options in ways:
        make = partial(loaded, device=device, **common, **options)
        who: dict[str, Callable[[], ClipLoader]] = {}
        dali, pyav = partial(make, backend="dali"), partial(make, decoder="pyav")
        if is_installed() and (device == "cuda" or name == "stored") and _can(dali):
            who[f"DALI, {device}"] = dali
        if not of_set and _can(pyav):
            who[f"PyAV, {device}"] = pyav
        for processes in workers:
            who[f"{processes} workers"] = partial(make, backend="torch", workers=processes)
        for how, by_them in who.items():
            full = f"ClipLoader, {name}, {how}"
            say(full)
            speeds.append(timed(full, by_them, seconds))
    return Bench(machine, speeds)


def _can(make: Callable[[], ClipLoader]) -> bool:
    """Return whether a loader can be made: DALI does not decode every video, PyAV no folder."""
    try:
        make()
    except LoaderError:
        return False
    return True
