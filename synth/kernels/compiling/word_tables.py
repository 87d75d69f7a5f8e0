"""Tables with a number for each word of 16 bits, looked up a word at a time out of memory.

To LLVM a look-up is a part of the arithmetic around it: it loads places as a vector and takes that
apart again, which costs a CPU a third more than loading four places as one number.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .compile import row_kernel
from .rows_in_ir import are_rows, opened

_AT_ONCE, _PER_LOAD = 8, 4
_I32, _I64 = ir.IntType(32), ir.IntType(64)
_WORD = 16


def _look_up(typing_context, places, table, made):
    """Fill a row (N) of int16 by uint16 places (N) in a table, as far as there are whole 8 of them.

    Returns how many were filled.
    """
    if not are_rows((types.uint16, types.int16, types.int16), places, table, made):
        return None
    return types.int64(places, table, made), _generate


look_up_eights: Any = intrinsic(_look_up)


def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    (places, table, made), count = opened(context, builder, signature, arguments)
    blocks = builder.sdiv(count, _I64(_AT_ONCE))
    eight = ir.VectorType(ir.IntType(_WORD), _AT_ONCE)
    with cgutils.for_range(builder, blocks, intp=_I64) as block:
        first = builder.mul(block.index, _I64(_AT_ONCE))
        source = builder.bitcast(builder.gep(places, [first]), _I64.as_pointer())
        found = ir.Constant(eight, ir.Undefined)
        for i in range(_AT_ONCE):
            part, number = divmod(i, _PER_LOAD)
            if number == 0:
                four = builder.load(builder.gep(source, [_I64(part)]), align=2)
            place = builder.and_(builder.lshr(four, _I64(_WORD * number)), _I64((1 << _WORD) - 1))
            found = builder.insert_element(
                found, builder.load(builder.gep(table, [place])), _I32(i)
            )
        into = builder.bitcast(builder.gep(made, [first]), eight.as_pointer())
        builder.store(found, into, align=2)
    return builder.mul(blocks, _I64(_AT_ONCE))


@row_kernel
def look_up(places, table, made):
    """Fill a row (N) of int16 with the numbers of a table (int16) at uint16 places (N)."""
    for x in range(look_up_eights(places, table, made), made.shape[0]):
        made[x] = table[places[x]]
