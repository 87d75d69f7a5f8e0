"""The engine protocol: runs jobs.

There are `local.LocalEngine`, processes of this machine, and `ray.RayEngine`, tasks of a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ..errors import ConfigError
from ..storage.stores import in_store

J = TypeVar("J")
R = TypeVar("R")
Counted = Callable[[int], Any]
"""Called with the number of things that jobs have counted so far."""


def ignore_progress(counted: int) -> None:
    """Ignore progress."""


class Engine(Protocol):
    """Runs a function over jobs: no engine, and no number of workers, decides a byte of results."""

    @property
    def remote(self) -> bool:
        """True if jobs may run on other machines, or in another folder."""

    def map(
        self, function: Callable[[J], R], jobs: Iterable[J], at: Counted = ignore_progress
    ) -> Iterator[R]:
        """Run `function` on every job; results come in the jobs' order.

        Closing the iterator, or an exception where a result is taken, cancels the jobs that have
        not begun and ends those that have.

        function: a module-level function; it may call `local.count` for each thing that it has
          done, and `local.begin_part` for each that it begins.
        jobs: taken from only as fast as they are worked on.
        at: function; called every fraction of a second, and after each result, with how many things
          have been counted so far.

        Raises WorkerLost when a worker ended without an answer, and no part of a job was found to
        be the cause (see `local.Parted`; on a cluster that is not looked for).
        """

    def warm(self, module: str) -> None:
        """Begin to get workers ready for a `map` to come, without waiting.

        They import a module that loads what jobs need.
        """


def check_paths(engine: Engine, *paths: Path | str | None) -> None:
    """Refuse relative paths where jobs run elsewhere. Raises ConfigError when there is one."""
    for path in paths if engine.remote else ():
        if path and not in_store(path) and not Path(path).is_absolute():
            raise ConfigError(
                f"{path}: is relative to this folder, and a cluster's workers run in another one:"
                " give the whole path, on a file system that all nodes share, or an address such"
                " as s3://bucket/set",
                value=str(path),
            )
