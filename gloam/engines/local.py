"""Worker processes: results in order, a bounded number of tasks in flight, and no orphan left behind.

How failures behave. An exception in a task is raised where its result is taken, and the tasks that were not begun are
dropped. A worker that dies (killed by the system, say) raises `WorkerLost`. Ctrl-C reaches only the parent: workers ignore
it, the parent ends them. When the parent itself is killed, its workers notice and end.

On Linux workers are forked from a server: a fresh process that has no threads, as it has only imported modules. Forking this
process instead could deadlock, as Arrow and progress bars run threads in it; and a fresh interpreter for every worker would spend
a second of each core and 100 MB more memory. The server lives as long as this process, or as the block of `own_server` in which
it was started, and keeps the environment, the limits and the CPU affinity that this process had then.
"""

from __future__ import annotations

import ctypes
import logging
import multiprocessing
import os
import shutil
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext, suppress
from functools import lru_cache
from itertools import islice
from multiprocessing import resource_tracker, spawn
from typing import Any, TypeVar

from ..errors import WorkerLost

T = TypeVar("T")
R = TypeVar("R")

_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}  # of the server and its workers: NumPy has nothing to do there that needs more
# What Python's tracker of semaphores says of those that it gives back after a process was killed: nobody can do anything.
_QUIET = "ignore::UserWarning:multiprocessing.resource_tracker"
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
_MARK = "GLOAM_SERVER"
_counter: Any = None
_pools: set[ProcessPoolExecutor] = set()  # of the maps that run


class Counter:
    """A number that workers add to while they are inside a task, for progress bars.

    In the parent, `value` is the sum so far. In a task, `Counter.add` is found through the module, as processes share it.
    """

    def __init__(self, context: multiprocessing.context.BaseContext) -> None:
        self._shared = context.Value("q", 0)

    @property
    def value(self) -> int:
        # Read without its lock, which a killed worker may have held: an aligned number of eight bytes is never half written.
        return int(self._shared.get_obj().value)

    def add(self, amount: int) -> None:
        with self._shared.get_lock():
            self._shared.value += amount


def is_own_process() -> bool:
    """Whether this process is one of gloam's workers, or the server that they are forked from."""
    return _MARK in os.environ or multiprocessing.parent_process() is not None


def prepare_own_process() -> None:
    """Make a process one worker among several: for processes that are gloam's own, never for one that only imports it.

    OpenCV's threads would only compete with the other workers; Pillow's limit of pixels stands beside gloam's own, with another
    message; what Pillow and tifffile report is raised or refused in gloam anyway; and freed memory is kept.
    """
    import cv2
    from PIL import Image

    cv2.setNumThreads(0)
    Image.MAX_IMAGE_PIXELS = None
    for library in ("tifffile", "PIL"):
        logging.getLogger(library).setLevel(logging.CRITICAL)
    _keep_freed_memory()


@contextmanager
def main_left_alone() -> Iterator[None]:
    """Processes started within the block do not import this program's main script, which they have no need of.

    Python would run it in each of them; a script without `if __name__ == "__main__"` then starts itself over.
    """
    if not hasattr(spawn, "get_preparation_data"):  # a name of CPython's own: without it scripts need that line
        yield
        return
    whole: Any = spawn.get_preparation_data
    thread = threading.get_ident()

    def without_main(name: str) -> dict[str, Any]:
        data = whole(name)
        mine = threading.get_ident() == thread
        return {key: value for key, value in data.items() if not (mine and key.startswith("init_main"))}

    spawn.get_preparation_data = without_main
    try:
        yield
    finally:
        spawn.get_preparation_data = whole


@lru_cache(maxsize=1)
def _keep_freed_memory() -> None:
    """Ask glibc to keep up to 64 MB that were freed: images come and go, and fresh pages for each cost 3 % of a build's time."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library
            mallopt = ctypes.CDLL(None).mallopt
            mallopt(_M_MMAP_THRESHOLD, 32 << 20)
            mallopt(_M_TRIM_THRESHOLD, 64 << 20)


def prepare_workers(modules: Sequence[str], workers: int, deaf: bool = False) -> str:
    """Begin to get ready for an `ordered_map` to come, without waiting: start the server and have it import modules.

    Parameters
    ----------
    modules : names of modules
        What is loaded in them need not be loaded in each worker. No effect when a server is running already.
    workers : int
        As of that `ordered_map`; 1 does nothing.
    deaf : bool
        Whether Ctrl-C is to be blocked for good in the server and in all that is forked from it. Else there are moments in which
        a worker that begins would show it as a traceback. For a process all of whose workers are those of `ordered_map`.

    Returns
    -------
    str
        How multiprocessing is to start workers.
    """
    if workers <= 1 or sys.platform != "linux":  # elsewhere system libraries do not survive a fork
        return "spawn"
    from multiprocessing import forkserver  # which not every system has

    server: Any = forkserver._forkserver
    preload = server._preload_modules
    path = os.pathsep.join(str(place) for place in sys.path if place)
    try:
        server.set_forkserver_preload(list(modules))
        # The server looks for modules where this process does: not in the current folder, as `python -c` would.
        quiet = ",".join(filter(None, [os.environ.get("PYTHONWARNINGS"), _QUIET]))
        with _environment(PYTHONSAFEPATH="1", PYTHONPATH=path, PYTHONWARNINGS=quiet, **{_MARK: "1"}, **_ONE_THREAD):
            resource_tracker.ensure_running()  # or ensure_running below would do it, which unblocks Ctrl-C
            with _no_interrupt() if deaf else nullcontext():
                server.ensure_running()
    except OSError:  # no room for its socket's path; or this process was forked from one that has a server
        return "spawn"
    finally:
        server._preload_modules = preload
    return "forkserver"


@contextmanager
def own_server() -> Iterator[None]:
    """A server that is started within the block ends with it, at once: it may still be importing, with our streams open."""
    before = _server_pid()
    try:
        yield
    finally:
        if _server_pid() not in (None, before):
            _kill_server()
            sys.modules["multiprocessing.forkserver"]._forkserver._stop()  # wait for its end, and forget it


def _server_pid() -> int | None:
    forkserver: Any = sys.modules.get("multiprocessing.forkserver")
    return None if forkserver is None else forkserver._forkserver._forkserver_pid


def _kill_server() -> None:
    pid = _server_pid()
    if pid is not None:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def abandon_workers() -> None:
    """For a process that is about to end by `os._exit`: kill the workers and what else multiprocessing started, and delete its
    temporary folder, so that nothing goes on or lies about after this process. Takes no lock: it may be called by a signal's
    handler, in the middle of anything.
    """
    _kill_server()
    for pool in list(_pools):
        _kill(pool)
    folder = getattr(multiprocessing.current_process(), "_config", {}).get("tempdir")
    if folder:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _no_interrupt() -> Iterator[None]:
    """Ctrl-C waits until the block ends; for processes started within, it waits for ever."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    """The environment of what is started within the block."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def available_cores() -> int:
    """The CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def count(amount: int = 1) -> None:
    """Called inside a task: add to the counter of the running `ordered_map`."""
    if _counter is not None:
        _counter.add(amount)


def ordered_map(
    function: Callable[[T], R], tasks: Iterable[T], workers: int, tick: Callable[[int], None] = lambda counted: None
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
        Called every fraction of a second, and after each result, with the number that tasks have counted so far.

    Raises
    ------
    WorkerLost
        When a worker process died.
    """
    if workers <= 1:
        yield from _map_here(function, tasks, tick)
    else:
        yield from _map_in_processes(function, tasks, workers, tick)


def _map_here(function: Callable[[T], R], tasks: Iterable[T], tick: Callable[[int], None]) -> Iterator[R]:
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


def _map_in_processes(function: Callable[[T], R], tasks: Iterable[T], workers: int, tick: Callable[[int], None]) -> Iterator[R]:
    module = getattr(getattr(function, "func", function), "__module__", None)
    context = multiprocessing.get_context(prepare_workers([module] if isinstance(module, str) else [], workers))
    try:
        counter = Counter(context)
        pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin_worker, initargs=(counter,))
    except OSError as error:
        raise WorkerLost(
            f"worker processes cannot be started: {error.strerror or error}; they need a little shared memory (/dev/shm on "
            "Linux, docker run --shm-size), or --workers 1"
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
            yield _wait(waiting.popleft(), counter, tick)
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


def _wait(future: Future[R], counter: Counter, tick: Callable[[int], None]) -> R:
    while True:
        try:
            result = future.result(timeout=0.2)
        except TimeoutError:
            if future.done():
                return future.result()  # came after the wait ran out, or is a TimeoutError of the task's own
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
