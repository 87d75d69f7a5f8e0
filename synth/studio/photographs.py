"""The photographs that a studio shows, decoded as a build decodes its sources."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import ConfigError, ImageRefused
from ...manifests.images.header import read_header
from ...manifests.images.normals import load_normal
from ..analysis.preview import say_refused
from ..kernels.arrays import Pixels

SIDE = 1024
"""Longer side, in pixels, that larger photographs are shrunk to before they are darkened."""
SMALL = 256
"""The same of the pictures of a sheet."""
MOST = 60
MOST_BYTES = 1 << 26
_DECODED = 24  # normals that are held


@dataclass(frozen=True)
class Photograph:
    """A photograph by its name and its bytes, with its width and height in pixels."""

    name: str
    data: bytes
    width: int
    height: int


class Photographs:
    """Photographs by number; more may be added, by several threads.

    held: sequence of (name, bytes). Those that cannot be used are passed over, with a warning.

    Raises SourceError when none of them can be used.
    """

    def __init__(self, held: Sequence[tuple[str, bytes]]) -> None:
        self._held: list[Photograph] = []
        self._decoded: OrderedDict[tuple[int, int], Pixels] = OrderedDict()
        self._lock = threading.Lock()
        refused: list[tuple[str, ImageRefused]] = []
        for name, data in held:
            try:
                self.add(name, data)
            except ImageRefused as refusal:
                refused.append((name, refusal))
        say_refused(refused, len(self._held))

    def __len__(self) -> int:
        return len(self._held)

    def __getitem__(self, number: int) -> Photograph:
        return self._held[number]

    def add(self, name: str, data: bytes) -> int:
        """Add a photograph; returns its number.

        Raises ImageRefused when it cannot be used; ConfigError when there are `MOST` already.
        """
        header = read_header(data)
        load_normal(data, SMALL)  # its pixels too can be read
        with self._lock:
            if len(self._held) >= MOST:
                raise ConfigError(
                    f"{name}: the limit of {MOST} photographs is reached; restart the studio"
                )
            self._held.append(Photograph(name, data, header.width, header.height))
            return len(self._held) - 1

    def normal(self, number: int, side: int = SIDE) -> Pixels:
        """Return a photograph's normal, shrunk to a longer side, uint8 RGB (H, W, 3).

        Raises ConfigError when there is no such photograph.
        """
        if not 0 <= number < len(self._held):
            raise ConfigError(f"photo {number}: there are {len(self._held)}")
        key = number, side
        with self._lock:
            if key in self._decoded:
                self._decoded.move_to_end(key)
                return self._decoded[key]
        pixels = load_normal(self._held[number].data, side).pixels
        with self._lock:
            self._decoded[key] = pixels
            while len(self._decoded) > _DECODED:
                self._decoded.popitem(last=False)
        return pixels
