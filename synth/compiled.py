"""Where compiled kernels are kept, so that they are compiled once on a machine.

The first of these folders that has them, compiled from these very sources, is read; the first that can be written takes what is
compiled:

1. `NUMBA_CACHE_DIR`, where it is set;
2. `__pycache__` beside the kernels, where an image or a package can bring them along;
3. `gloam` in the user's cache folder (`XDG_CACHE_HOME`, `~/.cache`);
4. a folder of the user's own in the temporary folder, with a warning.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from numba import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator

from ..manifests.errors import GloamWarning
from ..manifests.workers import is_own_process


@dataclass(frozen=True)
class Places:
    """Folders that hold compiled kernels already, and the one that takes new ones (None where nothing can be written)."""

    readable: tuple[Path, ...]
    writable: Path | None


class KernelCache:
    """What a Numba dispatcher asks for machine code, and gives it to."""

    def __init__(self, function: Callable[..., Any]) -> None:
        found = places()
        self._written = None if found.writable is None else _FolderCache(function, found.writable)
        self._read = [_FolderCache(function, folder) for folder in found.readable]

    @property
    def cache_path(self) -> str:
        """Where new machine code goes."""
        return str(places().writable or "")

    def flush(self) -> None:
        """Forget what is kept."""
        if self._written is not None:
            self._written.flush()

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The compiled function, or None."""
        for cache in (*self._read, self._written):
            if cache is not None:
                with suppress(OSError):
                    found = cache.load_overload(signature, target_context)
                    if found is not None:
                        return found
        return None

    def save_overload(self, signature: Any, data: Any) -> None:
        """Keep a compiled function; without room for it the next process compiles it again."""
        if self._written is not None:
            with suppress(OSError):
                self._written.save_overload(signature, data)


@lru_cache(maxsize=1)
def places() -> Places:
    """Where compiled kernels are, and where new ones go."""
    name = f"gloam-{sources_hash()[:16]}"
    readable = tuple(folder / name for folder in _folders() if any((folder / name).glob("*.nbi")))
    writable = next((folder / name for folder in _folders() if _can_write(folder / name)), None)
    if writable is not None and writable.parent.name == "__pycache__":
        for old in set(writable.parent.glob("gloam-*")) - {writable}:  # of sources that are not there any more
            shutil.rmtree(old, ignore_errors=True)
    if writable is None:
        writable = _temporary(name)
        if not readable and not is_own_process():
            warnings.warn(
                f"compiled kernels can be kept neither beside gloam nor in the user's cache folder; they go to {writable or 'nowhere'} "
                "(NUMBA_CACHE_DIR names another place)",
                GloamWarning,
                stacklevel=2,
            )
    return Places(tuple(folder for folder in readable if folder != writable), writable)


def are_compiled() -> bool:
    """Whether kernels were compiled from these sources before."""
    found = places()
    return bool(found.readable) or (found.writable is not None and any(found.writable.glob("*.nbi")))


@lru_cache(maxsize=1)
def sources_hash() -> str:
    """Of all that may be compiled into a kernel: Numba itself looks only at the file that holds one."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _folders() -> Iterator[Path]:
    if config.CACHE_DIR:
        yield Path(config.CACHE_DIR)
    yield Path(__file__).parent / "__pycache__"
    with suppress(RuntimeError):  # no home
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gloam"


def _can_write(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _temporary(name: str) -> Path | None:
    """A folder that nobody else can write to: what lies in it is run."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"gloam-kernels-{user}"
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
        if status.st_uid == user and not status.st_mode & 0o022 and _can_write(folder / name):
            return folder / name
    return None


class _Anywhere(_CacheLocator):
    """Numba's question where to keep a function; `_FolderCache` answers it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._line = function.__code__.co_firstlineno

    def ensure_cache_path(self) -> None:
        pass

    def get_cache_path(self) -> str:
        return ""

    def get_source_stamp(self) -> str:
        return sources_hash()

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Anywhere:
        return cls(py_func)


class _Kernels(CompileResultCacheImpl):
    _locator_classes = (_Anywhere,)


class _FolderCache(FunctionCache):
    """The machine code of a function in one folder."""

    _impl_class = _Kernels

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        super().__init__(function)
        self._cache_path = str(folder)
        self._cache_file = IndexDataCacheFile(
            cache_path=self._cache_path, filename_base=self._impl.filename_base, source_stamp=sources_hash()
        )
