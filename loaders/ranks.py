"""Ranks of distributed training: which part of each epoch this process reads, on which cores."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..engines.process import available_cores
from ..errors import LoaderError
from ..storage.untrusted import whole
from .options import Options

_LOCAL = ["LOCAL_WORLD_SIZE"]
_LOCAL += [f"SLURM_{name}_PER_NODE" for name in ("STEP_TASKS", "TASKS", "NTASKS")]
_VARIABLES = (("RANK", "WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS"))


@dataclass(frozen=True)
class Rank:
    """The number of this process among `world`."""

    rank: int = 0
    world: int = 1

    def __post_init__(self) -> None:
        if not 0 <= whole("rank", self.rank) < whole("world_size", self.world):
            raise LoaderError(f"rank {self.rank} of {self.world}: must be 0 to {self.world - 1}")

    def slice(self, count: int) -> tuple[int, int]:
        """Return the first and one past the last of `count` samples that belong to this rank.

        Its part is contiguous, as DALI shards.
        """
        return count * self.rank // self.world, count * (self.rank + 1) // self.world

    def batches(self, count: int, options: Options) -> int:
        """Return how many batches of `count` samples an epoch has; see `Options.last_batch`."""
        batch_size, last_batch = options.batch_size, options.last_batch
        if last_batch == "drop":
            return count // self.world // batch_size
        if last_batch == "padded":
            return -(-count // (self.world * batch_size))
        first, last = self.slice(count)
        own = last - first
        if last_batch == "even" and own and batch_size > 1:
            own = -(-count // self.world)  # as the rank that has most
        return -(-own // batch_size)

    def places(self, count: int, options: Options, batch: int) -> npt.NDArray[np.int64]:
        """Return the places in an epoch's order of the samples of one batch.

        In a padded batch places from `count` on are repetitions, of the sample at that place modulo
        `count`.

        count: samples of all ranks.
        batch: from 0 to `batches` - 1.
        """
        batch_size, last_batch = options.batch_size, options.last_batch
        if last_batch == "padded":
            start = (batch * self.world + self.rank) * batch_size
            return np.arange(start, start + batch_size)
        first, last = self.slice(count)
        start = first + batch * batch_size
        stop = min(start + batch_size, last)
        if last_batch == "even" and batch_size > 1:
            # A rank that has a sample less than others may lack their last batch: it divides its
            # own, so that one is left for each that follows.
            follow = self.batches(count, options) - batch - 1
            start, stop = min(start, last - follow - 1), min(stop, last - follow)
        return np.arange(start, stop)


def find_rank(rank: int | None = None, world: int | None = None) -> Rank:
    """Find the rank of this process.

    The one given, or that of torch.distributed if it is initialised, or of the environment of
    torchrun or SLURM; else the process is alone.

    Raises LoaderError when only one of the two is given, or they do not fit.
    """
    if (rank is None) != (world is None):
        raise LoaderError("give rank and world_size both, or neither")
    if rank is not None and world is not None:
        return Rank(rank, world)
    if in_process_group():
        distributed = sys.modules["torch.distributed"]
        return Rank(distributed.get_rank(), distributed.get_world_size())
    for own, all_of_them in _VARIABLES:
        if own in os.environ and all_of_them in os.environ:
            try:
                return Rank(int(os.environ[own]), int(os.environ[all_of_them]))
            except ValueError as error:
                raise LoaderError(
                    f"{own}={os.environ[own]}, {all_of_them}={os.environ[all_of_them]}: {error}"
                ) from error
    return Rank()


def in_process_group() -> bool:
    """Return whether torch.distributed is initialised.

    It is not imported for this: who trains with it has.
    """
    distributed = sys.modules.get("torch.distributed")
    return distributed is not None and distributed.is_available() and distributed.is_initialized()


def local_ranks() -> int:
    """Return how many processes of this host train together.

    The environment of torchrun or SLURM says so; where neither does, it is 1. SLURM writes one
    number for each node, such as "4(x2),3": the first one is taken.
    """
    for name in _LOCAL:
        first = re.match(r"\d+", os.environ.get(name, ""))
        if first:
            return max(1, int(first[0]))
    return 1


def usable_cores() -> int:
    """Return this process's share of the cores, when several of one host train together."""
    return max(1, available_cores() // local_ranks())


def has_ranks() -> bool:
    """Return whether this program is one of several that Accelerate began."""
    state = getattr(sys.modules.get("accelerate.state"), "PartialState", None)
    return state is not None and state._shared_state.get("num_processes", 1) > 1


def set_running(loader: Any, running: bool) -> None:
    """Let Accelerate know which loader is gone through, where a program uses it.

    Its `accumulate` ends with an epoch. It is not imported for this: who uses it has.
    """
    kind = getattr(sys.modules.get("accelerate.state"), "GradientState", None)
    if kind is None or not kind._shared_state:
        return
    state = kind()
    if loader in state.dataloader_references:
        state._remove_dataloader(loader)
    if running:
        state._add_dataloader(loader)
