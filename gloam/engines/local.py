"""Worker processes: results in order, few jobs in flight at a time, and no orphan left behind.

    jobs -> 2 a worker are handed out -> worker processes -> results, taken in order
                                         count() --------> shared numbers -> at(...)

How failures behave. An exception in a job is raised where its result is taken, and the jobs that
were not begun are dropped. A worker that dies (killed by the system, say) raises `WorkerLost`,
unless one part of a job is found to be the cause: the job goes on without it. A photograph on which
a decoder crashes ends the process that decodes it, on every run, so that each part that a dead
pool's workers were at is tried once more, in a process of its own. Ctrl-C reaches only the parent:
workers ignore it, the parent ends them. When the parent itself is killed, its workers notice and
end.
"""

from __future__ import annotations

import multiprocessing
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, Protocol, runtime_checkable

from ..errors import WorkerLost
from ..storage.store_requests import environment
from .engine import Counted, J, R, ignore_progress
from .process import (
    available_cores,
    begin_worker,
    main_left_alone,
    may_have_children,
    prepare_workers,
)

MOST_WORKERS = 1 << 12
_counter: _LocalCounter | None = None
_states: WorkerStates | None = None
_pools: set[ProcessPoolExecutor] = set()  # of the maps that run
_FIELDS = 3  # job, part, and how many things were counted, of all jobs
_NONE = -1


def abandon_workers() -> None:
    """Kill the workers and what else multiprocessing started, and delete its temporary folder.

    For a process that is about to end by `os._exit`, so that nothing goes on or lies about after
    it. Takes no lock: it may be called by a signal's handler, in the middle of anything.
    """
    for pool in list(_pools):
        _kill_workers(pool)
    folder = getattr(multiprocessing.current_process(), "_config", {}).get("tempdir")
    if folder:
        shutil.rmtree(folder, ignore_errors=True)


def count(amount: int = 1) -> None:
    """Add to the counter of the running `LocalEngine.map`; called inside a job."""
    if _counter is not None:
        _counter.add(amount)
    if _states is not None:
        _states.count(amount)


def begin_part(part: int) -> None:
    """Note which part of a job is begun, inside the job; see `Parted`."""
    if _states is not None:
        _states.begin_part(part)


@dataclass(frozen=True)
class LocalEngine:
    """Processes of this machine; see `engine.Engine`.

    workers: how many; 1 runs everything in this process.
    ignore_interrupt: see `process.prepare_workers`.
    """

    workers: int = 1
    ignore_interrupt: bool = False
    remote = False

    def __post_init__(self) -> None:
        from ..storage.untrusted import whole  # pydantic, for which no help is to wait

        whole("workers", self.workers, 0, MOST_WORKERS)

    def map(
        self, function: Callable[[J], R], jobs: Iterable[J], at: Counted = ignore_progress
    ) -> Iterator[R]:
        """Run `function` on every job; results come in the jobs' order."""
        if self.workers > 1 and may_have_children():
            yield from _map_in_processes(function, jobs, self, at)
            return
        with counted(at):
            for job in jobs:
                yield function(job)

    def warm(self, module: str) -> None:
        """Start the server that workers are forked from, and have it import a module."""
        prepare_workers([module], self.workers, self.ignore_interrupt)


def local_engine(workers: int | None) -> LocalEngine:
    """Return the engine of so many processes of this machine; of None, one for each core."""
    return LocalEngine(available_cores() if workers is None else workers)


@contextmanager
def counted(at: Counted = ignore_progress) -> Iterator[_LocalCounter]:
    """Count what jobs within the block count, in this process."""
    global _counter
    outer, _counter = _counter, _LocalCounter(at)
    try:
        yield _counter
    finally:
        _counter = outer


class _LocalCounter:
    def __init__(self, at: Counted) -> None:
        self._at, self.value = at, 0

    def add(self, amount: int) -> None:
        self.value += amount
        self._at(self.value)


@dataclass
class _Handed(Generic[J, R]):
    """A job that was taken, and what becomes of it once it was handed out."""

    number: int
    job: J
    future: Future[tuple[R, int]] | None = None  # what it counted, too

    @property
    def finished(self) -> bool:
        """True if the result or the exception is there."""
        done = self.future is not None and self.future.done() and not self.future.cancelled()
        return done and not isinstance(self.future.exception(), BrokenProcessPool)  # type: ignore[union-attr]

    @property
    def counted(self) -> int:
        """How many things were counted of it, none before its result is there."""
        if self.future is None or not self.finished or self.future.exception():
            return 0
        return self.future.result()[1]


class _Pool:
    """Worker processes, what they count, and what they are at."""

    def __init__(self, context: multiprocessing.context.BaseContext, workers: int) -> None:
        try:
            self.states = WorkerStates(context, workers)
            begun_with = self.states, environment()
            self.executor = ProcessPoolExecutor(workers, context, _begin_worker, begun_with)
        except OSError as error:
            raise WorkerLost(
                f"worker processes cannot be started: {error.strerror or error}; they need a little"
                " shared memory (/dev/shm on Linux, docker run --shm-size), or --workers 1"
            ) from error
        _pools.add(self.executor)

    def end(self, finished: bool) -> None:
        """End the workers, in the middle of their jobs unless these are finished."""
        if not finished:
            for process in _kill_workers(self.executor):
                process.join()  # none is to write any more; the executor's own wait may never end
        _pools.discard(self.executor)
        self.executor.shutdown(wait=finished, cancel_futures=True)


def _map_in_processes(
    function: Callable[[J], R], jobs: Iterable[J], engine: LocalEngine, at: Counted
) -> Iterator[R]:
    workers = engine.workers
    module = getattr(getattr(function, "func", function), "__module__", None)
    modules = [module] if isinstance(module, str) else []
    method = prepare_workers(modules, workers, engine.ignore_interrupt)
    context = multiprocessing.get_context(method)
    pool = _Pool(context, workers)
    before = handed_on = 0

    def tell() -> None:
        at(before + pool.states.total())

    waiting: deque[_Handed[J, R]] = deque()
    remaining = enumerate(jobs)
    finished = False
    try:
        while True:
            taken = islice(remaining, 2 * workers - len(waiting))
            waiting.extend(_Handed(number, job) for number, job in taken)
            if not waiting:
                break
            try:
                with main_left_alone():
                    for each in waiting:
                        each.future = each.future or pool.executor.submit(
                            _run_in_worker, function, each.number, each.job
                        )
                result, counted = _await_result(waiting[0].future, tell, pool.executor)  # type: ignore[arg-type]
            except BrokenProcessPool:
                pool.end(finished=False)
                # What others counted, of which a worker may have begun the next, is counted anew.
                before = handed_on + sum(each.counted for each in waiting)
                _leave_out_deadly(waiting, pool.states, context)
                pool = _Pool(context, workers)
                continue
            waiting.popleft()
            handed_on += counted
            yield result
        finished = True
    finally:
        pool.end(finished)


def _leave_out_deadly(
    waiting: Iterable[_Handed[Any, Any]],
    states: WorkerStates,
    context: multiprocessing.context.BaseContext,
) -> None:
    """Leave out the parts of jobs that workers died of; all unfinished jobs are to begin anew.

    Raises WorkerLost when no part of a job is the cause.
    """
    unfinished = {each.number: each for each in waiting if not each.finished}
    for each in unfinished.values():
        each.future = None
    found = False
    for number, part in states.at():
        if number in unfinished:
            job = unfinished[number].job
            if isinstance(job, Parted) and ends_process(context, job, part):
                unfinished[number].job, found = job.without(part), True
    if not found:
        raise WorkerLost(
            "a worker process died, perhaps because memory ran out; what was finished is kept: "
            "run the same command again to continue, with fewer --workers if it happens again"
        ) from None


def _run_in_worker(function: Callable[[J], R], number: int, job: J) -> tuple[R, int]:
    """Run a job in a worker; returns how many things it counted, too."""
    assert _states is not None
    before = _states.begin_job(number)
    try:
        return function(job), _states.counted - before
    finally:
        _states.begin_part(-1)


def _await_result(
    future: Future[R], tell: Callable[[], object], pool: ProcessPoolExecutor | None = None
) -> R:
    manager = getattr(pool, "_executor_manager_thread", None)
    ended = False
    while not wait([future], timeout=0.2).done:
        if ended:
            raise WorkerLost(
                "the system starts no more threads, as memory or processes are limited "
                "(ulimit -v, ulimit -u); raise the limit, or take --workers 1"
            )
        ended = manager is not None and not manager.is_alive()
        tell()
    result = future.result()
    tell()
    return result


def _kill_workers(pool: ProcessPoolExecutor) -> list[Any]:
    processes = list((pool._processes or {}).values())
    for process in processes:
        process.kill()
    return processes


def _begin_worker(states: WorkerStates, variables: dict[str, str]) -> None:
    global _states
    begin_worker(variables)
    _states = states
    states.join()


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
        self._shared = context.RawArray("q", [_NONE, _NONE, 0] * workers)
        self._joined = context.Value("i", 0)
        self._first = 0

    def join(self) -> None:
        """Take a place of one's own, inside a worker that begins."""
        with self._joined.get_lock():
            self._first = _FIELDS * self._joined.value
            self._joined.value += 1

    @property
    def counted(self) -> int:
        """How many things the worker has counted so far."""
        return self._shared[self._first + 2]

    def begin_job(self, number: int) -> int:
        """Note which job the worker begins; returns how many things it had counted before."""
        self._shared[self._first : self._first + 2] = [number, _NONE]
        return self.counted

    def begin_part(self, part: int) -> None:
        """Note which part of its job the worker begins; -1 when the job has ended."""
        self._shared[self._first + 1] = part

    def count(self, amount: int) -> None:
        """Note what the worker counted of its job."""
        self._shared[self._first + 2] += amount

    def total(self) -> int:
        """Return how many things all workers have counted so far."""
        return sum(self._shared[_FIELDS - 1 :: _FIELDS])

    def at(self) -> list[tuple[int, int]]:
        """List the job and the part of it that each worker is at, of those that are at one."""
        each = zip(*(iter(self._shared),) * _FIELDS, strict=True)
        return [(job, part) for job, part, _ in each if part != _NONE]


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
