"""gloam: paired low-light / normal-light image sets from ordinary photographs, for training low-light image enhancement."""

from __future__ import annotations

__version__: str


def __getattr__(name: str) -> str:
    if name == "__version__":
        from importlib import metadata

        return metadata.version("gloam")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
