"""The decorators that every kernel of gloam is compiled with.

Kernel arithmetic is IEEE float32: no fast-math, and no contraction of a multiplication and an
addition but where `fma` asks for it, so that the same inputs give the same bits on every CPU,
whatever the width of its vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite.binding import get_host_cpu_name
from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.registry import cpu_target
from numba.core.typed_passes import NativeLowering
from numba.extending import intrinsic

from .cache import KernelCache

F = TypeVar("F", bound=Callable[..., Any])


_WIDE = '"prefer-vector-width"="512"'
_WIDE_ENOUGH = ("icelake-server", "sapphirerapids", "emeraldrapids", "graniterapids", "znver5")


def takes_wide_vectors(cpu: str) -> bool:
    """Return whether a CPU, by LLVM's name, is the faster for vectors of 512 bits.

    LLVM takes 256 for all of Intel's, as the first that had wider ones slowed down by them. On an
    Emerald Rapids a low takes a fifth less time with 512; the results are the same.
    """
    return cpu.startswith(_WIDE_ENOUGH)


class _WideLower(Lower):
    def setup_function(self, fndesc: Any) -> None:
        super().setup_function(fndesc)
        # llvmlite's own `add` knows attributes without a value alone.
        set.add(self.function.attributes, _WIDE)


@register_pass(mutates_CFG=True, analysis_only=False)
class _WideLowering(NativeLowering):
    _name = "gloam_wide_lowering"

    @property
    def lowering_class(self) -> Any:
        return _WideLower


class _NoAliasCompiler(Compiler):
    """Numba's default compiler, promising LLVM that array arguments do not overlap.

    Without the promise LLVM cannot turn table look-ups beside stores into vector gathers, and the
    kernels run four times slower. It changes no result, as no kernel here is called with
    overlapping arrays. Where that is faster, vectors are of 512 bits.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.state.flags.noalias = True

    def define_pipelines(self) -> Any:
        pipelines = super().define_pipelines()
        if takes_wide_vectors(get_host_cpu_name()):
            for pipeline in pipelines:
                pipeline.passes = [
                    (_WideLowering if one is NativeLowering else one, why)
                    for one, why in pipeline.passes
                ]
        return pipelines


def _fma(typing_context, a, b, c):
    """Return a * b + c of equal floats, rounded once (IEEE 754): the same on CPUs and GPUs."""
    if not isinstance(a, types.Float) or a != b or b != c:
        return None

    def generate(context, builder, signature, arguments):
        return builder.fma(*arguments)

    return a(a, b, c), generate


fma: Any = intrinsic(_fma)


def _store_word(typing_context, array, place, word):
    """Store 64 bits in a uint8 array from any place on, lowest byte first."""
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


def _load_word(typing_context, array, place):
    """Return 64 bits of a uint8 array from any place on, lowest byte first."""
    if not isinstance(array, types.Array) or array.dtype != types.uint8 or array.layout != "C":
        return None

    def generate(context, builder, signature, arguments):
        holder = context.make_array(array)(context, builder, arguments[0])
        at = builder.gep(holder.data, [arguments[1]])
        kind = context.get_value_type(types.uint64).as_pointer()
        return builder.load(builder.bitcast(at, kind), align=1)

    return types.uint64(array, types.int64), generate


load_word: Any = intrinsic(_load_word)


_OPTIONS: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True}
"""Nothing in C calls gloam's functions: without Numba's way in from there compiling takes a
twelfth less time."""


def scalar(function: F) -> F:
    """Compile a function of scalars (and of tables that it only reads) for kernels.

    It is called from kernels and inlined there.

    The same source is what a GPU kernel calls: Numba's CUDA target compiles it again for the
    device.
    """
    made: Any = _Compiled(function, Compiler, cached=False, forceinline=True)
    return made


class _Linked(JITCodeLibrary):
    """LLVM's text of a function, for others to link: no machine code is made of it."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


@cache
def _without_code(compiler: Any) -> Any:
    """Return a compiler as the given one, that ends with LLVM's text of a function."""

    class WithoutCode(compiler):  # type: ignore[misc]
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.state.library = _Linked(self.state.targetctx.codegen(), "linked")
            self.state.flags.no_compile = self.state.flags.no_cpython_wrapper = True

    return WithoutCode


class _Compiled:
    """A function in two forms: what kernels compile into them, and what Python calls.

    The first has neither machine code nor a way in from Python, which unpacks each array of a
    batch: for functions that no one but kernels calls, those took most of the time of compiling.
    """

    def __init__(
        self, function: Callable[..., Any], compiler: Any, cached: bool, **options: Any
    ) -> None:
        self.py_func = function
        self._compiler, self._cached, self._options = compiler, cached, {**_OPTIONS, **options}
        self._in_kernels = self._made(_without_code(compiler))
        self._in_kernels.add_overload = self._add_overload
        self._numba_type_ = self._in_kernels._numba_type_

    def __call__(self, *args: Any) -> Any:
        return self.entry(*args)

    @cached_property
    def entry(self) -> Any:
        """Numba's dispatcher of what Python calls."""
        made = self._made(self._compiler)
        if self._cached:
            made._cache = KernelCache(self.py_func)
        return made

    def _made(self, compiler: Any) -> Any:
        return numba.njit(pipeline_class=compiler, **self._options)(self.py_func)

    def _add_overload(self, found: Any) -> None:
        """Keep what was compiled, by its library: Numba does so by the code, which is not made."""
        found = found._replace(entry_point=found.library)
        cpu_target.target_context.insert_user_function(found.library, found.fndesc, [found.library])
        self._in_kernels.overloads[tuple(found.signature.args)] = found


@scalar
def reciprocal(x):
    """Return 1 / x of a float32."""
    return np.float32(1) / x


def inlined(function: F) -> F:
    """Compile a loop, so short that a call weighs, into the kernels that call it."""
    return _loop(function, forceinline=True)


def inlined_in_row(function: F) -> F:
    """Compile a loop over arrays into the row kernels that call it; it makes no array either."""
    return _loop(function, forceinline=True, _nrt=False)


def kernel(function: F) -> F:
    """Compile a loop over arrays that do not overlap, without the interpreter's lock; cached."""
    return _loop(function, cached=True, nogil=True)


def row_kernel(function: F) -> F:
    """Compile a kernel that makes and returns no array, such as one over the pixels of a row.

    It does not count who holds the arrays that it is given, as its caller does: of exposing a row
    of 500 pixels that takes a third of the time. It calls none but such kernels.
    """
    return _loop(function, cached=True, nogil=True, _nrt=False)


def _loop(function: Callable[..., Any], cached: bool = False, **options: Any) -> Any:
    return _Compiled(function, _NoAliasCompiler, cached, **options)
