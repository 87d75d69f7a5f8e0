"""Ending a command early: one line, and a set that the same command continues."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from .local import abandon_workers

_STOPPED = b"gloam: stopped; run the same command again to continue\n"
_INTERRUPTED = 128


@contextmanager
def stoppable() -> Iterator[None]:
    """End the process on Ctrl-C and SIGTERM within the block.

    It ends with a line, and 128 plus the signal's number; by the handler itself: an exception
    raised there could come up within a library's callback, which swallows it or makes a traceback
    of it. What is half written is under a temporary name, which the next run deletes, as after a
    crash.
    """
    if threading.current_thread() is not threading.main_thread():  # which alone gets signals
        yield
        return
    previous = {
        number: signal.signal(number, _stop)
        for number in (signal.SIGINT, signal.SIGTERM)
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, handler in previous.items():
            # None: it was not set by Python.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def exit_now(code: int) -> NoReturn:
    """End at once.

    The executor's own clean-up at exit can wait for ever, or complain, once its processes were
    killed.
    """
    with suppress(Exception):  # it may be in the middle of writing
        sys.stdout.flush()
        sys.stderr.flush()
    # All has been said; other threads would add that their pipes are closed.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    abandon_workers()
    os._exit(code)


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    with suppress(OSError):  # not through sys.stderr, which a progress bar may be writing to
        os.write(2, (b"\n" if os.isatty(2) else b"") + _STOPPED)
    exit_now(_INTERRUPTED + number)
