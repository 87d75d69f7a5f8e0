"""Workers that died: which part of which job each was at, and whether that part was the cause.

A photograph on which a decoder crashes ends the process that decodes it, on every run. So each part
that a dead pool's workers were at is tried once more, in a process of its own.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, runtime_checkable

from ..storage.store_requests import environment
from .process import begin_worker, main_left_alone

_FIELDS = 4  # job, part, and how many things were counted: of the job, and of all jobs
_NONE = -1


@runtime_checkable
class Parted(Protocol):
    """A job whose parts are worked on one after the other, each after `local.begin_part`."""

    def check(self, part: int) -> None:
        """Do with one part alone what may end the process."""

    def without(self, part: int) -> Parted:
        """Return the same job, which refuses one part and counts it."""


class WorkerStates:
    """The job and part that each worker of a pool is at, and what it counts, in shared memory.

    Each worker writes its own numbers alone, and nobody waits to read them: an aligned number of
    eight bytes is never half written.
    """

    def __init__(self, context: multiprocessing.context.BaseContext, workers: int) -> None:
        self._shared = context.RawArray("q", [_NONE, _NONE, 0, 0] * workers)
        self._joined = context.Value("i", 0)
        self._first = 0

    def join(self) -> None:
        """Take a place of one's own, inside a worker that begins."""
        with self._joined.get_lock():
            self._first = _FIELDS * self._joined.value
            self._joined.value += 1

    def begin_job(self, number: int) -> None:
        """Note which job the worker begins."""
        self._shared[self._first : self._first + 3] = [number, _NONE, 0]

    def begin_part(self, part: int) -> None:
        """Note which part of its job the worker begins; -1 when the job has ended."""
        self._shared[self._first + 1] = part

    def count(self, amount: int) -> None:
        """Note what the worker counted of its job."""
        self._shared[self._first + 2] += amount
        self._shared[self._first + 3] += amount

    def total(self) -> int:
        """Return how many things all workers have counted so far."""
        return sum(self._shared[_FIELDS - 1 :: _FIELDS])

    def at(self) -> list[tuple[int, int, int]]:
        """List last job, part (-1 outside of one) and count, of the workers that had a job."""
        each = zip(*(iter(self._shared),) * _FIELDS, strict=True)
        return [(job, part, counted) for job, part, counted, _ in each if job != _NONE]


def ends_process(context: multiprocessing.context.BaseContext, job: Parted, part: int) -> bool:
    """Return whether a process of its own dies of one part of a job."""
    process: Any = context.Process(  # type: ignore[attr-defined]
        target=_check_alone, args=(job.check, part, environment()), daemon=True
    )
    with main_left_alone():
        process.start()
    try:
        process.join()
        return bool(process.exitcode)
    finally:
        process.kill()


def _check_alone(check: Callable[[int], None], part: int, variables: dict[str, str]) -> None:
    begin_worker(variables)
    with suppress(Exception):  # which a job tells of itself; no process dies of it
        check(part)
