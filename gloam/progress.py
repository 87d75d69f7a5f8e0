"""What long work tells of its progress."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """What a build tells of its progress."""

    def stage(self, name: str, total: int | None) -> None:
        """A stage begins: "listing", "measuring" or "building", with its number of photographs or
        pairs if known.
        """

    def at(self, done: int) -> None:
        """So many are done."""


class Silent:
    """Tells nothing."""

    def stage(self, name: str, total: int | None) -> None:
        """Nothing."""

    def at(self, done: int) -> None:
        """Nothing."""
