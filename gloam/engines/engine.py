"""What an engine is: where jobs run. There is `local.LocalEngine`, processes of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

J = TypeVar("J")
R = TypeVar("R")


def ignored(counted: int) -> None:
    """Take no notice of progress."""


class Engine(Protocol):
    """Runs a function over jobs.

    Which engine it is, and how many workers it has, decides no byte of a result.
    """

    def map(
        self,
        function: Callable[[J], R],
        jobs: Iterable[J],
        at: Callable[[int], Any] = ignored,
    ) -> Iterator[R]:
        """Run `function` on every job; results come in the jobs' order.

        Closing the iterator, or an exception where a result is taken, cancels the jobs that have
        not begun and ends those that have.

        Parameters
        ----------
        function : a module-level function
            It may call `local.count` for each thing that it has done.
        jobs : iterable
            Taken from only as fast as they are worked on.
        at : function
            Called every fraction of a second, and after each result, with how many things have been
            counted so far.

        Raises
        ------
        WorkerLost
            When a worker ended without an answer.
        """

    def warm(self, module: str) -> None:
        """Begin to get workers ready for a `map` to come, without waiting.

        They import a module that loads what jobs need.
        """
