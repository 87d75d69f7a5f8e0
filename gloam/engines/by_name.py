"""Engines by the names that the command line knows them by."""

from __future__ import annotations

from ..errors import ConfigError
from .engine import Engine


def engine_named(name: str, workers: int) -> Engine:
    """Return the engine that a command is to work with: `local`, `ray` or `ray:ADDRESS`.

    workers: processes, of the local one.

    Raises ConfigError when there is none of that name, or it cannot be had.
    """
    kind, _, address = name.partition(":")
    if kind == "local" and not address:
        from .local import LocalEngine

        return LocalEngine(workers, deaf=True)
    if kind == "ray":
        from .ray import RayEngine

        return RayEngine(address)
    raise ConfigError(f"engine {name!r}: must be local, ray or ray:ADDRESS", key="engine")
