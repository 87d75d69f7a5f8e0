"""The checksums of what a unit holds: of its members, and of the file that they are packed into."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Protocol

from .atomic import sha256_bytes


class Sums(Protocol):
    """Makes the SHA-256 of members, and that of one file as it is written."""

    def of(self, members: Sequence[bytes]) -> list[str]:
        """Return the hexadecimal SHA-256 of each of some members."""

    def update(self, data: bytes) -> None:
        """Add what is written to the file."""

    def hexdigest(self) -> str:
        """Return the hexadecimal SHA-256 of what was written to the file until now."""


class PlainSums:
    """Sums one after the other, by hashlib."""

    def __init__(self) -> None:
        self._file = hashlib.sha256()

    def of(self, members: Sequence[bytes]) -> list[str]:
        """Return the hexadecimal SHA-256 of each of some members."""
        return [sha256_bytes(member) for member in members]

    def update(self, data: bytes) -> None:
        """Add what is written to the file."""
        self._file.update(data)

    def hexdigest(self) -> str:
        """Return the hexadecimal SHA-256 of what was written to the file until now."""
        return self._file.hexdigest()
