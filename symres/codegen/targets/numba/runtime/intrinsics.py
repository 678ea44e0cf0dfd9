"""What the processor does: products with one rounding, and powers of two."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def _precision(typing: Any, x: Any) -> Any:
    """From 1 to the next number of the type of x."""
    unit = ir.Constant(ir.DoubleType(), 2.0**-23 if x == types.float32 else 2.0**-52)
    return types.float64(x), lambda context, builder, signature, arguments: unit


@intrinsic
def _fma(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """a*b + c with one rounding."""
    kind = types.float64(types.float64, types.float64, types.float64)
    return kind, lambda context, builder, signature, arguments: builder.fma(*arguments)


@intrinsic
def _power_of_two(typing: Any, k: Any) -> Any:
    """2**k for an integer -1022 <= k <= 1023: the sum with 1.5 * 2**52 has k in its last bits."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        double, whole = ir.DoubleType(), ir.IntType(64)
        bits = builder.bitcast(builder.fadd(arguments[0], ir.Constant(double, 6755399441055744.0)), whole)
        bits = builder.shl(builder.add(bits, ir.Constant(whole, 1023)), ir.Constant(whole, 52))
        return builder.bitcast(bits, double)

    return types.float64(types.float64), code
