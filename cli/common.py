"""What the commands share: errors as one line, exit codes, progress bars."""

from __future__ import annotations

import functools
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn, TypeVar

import click
from tqdm import tqdm

from ..manifests.errors import GloamError, WorkerLost
from ..manifests.workers import abandon_workers, available_cores

F = TypeVar("F", bound=Callable[..., Any])

USER_ERROR = 1
_INTERRUPTED = 128


class _Stopped(BaseException):
    """A signal asked the process to end."""

    def __init__(self, number: int) -> None:
        self.number = number


def user_errors(function: F) -> F:
    """Show gloam's errors as a line and exit with 1; end on Ctrl-C and SIGTERM with 128 plus the signal's number."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        previous = signal.signal(signal.SIGTERM, _stop)
        try:
            return function(*args, **kwargs)
        except GloamError as error:
            for line in str(error).splitlines():
                click.echo(f"gloam: {line}", err=True)
            if isinstance(error, WorkerLost):
                _leave(USER_ERROR)
            sys.exit(USER_ERROR)
        except OSError as error:
            # Disk full, no permission, and their like: the system's words are the message.
            click.echo(f"gloam: {error.filename or 'output'}: {error.strerror or error}", err=True)
            sys.exit(USER_ERROR)
        except (KeyboardInterrupt, _Stopped) as stop:
            interrupted(stop.number if isinstance(stop, _Stopped) else signal.SIGINT)
        finally:
            signal.signal(signal.SIGTERM, previous)

    return wrapped  # type: ignore[return-value]


def interrupted(number: int) -> NoReturn:
    """Say that signal `number` stopped the command, and exit with 128 plus it."""
    click.echo("gloam: stopped; run the same command again to continue", err=True)
    _leave(_INTERRUPTED + number)


def _leave(code: int) -> NoReturn:
    """End at once. The executor's own clean-up at exit can wait for ever, or complain, once its processes were killed."""
    abandon_workers()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _stop(number: int, frame: FrameType | None) -> None:
    raise _Stopped(number)


def default_workers() -> int:
    """The CPU cores that this process may use."""
    return available_cores()


_UNITS = {
    "listing": "photographs",
    "measuring": "photographs",
    "building": "pairs",
    "checking": "shards",
    "comparing": "pairs",
    "measuring pairs": "pairs",
    "copying": "bytes",
}


class Bars:
    """A progress bar for each stage, with rate and time left; nothing when the error stream is not a terminal."""

    def __init__(self) -> None:
        self._bar: tqdm[Any] | None = None

    def stage(self, name: str, total: int | None) -> None:
        """Begin a stage."""
        self.close()
        self._bar = tqdm(
            total=total, desc=name, unit=f" {_UNITS.get(name, '')}", disable=None, file=sys.stderr, dynamic_ncols=True
        )

    def at(self, done: int) -> None:
        """So many are done."""
        if self._bar is not None:
            self._bar.update(done - self._bar.n)

    def close(self) -> None:
        """End the stage."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def __enter__(self) -> Bars:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
