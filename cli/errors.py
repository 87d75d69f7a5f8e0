"""Errors of users as one line, and exit codes."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from ..engines.stopping import exit_now
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


@contextmanager
def user_errors() -> Iterator[None]:
    """Show gloam's errors within the block as a line, and exit with 1."""
    try:
        yield
    except GloamError as error:
        for line in str(error).splitlines():
            click.echo(f"gloam: {visible(line)}", err=True)
        if isinstance(error, WorkerLost):
            exit_now(USER_ERROR)
        sys.exit(USER_ERROR)
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
