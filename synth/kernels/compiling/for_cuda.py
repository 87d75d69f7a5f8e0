"""The scalar functions of the kernels, compiled for CUDA from the same source. Needs numba-cuda.

Numba's CUDA target is asked for plain IEEE arithmetic: it would otherwise join multiplications and
additions where the CPU does not, and lows would differ in their last bit.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numba_cuda  # type: ignore[import-untyped]
import numpy as np
from llvmlite import ir
from numba import cuda, types
from numba.cuda import dispatcher, libdevice
from numba.cuda.core.caching import IndexDataCacheFile
from numba.cuda.cudadrv import nvvm
from numba.cuda.dispatcher import CUDACache, CUDACacheImpl
from numba.cuda.extending import intrinsic

from . import compile as compiling
from .cache import Anywhere, KernelCache
from .cache_folders import sources_hash

_done: dict[int, Any] = {}
_LEAST, _HALF, _ONE = np.float32(2.0**-126), np.float32(0.5), np.float32(1)


def kernel(function: Any, registers: int | None = None) -> Any:
    """Compile a CUDA kernel of at most so many registers a thread, not optimised at link time.

    There multiplications and additions would be joined again.

    The option is given as an argument of a call: as `@cuda.jit(lto=False)` numba-cuda 0.30 forgets
    it. The machine code is cached.
    """
    compiled = cuda.jit(function, lto=False, max_registers=registers)
    compiled._cache = KernelCache(function, CudaFolderCache)
    return compiled


def device_function(function: Any) -> Any:
    """Compile a function that CUDA kernels call."""
    return cuda.jit(function, device=True, lto=False)


@device_function
def fma(a, b, c):
    """Return a * b + c of float32, rounded once."""
    return libdevice.fmaf_rn(a, b, c)


def _approximately(name: str) -> Any:
    """Return an instruction that approximates a function of float32: refined, it is exact."""

    def typed(context, x):
        if x != types.float32:
            return None

        def generate(context, builder, signature, arguments):
            kind = ir.FunctionType(ir.FloatType(), [ir.FloatType()])
            return builder.call(ir.InlineAsm(kind, f"{name} $0, $1;", "=f,f"), arguments)

        return x(x), generate

    return intrinsic(typed)


_near_rsqrt = _approximately("rsqrt.approx.ftz.f32")
_near_reciprocal = _approximately("rcp.approx.ftz.f32")


@device_function
def _sqrt(x):
    """Return the root of 0, or of a float32 of 2^-100 to 2^100, rounded as IEEE 754 defines it.

    The compiler's own root, from which this is taken, asks before whether a number lies in that
    range, and has a branch for the others: a twelfth of the time of a pixel. That both are equal
    for all numbers of the range was tried out on an H200 (tests do so for two octaves, of which the
    others are copies). Of smaller normal ones the last bit may err; what is subnormal, negative or
    infinite comes out wrong: of what light has lost at white, nothing that shows.
    """
    near = _near_rsqrt(max(x, _LEAST))
    root = x * near
    return libdevice.fmaf_rn(libdevice.fmaf_rn(-root, root, x), near * _HALF, root)


@device_function
def reciprocal(x):
    """Return 1 / x of a float32 of 2^-100 to 2^100, rounded as IEEE 754 defines it; see `_sqrt`."""
    near = _near_reciprocal(x)
    return libdevice.fmaf_rn(near, libdevice.fmaf_rn(-x, near, _ONE), near)


def _numpy_on_device(**functions: Any) -> ModuleType:
    """Make what scalar functions take from NumPy."""
    module = ModuleType("numpy_on_device")
    module.__dict__.update(functions)
    kinds = "float32", "float64", "int16", "int32", "int64", "uint8", "uint32", "uint64"
    module.__dict__.update({name: getattr(np, name) for name in kinds})
    return module


_SINGLE = _numpy_on_device(sqrt=_sqrt, rint=libdevice.rintf, floor=libdevice.floorf)
_DOUBLE = _numpy_on_device(sqrt=math.sqrt, rint=libdevice.rint, floor=libdevice.floor)


_TWINS = {id(compiling.fma): fma, id(compiling.reciprocal): reciprocal}
"""Functions that are others on a GPU."""


def device(function: Any) -> Any:
    """Compile a function of `compiling.scalar`, and all it calls, as a CUDA device function.

    Its floats are float32, or float64 where its module says `DOUBLE_PRECISION`.
    """
    source = function.py_func
    numpy = _DOUBLE if source.__globals__.get("DOUBLE_PRECISION") else _SINGLE
    if id(function) not in _done:
        names = dict(source.__globals__)
        for name in source.__code__.co_names:
            value = names.get(name)
            if value is np:
                names[name] = numpy
            elif id(value) in _TWINS:
                names[name] = _TWINS[id(value)]
            elif hasattr(value, "py_func"):
                names[name] = device(value)
        copy = FunctionType(source.__code__, names, source.__name__, source.__defaults__)
        _done[id(function)] = device_function(copy)
    return _done[id(function)]


_plain_lock, _plain_users, _undo_plain = threading.Lock(), 0, ExitStack()


@contextmanager
def plain_arithmetic() -> Iterator[None]:
    """Keep NVVM from joining multiplications and additions while kernels are compiled.

    Nor does Numba warn of launches that fill no GPU: a step over few images is short. Several
    threads may be in it: what the first one changed, the last one changes back.
    """
    global _plain_users
    with _plain_lock:
        if _plain_users == 0:
            _undo_plain.callback(_made_plain())
        _plain_users += 1
    try:
        yield
    finally:
        with _plain_lock:
            _plain_users -= 1
            if _plain_users == 0:
                _undo_plain.close()


def _made_plain() -> Callable[[], None]:
    """Begin what `plain_arithmetic` does; returns what ends it."""
    original: Callable[..., Any] = nvvm.compile_ir
    config: Any = dispatcher.config
    warned = config.CUDA_LOW_OCCUPANCY_WARNINGS

    def compile_ir(llvmir: Any, **options: Any) -> Any:
        return original(llvmir, **{**options, "fma": False})

    def undo() -> None:
        nvvm.compile_ir = original
        config.CUDA_LOW_OCCUPANCY_WARNINGS = warned

    nvvm.compile_ir = compile_ir
    config.CUDA_LOW_OCCUPANCY_WARNINGS = 0
    return undo


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
