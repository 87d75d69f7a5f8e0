"""Compiled kernels, kept in the folders of `cache_folders`.

Numba's own cache needs one folder that can be written.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    _CacheLocator,
)

from ....engines.process import is_own_process
from . import cache_folders as kernel_places
from .cache_folders import places, sources_hash


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
        """Return the compiled function, or None."""
        for cache in (*self._read, self._written):
            if cache is not None:
                with suppress(OSError):
                    found = cache.load_overload(signature, target_context)
                    if found is not None:
                        return found
        if not is_own_process():
            kernel_places.announce()
        return None

    def save_overload(self, signature: Any, data: Any) -> None:
        """Keep a compiled function; without room for it the next process compiles it again."""
        if self._written is not None:
            with suppress(OSError):
                self._written.save_overload(signature, data)


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
    _locator_classes: Any = [_Anywhere]  # noqa: RUF012 - as in Numba


class _FolderCache(FunctionCache):
    """The machine code of a function in one folder."""

    _impl_class = _Kernels

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        super().__init__(function)
        self._cache_path = str(folder)
        self._cache_file = IndexDataCacheFile(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=sources_hash(),
        )
