"""Settings of gloam's own processes, and the server that workers are forked from.

On Linux workers are forked from a server: a fresh process that has no threads, as it has only
imported modules. Forking this process instead could deadlock, as Arrow and progress bars run
threads in it; and a fresh interpreter for every worker would spend a second of each core and 100 MB
more memory. The server lives as long as this process, and keeps the environment, the limits and the
CPU affinity that this process had when it was started. A process that only imports gloam gets none
of these settings.
"""

from __future__ import annotations

import ctypes
import gc
import logging
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import lru_cache
from multiprocessing import resource_tracker, spawn
from typing import Any

from ..storage.store_requests import take_environment

MARK = "GLOAM_SERVER"
"""A variable of the environment that the server and its workers have."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}  # NumPy has nothing to do there that needs more
# Python's tracker of semaphores speaks of those that it gives back after a process was killed.
_QUIET = "ignore::UserWarning:multiprocessing.resource_tracker"


def is_own_process() -> bool:
    """Return whether this is one of gloam's workers, or the server that they are forked from."""
    return MARK in os.environ or multiprocessing.parent_process() is not None


def may_have_children() -> bool:
    """Return whether Python lets this process start others: no daemon, as Celery's workers are."""
    return not multiprocessing.current_process().daemon


@lru_cache(maxsize=1)
def prepare_own_process() -> None:
    """Make a process one worker among several, at the first call.

    For processes that are gloam's own, never for one that only imports it.

    OpenCV's threads would only compete with the other workers; Pillow's limit of pixels stands
    beside gloam's own, with another message; what Pillow and tifffile report is raised or refused
    in gloam anyway; freed memory is kept; and the garbage collector leaves alone what has been
    imported, which takes it .1 s to go through.
    """
    import cv2
    from PIL import Image

    cv2.setNumThreads(0)
    Image.MAX_IMAGE_PIXELS = None
    for library in ("tifffile", "PIL"):
        logging.getLogger(library).setLevel(logging.CRITICAL)
    _keep_freed_memory()
    gc.freeze()  # once: told again, it would never free what a job left behind


def begin_worker(variables: dict[str, str]) -> None:
    """Begin a worker: with the parent's variables of stores, ignoring Ctrl-C, ending with it."""
    take_environment(variables)
    prepare_own_process()
    begin_child()


def begin_child() -> None:
    """Begin a process: it ignores Ctrl-C, which is for the program, and ends as that does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "runs in workers only"
    parent.join()
    os._exit(1)


@contextmanager
def main_left_alone() -> Iterator[None]:
    """Keep processes started within the block from importing this program's main script.

    They have no need of it. Python would run it in each of them; a script without
    `if __name__ == "__main__"` then starts itself over.
    """
    if not hasattr(spawn, "get_preparation_data"):  # CPython's own: else scripts need that line
        yield
        return
    whole: Any = spawn.get_preparation_data
    thread = threading.get_ident()

    def without_main(name: str) -> dict[str, Any]:
        data = whole(name)
        mine = threading.get_ident() == thread
        return {key: one for key, one in data.items() if not (mine and key.startswith("init_main"))}

    spawn.get_preparation_data = without_main
    try:
        yield
    finally:
        spawn.get_preparation_data = whole


def _keep_freed_memory() -> None:
    """Ask glibc to keep up to 64 MB that were freed: fresh pages for images cost 3 % of a build."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library
            mallopt = ctypes.CDLL(None).mallopt
            mallopt(_M_MMAP_THRESHOLD, 32 << 20)
            mallopt(_M_TRIM_THRESHOLD, 64 << 20)


def available_cores() -> int:
    """Count the CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def prepare_workers(modules: Sequence[str], workers: int, ignore_interrupt: bool = False) -> str:
    """Start the fork server of a later `LocalEngine.map` in the background.

    modules: imported by the server, not by each worker. No effect if a server is running already.
    workers: number of the engine's workers; 1 does nothing.
    ignore_interrupt: block Ctrl-C for good in the server and in all that it forks. Otherwise a
      starting worker may show it as a traceback. For a process all of whose workers are those of a
      `LocalEngine`.

    Returns the start method of `multiprocessing`: "forkserver" or "spawn".
    """
    if workers <= 1 or sys.platform != "linux":  # elsewhere system libraries do not survive a fork
        return "spawn"
    path = os.pathsep.join(str(place) for place in sys.path if place)
    # The server looks for modules where this process does: not in the current folder, as
    # `python -c` would.
    quiet = ",".join(filter(None, [os.environ.get("PYTHONWARNINGS"), _QUIET]))
    try:
        from multiprocessing import forkserver  # which not every system has

        forkserver.set_forkserver_preload(
            [f"{__package__}.server_watch", *modules, f"{__package__}.server_end"]
        )
        program = {MARK: "1", "GLOAM_PROGRAM": str(os.getpid())}  # see server_watch
        with _environment(
            PYTHONSAFEPATH="1", PYTHONPATH=path, PYTHONWARNINGS=quiet, **program, **_ONE_THREAD
        ):
            # Or ensure_running below would do it, which unblocks Ctrl-C.
            resource_tracker.ensure_running()
            with _no_interrupt() if ignore_interrupt else nullcontext():
                forkserver.ensure_running()
    except (ImportError, OSError):  # its socket's path is too long; or this process was forked
        return "spawn"
    return "forkserver"


@contextmanager
def _no_interrupt() -> Iterator[None]:
    """Let Ctrl-C wait until the block ends; for processes started within, it waits for ever."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    """Set the environment of what is started within the block."""
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
