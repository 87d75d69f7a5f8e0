"""The server that workers are forked from.

On Linux workers are forked from a server: a fresh process that has no threads, as it has only
imported modules. Forking this process instead could deadlock, as Arrow and progress bars run
threads in it; and a fresh interpreter for every worker would spend a second of each core and 100 MB
more memory. The server lives as long as this process, and keeps the environment, the limits and the
CPU affinity that this process had when it was started.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from multiprocessing import resource_tracker

from .process import MARK

_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}  # NumPy has nothing to do there that needs more
# Python's tracker of semaphores speaks of those that it gives back after a process was killed.
_QUIET = "ignore::UserWarning:multiprocessing.resource_tracker"


def prepare_workers(modules: Sequence[str], workers: int, deaf: bool = False) -> str:
    """Start the fork server of a later `LocalEngine.map` in the background.

    modules: imported by the server, not by each worker. No effect if a server is running already.
    workers: number of the engine's workers; 1 does nothing.
    deaf: block Ctrl-C for good in the server and in all that it forks. Otherwise a starting worker
      may show it as a traceback. For a process all of whose workers are those of a `LocalEngine`.

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
            with _no_interrupt() if deaf else nullcontext():
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
