"""gloam: paired low-light / normal-light image sets from ordinary photographs, for training low-light image enhancement."""

from __future__ import annotations

from pathlib import Path

# In a checkout the packages lie beside this folder, and Python may come upon it there before the installed one.
if (Path(__file__).parent.parent / "synth").is_dir() and (Path(__file__).parent.parent / "setup.cfg").is_file():
    __path__.append(str(Path(__file__).parent.parent))

__version__: str


def __getattr__(name: str) -> str:
    if name == "__version__":
        from importlib import metadata

        return metadata.version("gloam")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
