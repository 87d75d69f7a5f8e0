"""A CPU's vectors where LLVM does not find them by itself.

Tables of a float32 for each byte are looked up for 64 bytes at once, in registers. A table's bytes
are taken apart: the lowest of all its floats, and so on, each 256 bytes. These fit into four
registers of 512 bits, among whose bytes one instruction of AVX-512 VBMI chooses 64. Out of memory a
CPU takes a float at a time.

The channels of four pixels are one vector of floats: they lie below each other, as four rows are
summed at once, whose samples are interleaved.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .compile import cpu_features

ROWS = 4
_ACROSS = 4 * ROWS  # a fourth channel is nobody's
_VECTOR = ir.VectorType(ir.FloatType(), _ACROSS)
_FLOATS = types.Array(types.float32, 1, "C")
AT_ONCE = 64
"""Pixels."""
_I8, _I32, _I64 = (ir.IntType(bits) for bits in (8, 32, 64))
_BYTES, _WORDS = ir.VectorType(_I8, 64), ir.VectorType(_I32, 64)
_LANES = range(4)  # of 16 bytes in a register


def has_byte_permutations() -> bool:
    """Return whether kernels are compiled for a CPU that chooses among bytes (x86's VBMI)."""
    return {"+avx512vbmi", "+avx512bw"} <= cpu_features()


def _look_up_pixels(typing_context, pixels, table, red, green, blue):
    """Fill rows of float32 (N) from a table (256) by the bytes of pixels, flat uint8 (3 N).

    Only as many are filled as there are whole AT_ONCE of; their number is returned.
    """
    arrays = pixels, table, red, green, blue
    kinds = types.uint8, *[types.float32] * 4
    if any(
        not isinstance(array, types.Array)
        or (array.dtype, array.ndim, array.layout) != (kind, 1, "C")
        for array, kind in zip(arrays, kinds, strict=True)
    ):
        return None
    return types.int64(*arrays), _generate


look_up_pixels: Any = intrinsic(_look_up_pixels)


def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    arrays = [
        context.make_array(kind)(context, builder, argument)
        for kind, argument in zip(signature.args, arguments, strict=True)
    ]
    pixels, table, *rows = (array.data for array in arrays)
    count = builder.extract_value(arrays[-1].shape, 0)
    blocks = builder.sdiv(count, _I64(AT_ONCE))
    parts = _taken_apart(builder, table)
    with cgutils.for_range(builder, blocks, intp=_I64) as block:
        first = builder.mul(block.index, _I64(AT_ONCE))
        source = builder.bitcast(
            builder.gep(pixels, [builder.mul(first, _I64(3))]), _BYTES.as_pointer()
        )
        sources = [builder.load(builder.gep(source, [_I64(i)]), align=1) for i in range(3)]
        for channel, row in enumerate(rows):
            places = _of_channel(builder, sources, channel)
            floats = _together(builder, [_chosen(builder, part, places) for part in parts])
            into = builder.bitcast(builder.gep(row, [first]), floats[0].type.as_pointer())
            for i, some in enumerate(floats):
                builder.store(some, builder.gep(into, [_I64(i)]), align=4)
    return builder.mul(blocks, _I64(AT_ONCE))


def _taken_apart(builder: Any, table: Any) -> list[list[Any]]:
    """Return the lowest, .. highest bytes of a table's floats, each in four vectors."""
    words = builder.bitcast(table, _WORDS.as_pointer())
    quarters = [builder.load(builder.gep(words, [_I64(i)]), align=4) for i in range(4)]
    shifts = [ir.Constant(_WORDS, [8 * byte] * 64) for byte in range(4)]
    return [
        [builder.trunc(builder.lshr(quarter, shift), _BYTES) for quarter in quarters]
        for shift in shifts
    ]


def _of_channel(builder: Any, sources: list[Any], channel: int) -> Any:
    """Return a channel's bytes of 64 pixels of three, in the order that `_together` asks for."""
    order = [
        3 * (16 * part + 4 * lane + i) + channel
        for lane in _LANES
        for part in range(4)
        for i in range(4)
    ]
    first = _shuffled(builder, sources[0], sources[1], [place % 128 for place in order])
    both = [i if place < 128 else place - 64 for i, place in enumerate(order)]
    return _shuffled(builder, first, sources[2], both)


def _chosen(builder: Any, part: list[Any], places: Any) -> Any:
    """Return the bytes of four vectors that stand at places."""
    kind = ir.FunctionType(_BYTES, [_BYTES] * 3)
    name = "llvm.x86.avx512.vpermi2var.qi.512"  # which looks at seven bits of a place
    choose = cgutils.get_or_insert_function(builder.module, kind, name)
    low, high = (builder.call(choose, [part[i], places, part[i + 1]]) for i in (0, 2))
    beyond = builder.icmp_signed("<", places, ir.Constant(_BYTES, None))
    return builder.select(beyond, high, low)


def _together(builder: Any, parts: list[Any]) -> list[Any]:
    """Return four vectors of floats of their lowest, .. highest bytes.

    The first vector has the first four of each lane, and so on: what the instructions that
    interleave do.
    """
    low, high = (
        [_interleaved(builder, parts[i], parts[i + 1], 1, half) for half in (0, 1)] for i in (0, 2)
    )
    return [
        builder.bitcast(
            _interleaved(builder, low[half], high[half], 2, part), ir.VectorType(ir.FloatType(), 16)
        )
        for half in (0, 1)
        for part in (0, 1)
    ]


def _interleaved(builder: Any, one: Any, other: Any, size: int, half: int) -> Any:
    """Return the halves of two vectors' lanes, so many bytes of either in turns."""
    order = [
        16 * lane + 8 * half + size * i + byte + 64 * vector
        for lane in _LANES
        for i in range(8 // size)
        for vector in (0, 1)
        for byte in range(size)
    ]
    return _shuffled(builder, one, other, order)


def _shuffled(builder: Any, one: Any, other: Any, order: list[int]) -> Any:
    mask = ir.Constant(ir.VectorType(_I32, 64), order)
    return builder.shuffle_vector(one, other, mask)


def _add_pixels(typing_context, rows, weights, sums, places, count):
    """Store the weighted sum of `count` pixels that follow each other, of each of ROWS rows.

    `rows` has the rows' samples in turns: all reds of the first pixel, its greens, and so on.
    `places` (three int64) say where the first pixel begins in it, where their weights in `weights`,
    and where the sums come in `sums`, arrays that are flat and of float32. Pixels are added in
    their order, from 0, by fused multiplications. A fourth channel is read behind each pixel and
    written behind the sum: `rows` and `sums` need ROWS more at their ends, and sums are stored in
    the order of their places.
    """
    arrays = rows, weights, sums
    if any(array != _FLOATS for array in arrays):
        return None

    def generate(context, builder, signature, arguments):
        def data(array):
            return context.make_array(_FLOATS)(context, builder, array).data

        def pixel_at(pointer, number):
            return builder.bitcast(builder.gep(pointer, [number]), _VECTOR.as_pointer())

        rows, weights, sums, places, count = arguments
        place, first, at = (builder.extract_value(places, i) for i in range(3))
        pixels, factors = data(rows), data(weights)
        step = ir.Constant(place.type, 3 * ROWS)
        fma = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_VECTOR, [_VECTOR] * 3), f"llvm.fma.v{_ACROSS}f32"
        )
        total = cgutils.alloca_once_value(builder, ir.Constant(_VECTOR, None))
        with cgutils.for_range(builder, count) as turn:
            weight = builder.load(builder.gep(factors, [builder.add(first, turn.index)]))
            alone = builder.insert_element(
                ir.Constant(_VECTOR, ir.Undefined), weight, ir.Constant(ir.IntType(32), 0)
            )
            lanes = ir.Constant(ir.VectorType(ir.IntType(32), _ACROSS), [0] * _ACROSS)
            alike = builder.shuffle_vector(alone, alone, lanes)
            pixel = builder.load(
                pixel_at(pixels, builder.add(place, builder.mul(turn.index, step))), align=4
            )
            builder.store(builder.call(fma, [alike, pixel, builder.load(total)]), total)
        builder.store(builder.load(total), pixel_at(data(sums), at), align=4)
        return context.get_dummy_value()

    signature = types.none(rows, weights, sums, types.UniTuple(types.int64, 3), types.int64)
    return signature, generate


add_pixels: Any = intrinsic(_add_pixels)
