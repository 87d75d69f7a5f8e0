"""Kernels compiled for a GPU, kept in the folders of `cache_folders`. Needs numba-cuda."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba_cuda  # type: ignore[import-untyped]
from numba.cuda.core.caching import IndexDataCacheFile
from numba.cuda.dispatcher import CUDACache, CUDACacheImpl

from .cache import Anywhere
from .cache_folders import sources_hash


class _Kernels(CUDACacheImpl):  # type: ignore[misc]
    _locator_classes: Any = [Anywhere]  # noqa: RUF012 - as in Numba


class CudaFolderCache(CUDACache):  # type: ignore[misc]
    """The machine code of a CUDA kernel in one folder, for any GPUs."""

    _impl_class = _Kernels

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        super().__init__(function)
        self._cache_path = str(folder)
        self._cache_file = IndexDataCacheFile(
            cache_path=self._cache_path,
            filename_base=f"cuda-{function.__qualname__}",
            source_stamp=sources_hash(),
        )

    def _index_key(self, signature: Any, codegen: Any) -> tuple[Any, ...]:
        """Return what a kernel is made for: types, toolkit and GPU.

        Its source is the folder's; that of what it calls, which Numba would look for in closures,
        too.
        """
        return signature, codegen.magic_tuple(), numba_cuda.__version__
