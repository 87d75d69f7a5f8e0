"""Progress of long work: a protocol, and bars."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from tqdm import tqdm


class Progress(Protocol):
    """Receives the progress of long work."""

    def stage(self, name: str, total: int | None) -> None:
        """Begin a stage: "listing", "measuring" or "building".

        `total` is its number of photographs or pairs, if known.
        """

    def at(self, done: int) -> None:
        """Take notice that so many are done."""


class Silent:
    """Tells nothing."""

    def stage(self, name: str, total: int | None) -> None:
        """Take no notice."""

    def at(self, done: int) -> None:
        """Take no notice."""


_UNITS = {
    "listing": "photographs",
    "measuring": "photographs",
    "building": "pairs",
    "fitting": "pairs",
    "reading raw files": "files",
    "looking at frames": "frames",
    "fusing": "brackets",
    "checking": "shards",
    "comparing": "pairs",
    "measuring pairs": "pairs",
    "copying": "bytes",
}


class Bars(AbstractContextManager["Bars"]):
    """A progress bar for each stage, with rate and time left.

    Nothing is shown when the error stream is neither a terminal nor that of a notebook.
    """

    def __init__(self) -> None:
        self._bar: tqdm[Any] | None = None

    def stage(self, name: str, total: int | None) -> None:
        """Begin a stage."""
        self.close()
        self._bar = tqdm(
            total=total,
            desc=name,
            unit=f" {_UNITS.get(name, '')}",
            disable=False if _in_notebook() else None,
            file=sys.stderr,
            dynamic_ncols=True,
        )

    def at(self, done: int) -> None:
        """Show that so many are done."""
        if self._bar is not None:
            self._bar.update(done - self._bar.n)

    def close(self) -> None:
        """End the stage."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def __exit__(self, *exception: object) -> None:
        self.close()


def _in_notebook() -> bool:
    """Return whether a kernel of Jupyter's runs this process."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return type(shell).__name__ == "ZMQInteractiveShell"


@contextmanager
def progress_of(progress: Progress | bool | None) -> Iterator[Progress]:
    """Give what tells of progress: bars (None, True), nothing (False), or what was given."""
    if progress is None or progress is True:
        with Bars() as bars:
            yield bars
    else:
        yield progress or Silent()
