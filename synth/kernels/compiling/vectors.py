"""A CPU's vectors where LLVM does not find them by itself.

The channels of four pixels are one vector of floats: they lie below each other, as four rows are
summed at once, whose samples are interleaved.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

ROWS = 4
_ACROSS = 4 * ROWS  # a fourth channel is nobody's
_VECTOR = ir.VectorType(ir.FloatType(), _ACROSS)
_FLOATS = types.Array(types.float32, 1, "C")


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
