"""SHA-256 (FIPS 180-4) by the instructions that CPUs have for it, two sums side by side.

A round of a sum waits for the one before it, so that a CPU that makes one sum at a time is idle for
much of that time: two that do not depend on each other take little longer than one.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..compiling.compile import cpu_features, kernel

BLOCK = 64
"""Bytes that a sum takes at once."""
WORDS = (5, 4, 1, 0, 7, 6, 3, 2)
"""Which of a sum's words a to h each of a state's is: the order of the instructions, F E B A H G D
C."""

_GROUPS = 16  # of four rounds
_I32, _I64 = ir.IntType(32), ir.IntType(64)
_FOUR, _BYTES = ir.VectorType(_I32, 4), ir.VectorType(ir.IntType(8), 16)
_BIG_ENDIAN = [4 * word + 3 - byte for word in range(4) for byte in range(4)]


def has_instructions() -> bool:
    """Return whether kernels are compiled for a CPU with them (x86's SHA extensions)."""
    return "+sha" in cpu_features()


def _primes(count: int) -> list[int]:
    return [n for n in range(2, 312) if all(n % d for d in range(2, n))][:count]


def first_state() -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Return the state of a sum of nothing, uint32 array (8).

    It is the first 32 bits of the fractions of the square roots of the first eight primes.
    """
    return _start().copy()


@lru_cache(maxsize=1)
def _start() -> np.ndarray[Any, np.dtype[np.uint32]]:
    start = [math.isqrt(prime << 64) & 0xFFFFFFFF for prime in _primes(8)]
    return np.array([start[word] for word in WORDS], np.uint32)


@lru_cache(maxsize=1)
def _constants() -> list[int]:
    """Return the first 32 bits of the fractions of the cube roots of the first 64 primes."""
    return [_cube_root(prime << 96) & 0xFFFFFFFF for prime in _primes(64)]


def _cube_root(n: int) -> int:
    """Return the largest integer whose cube is not above n."""
    root = 0
    for bit in reversed(range(n.bit_length() // 3 + 1)):
        if (root | 1 << bit) ** 3 <= n:
            root |= 1 << bit
    return root


def _is_sum(state: Any, data: Any) -> bool:
    return (
        state == types.Array(types.uint32, 1, "C")
        and isinstance(data, types.Array)
        and (data.dtype, data.layout) == (types.uint8, "C")
    )


def _add_block(typing_context, state, data, place):
    """Add the 64 bytes of an array from a place on to a sum's state, uint32 array (8)."""
    if not _is_sum(state, data):
        return None
    return types.none(state, data, types.int64), _adding(1)


def _add_block_of_two(typing_context, one, data, place, other, more, beside):
    """Add 64 bytes to each of two sums, their rounds in turns."""
    if not (_is_sum(one, data) and _is_sum(other, more)):
        return None
    return types.none(one, data, types.int64, other, more, types.int64), _adding(2)


def _adding(lanes: int) -> Any:
    """Return what makes the instructions that add a block to each of some sums."""

    def generate(context, builder, signature, arguments):
        def at(argument: int, first: Any, kind: Any) -> Any:
            array = context.make_array(signature.args[argument])
            begin = array(context, builder, arguments[argument]).data
            return builder.bitcast(builder.gep(begin, [first]), kind.as_pointer())

        def loaded(pointer: Any, many: int) -> list[Any]:
            return [builder.load(builder.gep(pointer, [_I64(i)]), align=1) for i in range(many)]

        states = [at(3 * lane, _I64(0), _FOUR) for lane in range(lanes)]
        texts = [at(3 * lane + 1, arguments[3 * lane + 2], _BYTES) for lane in range(lanes)]
        before = [loaded(state, 2) for state in states]
        after = _rounds(builder, before, [loaded(text, 4) for text in texts])
        for state, old, new in zip(states, before, after, strict=True):
            for i in range(2):
                half = builder.add(old[i], new[i])
                builder.store(half, builder.gep(state, [_I64(i)]), align=4)
        return context.get_dummy_value()

    return generate


def _rounds(builder: Any, states: list[list[Any]], texts: list[list[Any]]) -> list[list[Any]]:
    """Return the halves of states after the 64 rounds of a block each, given as 4 x 16 bytes."""

    def call(name: str, *values: Any) -> Any:
        kind = ir.FunctionType(_FOUR, [_FOUR] * len(values))
        found = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        return builder.call(found, values)

    def shuffled(one: Any, other: Any, order: list[int]) -> Any:
        return builder.shuffle_vector(one, other, ir.VectorType(_I32, len(order))(order))

    def extended(words: list[Any]) -> list[Any]:
        begun = builder.add(
            call("llvm.x86.sha256msg1", words[0], words[1]),
            shuffled(words[2], words[3], [1, 2, 3, 4]),
        )
        return [*words[1:], call("llvm.x86.sha256msg2", begun, words[3])]

    constants = _constants()
    halves = [tuple(state) for state in states]
    words = [
        [builder.bitcast(shuffled(piece, piece, _BIG_ENDIAN), _FOUR) for piece in text]
        for text in texts
    ]
    for group in range(_GROUPS):
        if group >= 4:
            words = [extended(own) for own in words]
        four = _FOUR(constants[4 * group : 4 * group + 4])
        now = [builder.add(own[min(group, 3)], four) for own in words]
        for two in ([0, 1, 0, 1], [2, 3, 2, 3]):
            halves = [
                (call("llvm.x86.sha256rnds2", high, low, shuffled(sums, sums, two)), low)
                for (low, high), sums in zip(halves, now, strict=True)
            ]
    return [list(pair) for pair in halves]


add_block: Any = intrinsic(_add_block)
add_block_of_two: Any = intrinsic(_add_block_of_two)


@kernel
def add_blocks(state, data, place, blocks):
    """Add so many blocks of an array, from a place on, to a sum.

    Parameters
    ----------
    state : uint32 array (8)
    data : uint8 array
    place, blocks : int
    """
    for i in range(blocks):
        add_block(state, data, place + i * BLOCK)


@kernel
def add_blocks_of_two(one, data, place, other, more, beside, blocks):
    """Add so many blocks to each of two sums.

    Parameters
    ----------
    one, other : uint32 array (8)
    data, more : uint8 array
        What is added to `one`, and to `other`.
    place, beside : int
        Where it begins in them.
    blocks : int
    """
    for i in range(blocks):
        at = i * BLOCK
        add_block_of_two(one, data, place + at, other, more, beside + at)
