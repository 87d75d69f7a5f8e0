"""Settings of gloam's own processes, which one that only imports gloam does not get."""

from __future__ import annotations

import ctypes
import gc
import logging
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from multiprocessing import spawn
from typing import Any

from ..storage.store_requests import take_environment

MARK = "GLOAM_SERVER"
"""A variable of the environment that the server and its workers have."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h


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
    """Begin a worker: with the parent's variables of stores, deaf to Ctrl-C, ending with it."""
    take_environment(variables)
    prepare_own_process()
    begin_child()


def begin_child() -> None:
    """Begin a process: deaf to Ctrl-C, which is for the program, and ending with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()


def end_with_parent() -> None:
    """Let a process end when the one that started it does, however that ends."""
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
        return {
            key: value for key, value in data.items() if not (mine and key.startswith("init_main"))
        }

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
