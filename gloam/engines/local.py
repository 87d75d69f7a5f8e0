"""Worker processes: results in order, a bounded number of tasks in flight, and no orphan left
behind.

How failures behave. An exception in a task is raised where its result is taken, and the tasks that
were not begun are dropped. A worker that dies (killed by the system, say) raises `WorkerLost`.
Ctrl-C reaches only the parent: workers ignore it, the parent ends them. When the parent itself is
killed, its workers notice and end.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import Any, TypeVar

from ..errors import WorkerLost
from .forkserver import kill_server, prepare_workers
from .process import main_left_alone, prepare_own_process

T = TypeVar("T")
R = TypeVar("R")

_counter: Any = None
_pools: set[ProcessPoolExecutor] = set()  # of the maps that run


class Counter:
    """A number that workers add to while they are inside a task, for progress bars.

    In the parent, `value` is the sum so far. In a task, `Counter.add` is found through the module,
    as processes share it.
    """

    def __init__(self, context: multiprocessing.context.BaseContext) -> None:
        self._shared = context.Value("q", 0)

    @property
    def value(self) -> int:
        # Read without its lock, which a killed worker may have held: an aligned number of eight
        # bytes is never half written.
        return int(self._shared.get_obj().value)

    def add(self, amount: int) -> None:
        with self._shared.get_lock():
            self._shared.value += amount


def abandon_workers() -> None:
    """For a process that is about to end by `os._exit`: kill the workers and what else
    multiprocessing started, and delete its temporary folder, so that nothing goes on or lies about
    after this process. Takes no lock: it may be called by a signal's handler, in the middle of
    anything.
    """
    kill_server()
    for pool in list(_pools):
        _kill(pool)
    folder = getattr(multiprocessing.current_process(), "_config", {}).get("tempdir")
    if folder:
        shutil.rmtree(folder, ignore_errors=True)


def count(amount: int = 1) -> None:
    """Called inside a task: add to the counter of the running `ordered_map`."""
    if _counter is not None:
        _counter.add(amount)


def ordered_map(
    function: Callable[[T], R],
    tasks: Iterable[T],
    workers: int,
    tick: Callable[[int], None] = lambda counted: None,
) -> Iterator[R]:
    """`function` of every task, in the tasks' order.

    Parameters
    ----------
    function : a module-level function
    tasks : iterable
        Taken from only as fast as they are worked on.
    workers : int
        Processes; 1 runs everything in this one.
    tick : function
        Called every fraction of a second, and after each result, with the number that tasks have
        counted so far.

    Raises
    ------
    WorkerLost
        When a worker process died.
    """
    if workers <= 1:
        yield from _map_here(function, tasks, tick)
    else:
        yield from _map_in_processes(function, tasks, workers, tick)


def _map_here(
    function: Callable[[T], R], tasks: Iterable[T], tick: Callable[[int], None]
) -> Iterator[R]:
    global _counter
    outer, _counter = _counter, _LocalCounter(tick)
    try:
        for task in tasks:
            yield function(task)
    finally:
        _counter = outer


class _LocalCounter:
    def __init__(self, tick: Callable[[int], None]) -> None:
        self._tick, self._value = tick, 0

    def add(self, amount: int) -> None:
        self._value += amount
        self._tick(self._value)


def _map_in_processes(
    function: Callable[[T], R], tasks: Iterable[T], workers: int, tick: Callable[[int], None]
) -> Iterator[R]:
    module = getattr(getattr(function, "func", function), "__module__", None)
    context = multiprocessing.get_context(
        prepare_workers([module] if isinstance(module, str) else [], workers)
    )
    try:
        counter = Counter(context)
        pool = ProcessPoolExecutor(
            workers, mp_context=context, initializer=_begin_worker, initargs=(counter,)
        )
    except OSError as error:
        raise WorkerLost(
            f"worker processes cannot be started: {error.strerror or error}; they need a little"
            " shared memory (/dev/shm on Linux, docker run --shm-size), or --workers 1"
        ) from error
    _pools.add(pool)
    waiting: deque[Future[R]] = deque()
    remaining = iter(tasks)
    finished = False
    try:
        while True:
            for task in islice(remaining, 2 * workers - len(waiting)):
                with main_left_alone():
                    waiting.append(pool.submit(function, task))
            if not waiting:
                break
            yield _wait(waiting.popleft(), counter, tick, pool)
        finished = True
    except BrokenProcessPool:
        raise WorkerLost(
            "a worker process died, perhaps because memory ran out; what was finished is kept: "
            "run the same command again to continue, with fewer --workers if it happens again"
        ) from None
    finally:
        if not finished:
            _kill(pool)
        _pools.discard(pool)
        pool.shutdown(wait=finished, cancel_futures=True)


def _wait(
    future: Future[R],
    counter: Counter,
    tick: Callable[[int], None],
    pool: ProcessPoolExecutor | None = None,
) -> R:
    manager = getattr(pool, "_executor_manager_thread", None)
    while True:
        try:
            result = future.result(timeout=0.2)
        except TimeoutError:
            if future.done():
                # Came after the wait ran out, or is a TimeoutError of the task's own.
                return future.result()
            if manager is not None and not manager.is_alive():
                raise WorkerLost(
                    "the system starts no more threads, as memory or processes are limited "
                    "(ulimit -v, ulimit -u); raise the limit, or take --workers 1"
                ) from None
            tick(counter.value)
        else:
            tick(counter.value)
            return result


def _kill(pool: ProcessPoolExecutor) -> None:
    for process in list((pool._processes or {}).values()):
        process.kill()


def _begin_worker(counter: Counter) -> None:
    global _counter
    prepare_own_process()
    _counter = counter
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "runs in workers only"
    parent.join()
    os._exit(1)
