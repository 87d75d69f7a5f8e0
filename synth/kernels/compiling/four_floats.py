"""A pixel's channels as one vector of four floats, which LLVM does not find by itself."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_FOUR = ir.VectorType(ir.FloatType(), 4)
_FLOATS = types.Array(types.float32, 1, "C")


def _add_pixels(typing_context, rows, weights, sums, places, count):
    """Store the weighted sum of `count` pixels of three float32 that follow each other.

    `places` (three int64) say where they begin in `rows`, their weights in `weights`, and where the
    sum comes in `sums`, arrays that are flat and of float32. Pixels are added in their order, from
    0, by fused multiplications. A fourth value is read behind each pixel and written behind the
    sum: `rows` and `sums` need one more at their ends, and sums are stored in the order of their
    places.
    """
    arrays = rows, weights, sums
    if any(array != _FLOATS for array in arrays):
        return None

    def generate(context, builder, signature, arguments):
        def data(array):
            return context.make_array(_FLOATS)(context, builder, array).data

        def four(pointer, number):
            return builder.bitcast(builder.gep(pointer, [number]), _FOUR.as_pointer())

        rows, weights, sums, places, count = arguments
        place, first, at = (builder.extract_value(places, i) for i in range(3))
        pixels, factors = data(rows), data(weights)
        step = ir.Constant(place.type, 3)
        fma = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_FOUR, [_FOUR] * 3), "llvm.fma.v4f32"
        )
        total = cgutils.alloca_once_value(builder, ir.Constant(_FOUR, None))
        with cgutils.for_range(builder, count) as turn:
            weight = builder.load(builder.gep(factors, [builder.add(first, turn.index)]))
            alone = builder.insert_element(
                ir.Constant(_FOUR, ir.Undefined), weight, ir.Constant(ir.IntType(32), 0)
            )
            lanes = ir.Constant(ir.VectorType(ir.IntType(32), 4), [0] * 4)
            alike = builder.shuffle_vector(alone, alone, lanes)
            pixel = builder.load(
                four(pixels, builder.add(place, builder.mul(turn.index, step))), align=4
            )
            builder.store(builder.call(fma, [alike, pixel, builder.load(total)]), total)
        builder.store(builder.load(total), four(data(sums), at), align=4)
        return context.get_dummy_value()

    signature = types.none(rows, weights, sums, types.UniTuple(types.int64, 3), types.int64)
    return signature, generate


add_pixels: Any = intrinsic(_add_pixels)
