"""How a command ends: with a line for errors of users, an exit code, at once on Ctrl-C."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

import click

from ..engines.local import abandon_workers
from ..errors import GloamError, WorkerLost, visible, without_secrets

USER_ERROR = 1
_BROKEN_PIPE = 128 + 13  # SIGPIPE, as a shell counts it
_FULL = "; free some space and run the command again: what was finished stays"
_CLOSED = "; choose another place, or change what you may do there"
_WAYS_OUT = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EACCES: _CLOSED,
    errno.EPERM: _CLOSED,
    errno.EROFS: _CLOSED,
}
_STOPPED = b"gloam: stopped; run the same command again to continue\n"
_INTERRUPTED = 128


@contextmanager
def user_errors() -> Iterator[None]:
    """Show gloam's errors within the block as a line, and exit with 1; Click shows its own."""
    try:
        yield
    except GloamError as error:
        for line in str(error).splitlines():
            click.echo(f"gloam: {visible(line)}", err=True)
        if isinstance(error, WorkerLost):
            exit_now(USER_ERROR)
        sys.exit(USER_ERROR)
    except click.ClickException as error:  # which shows what was given
        lines = without_secrets(error.message).splitlines()
        error.message = "\n".join(map(visible, lines))  # type: ignore[misc]
        raise
    except MemoryError:
        click.echo("gloam: out of memory; try fewer --workers", err=True)
        sys.exit(USER_ERROR)
    except BrokenPipeError:
        # Whoever read the output has seen enough, as `head` has: end as other programs do,
        # without a word.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(_BROKEN_PIPE)
    except OSError as error:
        # Disk full, no permission, and their like: the system's words are the message.
        what = f"{error.filename or 'output'}: {error.strerror or error}"
        way_out = _WAYS_OUT.get(error.errno or 0, "") if error.filename else ""
        click.echo(f"gloam: {visible(without_secrets(what))}{way_out}", err=True)
        sys.exit(USER_ERROR)


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
        number: signal.signal(number, _stop_on_signal)
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


def _stop_on_signal(number: int, frame: FrameType | None) -> NoReturn:
    with suppress(OSError):  # not through sys.stderr, which a progress bar may be writing to
        os.write(2, (b"\n" if os.isatty(2) else b"") + _STOPPED)
    exit_now(_INTERRUPTED + number)
