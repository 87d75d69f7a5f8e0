"""What long work tells of its progress."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """What a build tells of its progress."""

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
