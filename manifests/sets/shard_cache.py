"""Shards of a set in a store, copied to a folder of this machine while they are loaded."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import SetError
from ...storage.atomic import claim
from ...storage.locks import exclusive
from .layouts.shard_writer import index_path, shard_path
from .receipts import read_receipt
from .stage import copy_checked


class ShardCache:
    """Copies of a set's shards, as many as fit, made by a thread.

    A shard is copied whole, checked by its receipt, or not there; several processes of a machine
    share a folder. Nothing is thrown out of it: an epoch needs every shard once, so that it would
    be thrown out before it is needed again.

    folder: folder of this machine; the copies of each set lie in a folder of their own in it.
    limit: bytes that this set's copies may take; what the disk has free, less a twentieth, is a
      limit too.
    identity, root: str, Path; identity and folder of the set.

    Raises SetError when the folder of its copies is a link, or holds one.
    """

    def __init__(
        self, folder: Path, limit: int | None, identity: str, root: Path, units: Sequence[str]
    ) -> None:
        self._folder, self._limit, self._root, self._units = folder / identity, limit, root, units
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()
        claim(self._folder, link=False)
        self._done: set[str] = {unit for unit in units if self._both(unit)}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_thread": None, "_stopped": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _stopped=threading.Event())

    def begin(self) -> None:
        """Begin to copy, unless that was begun before."""
        if self._thread is None and not self.whole:
            self._thread = threading.Thread(target=self._copy_all, daemon=True)
            self._thread.start()

    @property
    def whole(self) -> bool:
        """True if all shards are copied."""
        return len(self._done) == len(self._units)

    def root_of(self, unit: str) -> Path:
        """Return the folder below which a unit's shard lies: here, or in the store."""
        return self._folder if unit in self._done else self._root

    def close(self) -> None:
        """End copying; what is whole stays."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def _both(self, unit: str) -> bool:
        return all(find(self._folder, unit).is_file() for find in (shard_path, index_path))

    def _copy_all(self) -> None:
        # A store or a disk that fails is no reason to end training: shards are read from the store
        # then, which says what is wrong with it.
        for unit in self._units:
            if self._stopped.is_set():
                return
            try:
                if unit not in self._done and not self._copy(unit):
                    return
            except (OSError, SetError):
                return
            self._done.add(unit)

    def _copy(self, unit: str) -> bool:
        """Copy a unit's shard and index; returns False where they do not fit."""
        files = read_receipt(self._root, unit).files
        with exclusive(self._folder / "locks" / unit, wait=True):
            if self._both(unit):
                return True
            if not self._fits(sum(file.bytes for file in files)):
                return False
            for file in files:
                copy_checked(self._root, self._folder, file, self._go_on)
        return True

    def _go_on(self, size: int) -> None:
        if self._stopped.is_set():
            raise InterruptedError

    def _fits(self, size: int) -> bool:
        usage = shutil.disk_usage(self._folder)
        if size > usage.free - usage.total / 20:
            return False
        if self._limit is None:
            return True
        used = sum(path.stat().st_size for path in self._folder.rglob("*") if path.is_file())
        return used + size <= self._limit
