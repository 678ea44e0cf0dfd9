"""Moments ``integral_0^oo z**n r(z) dz`` of functions that decay exponentially, enclosed rigorously.

They are integrals as those of averages, see ``quadrature/univariate.py``, with a weight of 1 in the place of the
Gaussian: of infinite variance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache

import sympy as sp
from flint import arb, ctx
from sympy.printing.printer import Printer

from ...activations.piecewise import PiecewiseFunction
from ...core.atoms import Opaque
from ...core.errors import DeclarationError, NoClosedForm
from ...core.symbols import z
from ...functions.balls import as_float, compile_ball
from ..quadrature.panels import Function, Weight
from ..quadrature.univariate import (
    GUARD_BITS,
    LOG2_TINY,
    CompiledPieces,
    Segment,
    compile_pieces,
    refine,
    rough_log2_size,
    rule,
    segments_between,
)
from .tail_decomposition import split_right_tail


class TailMoment(Opaque, sp.Expr):
    """``integral_0^oo z**n r(z) dz``, a number or a function of parameters.

    Args:
        n: the power.
        breaks: positive breakpoints of r, as a Tuple.
        parts: formulas in z between 0, the breakpoints and infinity, as a Tuple; the last decays exponentially.
    """

    is_commutative = True
    is_extended_real = True
    is_real = True
    _ball_arguments = ()

    def __new__(cls, n: sp.Expr | int, breaks: Iterable[sp.Expr], parts: Iterable[sp.Expr]) -> TailMoment:
        """The moment, unevaluated."""
        return super().__new__(cls, sp.Integer(n), sp.Tuple(*breaks), sp.Tuple(*parts))

    @property
    def remainder(self) -> PiecewiseFunction:
        """The function r on the right of 0."""
        return PiecewiseFunction(tuple(self.args[1]), tuple(self.args[2]))

    @property
    def free_symbols(self) -> set[sp.Symbol]:
        """The parameters."""
        return self.remainder.free_symbols

    def _ball(self, arguments: list[arb], bits: int) -> arb:
        for symbol in sorted(self.free_symbols, key=str):
            found = f"the parameter {symbol} has no value"
            raise DeclarationError(f"a number for {self}", found, f"pass {symbol}=... as a number")
        return _enclosed(self.remainder, int(self.args[0]), bits)

    def _eval_evalf(self, prec: int) -> sp.Expr | None:
        return as_float(self, prec)

    def _eval_derivative(self, s: sp.Symbol) -> sp.Expr:
        if s in self.free_symbols:
            return sp.Derivative(self, s)
        return sp.Integer(0)

    def _sympystr(self, printer: Printer) -> str:
        return f"Integral({printer._print(z ** self.args[0] * self.remainder.as_expr())}, (z, 0, oo))"

    def _latex(self, printer: Printer) -> str:
        power = "" if self.args[0] == 0 else printer._print(z ** self.args[0])
        return rf"\int_0^\infty {power} \left({printer._print(self.remainder.as_expr())}\right) dz"


# --------------------------------------------------------------------------------------------------------- numbers
@lru_cache(maxsize=1024)
def _enclosed(remainder: PiecewiseFunction, n: int, bits: int) -> arb:
    """A moment to a relative accuracy in bits: an average without a Gaussian, over the half-line."""
    function, last = compile_pieces(remainder.map(lambda u: z**n * u)), remainder.parts[-1]
    with suppress(NoClosedForm):  # factors oscillate: the formula stays as it is
        last = split_right_tail(last)[1]
    tail = compile_ball(z**n * last, (z,))
    flat = Weight(arb.pos_inf(), arb(1))

    def attempt(size: float | None, precision: int) -> tuple[arb, float]:
        with ctx.workprec(precision):
            segments = list(_segments(function, tail))
            if size is None:
                size = max((rough_log2_size(segment, flat) for segment in segments), default=LOG2_TINY)
            return rule(segments, flat, size, bits)(flat.variance), size

    return refine(attempt, bits + GUARD_BITS, bits)


def _segments(function: CompiledPieces, tail: Function) -> Iterator[Segment]:
    """The smooth pieces from 0 on; far out the last one is the formula without cancellation."""
    for segment in segments_between(function.breakpoints(), function.parts):
        left = arb(0) if segment.left is None else segment.left
        if segment.right is None:
            far = arb.max(arb(2), 2 * left.upper())
            yield Segment(segment.function, left, far)
            yield Segment(tail, far, None)
        else:
            yield replace(segment, left=left)
