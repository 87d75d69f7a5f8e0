"""The options --workers and --engine, and an early start of what workers need."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..engines.process import available_cores, prepare_workers
from ..errors import ConfigError
from ..progress import Bars
from ..synth.building import WARM
from ..synth.kernels.compiling.cache_folders import announce_compiling

if TYPE_CHECKING:
    from ..engines.engine import Engine

F = TypeVar("F", bound=Callable[..., Any])


def _engine_named(name: str, workers: int) -> Engine:
    """Return the engine of a name: `local`, with so many processes, `ray` or `ray:ADDRESS`.

    Raises ConfigError when there is none of that name, or it cannot be had.
    """
    kind, _, address = name.partition(":")
    if kind == "local" and not address:
        from ..engines.local import LocalEngine

        return LocalEngine(workers, ignore_interrupt=True)
    if kind == "ray":
        from ..engines.ray import RayEngine

        return RayEngine(address)
    raise ConfigError(f"engine {name!r}: must be local, ray or ray:ADDRESS", key="engine")


_engine_option = click.option(
    "--engine",
    default="local",
    metavar="local|ray[:ADDRESS]",
    help="Work on this machine, or as tasks of a Ray cluster; the result is the same.",
)
_workers_option = click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=available_cores,
    show_default="all cores",
    help="Number of processes; the result is the same for any.",
)


def working(engine: bool = True) -> Callable[[F], F]:
    """Make --workers and --engine of a command whose function takes workers, engine, progress."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if engine:
                kwargs["engine"] = _engine_named(kwargs.pop("engine"), kwargs["workers"])
            with Bars() as bars:
                return function(*args, progress=bars, **kwargs)

        made: Any = wrapped
        return _workers_option(_engine_option(made) if engine else made)

    return decorate


@click.command(
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
@_workers_option
@_engine_option
@click.option("--help", "-h", "helps", is_flag=True)
def _begin(workers: int, engine: str, helps: bool) -> None:
    if engine == "local" and workers > 1 and not helps:
        announce_compiling()  # before the server compiles the first: afterwards none seem to lack
        prepare_workers([WARM], workers, ignore_interrupt=True)


def begin_workers(args: Sequence[str]) -> None:
    """Start the server that workers which make lows are forked from.

    It imports side by side with this process: each takes a second.

    args: all of a command; whatever is wrong with them is told when the command reads them.
    """
    with suppress(click.UsageError), _begin.make_context(None, list(args)) as context:
        _begin.invoke(context)
