"""Compiled kernels in the folders of `cache_folders`; Numba's own cache needs a single one."""

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
    """The cache that a Numba dispatcher asks for machine code, and gives it to.

    folder_cache: the cache of one folder, made with the function and the folder.
    """

    def __init__(self, function: Callable[..., Any], folder_cache: Any = None) -> None:
        found, made = places(), folder_cache or FolderCache
        self._gpu = made is not FolderCache
        self._written = None if found.writable is None else made(function, found.writable)
        self._read = [made(function, folder) for folder in found.readable]

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the compiled function, or None."""
        for cache in (*self._read, self._written):
            if cache is not None:
                with suppress(OSError):
                    found = cache.load_overload(signature, target_context)
                    if found is not None:
                        return found
        if not is_own_process():
            kernel_places.announce(gpu=self._gpu)
        return None

    def save_overload(self, signature: Any, data: Any) -> None:
        """Keep a compiled function; without room for it the next process compiles it again."""
        if self._written is not None:
            with suppress(OSError):
                self._written.save_overload(signature, data)


class Anywhere(_CacheLocator):
    """Numba's question where to keep a function; `FolderCache` answers it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._line = function.__code__.co_firstlineno

    def ensure_cache_path(self) -> None:
        """Do nothing: the folder is there."""

    def get_cache_path(self) -> str:
        """Return no folder."""
        return ""

    def get_source_stamp(self) -> str:
        """Return what stands for all sources."""
        return sources_hash()

    def get_disambiguator(self) -> str:
        """Return what tells functions of a name apart."""
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> Anywhere:
        """Make one of a function."""
        return cls(py_func)


class _Kernels(CompileResultCacheImpl):
    _locator_classes: Any = [Anywhere]  # noqa: RUF012 - as in Numba


class FolderCache(FunctionCache):
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
