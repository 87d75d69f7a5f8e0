"""The decorators that every kernel of gloam is compiled with.

Kernel arithmetic is IEEE float32: no fast-math, and no contraction of a multiplication and an
addition but where `fma` asks for it, so that the same inputs give the same bits on every CPU,
whatever the width of its vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numba import types
from numba.core.compiler import Compiler
from numba.extending import intrinsic

from .cache import KernelCache

F = TypeVar("F", bound=Callable[..., Any])


class _NoAliasCompiler(Compiler):
    """Numba's default compiler, promising LLVM that array arguments do not overlap.

    Without the promise LLVM cannot turn table look-ups beside stores into vector gathers, and the
    kernels run four times slower. It changes no result, as no kernel here is called with
    overlapping arrays.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.state.flags.noalias = True


def _fma(typing_context, a, b, c):
    """Return a * b + c of three equal floats, rounded once, as IEEE 754 defines it.

    It has the same bits on every CPU and GPU.
    """
    if not isinstance(a, types.Float) or a != b or b != c:
        return None

    def generate(context, builder, signature, arguments):
        return builder.fma(*arguments)

    return a(a, b, c), generate


fma: Any = intrinsic(_fma)


def _store_word(typing_context, array, place, word):
    """Store 64 bits in a uint8 array from a place on, wherever that is, lowest byte first."""
    if not isinstance(array, types.Array) or array.dtype != types.uint8 or array.layout != "C":
        return None

    def generate(context, builder, signature, arguments):
        holder = context.make_array(array)(context, builder, arguments[0])
        at = builder.gep(holder.data, [arguments[1]])
        kind = arguments[2].type.as_pointer()
        builder.store(arguments[2], builder.bitcast(at, kind), align=1)
        return context.get_dummy_value()

    return types.none(array, types.int64, types.uint64), generate


store_word: Any = intrinsic(_store_word)


def scalar(function: F) -> F:
    """Compile a function of scalars (and of tables that it only reads) for kernels.

    It is called from kernels and inlined there.

    The same source is what a GPU kernel calls: Numba's CUDA target compiles it again for the
    device.
    """
    compiled: Any = numba.njit(error_model="numpy", forceinline=True)(function)
    return compiled


@scalar
def reciprocal(x):
    """Return 1 / x of a float32."""
    return np.float32(1) / x


def inlined(function: F) -> F:
    """Compile a loop over arrays into the kernels that call it.

    It is for loops so short that a call weighs, such as over one row.
    """
    compiled: Any = numba.njit(
        error_model="numpy", forceinline=True, pipeline_class=_NoAliasCompiler
    )(function)
    return compiled


def kernel(function: F) -> F:
    """Compile a loop over arrays that do not overlap, without the interpreter's lock.

    The machine code is cached.
    """
    compiled: Any = numba.njit(error_model="numpy", nogil=True, pipeline_class=_NoAliasCompiler)(
        function
    )
    compiled._cache = KernelCache(compiled.py_func)
    return compiled
