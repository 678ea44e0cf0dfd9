"""Moments ``integral_0^oo z**n r(z) dz`` of functions that decay exponentially, enclosed rigorously.

The half-line is cut at the breakpoints and at a point beyond which the integral is small: shells beyond are bounded
until they have fallen by 16 times the bits asked for. From there the function is taken to keep falling, as in
``univariate.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache

import sympy as sp
from flint import arb, ctx
from sympy.printing.printer import Printer

from ...activations.piecewise import PiecewiseFunction
from ...core.atoms import Opaque
from ...core.errors import DeclarationError, NoClosedForm, SymresError
from ...core.symbols import z
from ...functions.balls import as_float, compile_ball
from ..quadrature.panels import Function, Weight, integrate, log2_sum, log2_upper, plan_panels, power_of_two
from ..quadrature.univariate import (
    GUARD_BITS,
    LOG2_TINY,
    Segment,
    compile_pieces,
    log2_largest,
    refine,
    rough_log2_size,
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
    """Enclose a moment to a relative accuracy; the tail is evaluated by a formula without cancellation."""
    function, last = compile_pieces(remainder.map(lambda u: z**n * u)), remainder.parts[-1]
    with suppress(NoClosedForm):  # factors oscillate: the formula stays as it is
        last = split_right_tail(last)[1]
    tail = compile_ball(z**n * last, (z,))

    def attempt(size: float | None, precision: int) -> tuple[arb, float]:
        with ctx.workprec(precision):
            flat = Weight(arb.pos_inf(), arb(1))
            segments = list(segments_between(function.breakpoints(), function.parts))
            if segments and segments[0].left is None:
                segments[0] = Segment(segments[0].function, arb(0), segments[0].right)
            if size is None:
                size = max((rough_log2_size(segment, flat) for segment in segments), default=LOG2_TINY)
            return _integral(segments, tail, flat, size - bits - 6, precision), size

    return refine(attempt, bits + GUARD_BITS, bits)


def _integral(segments: list[Segment], tail: Function, flat: Weight, tolerance: float, precision: int) -> arb:
    """The integral over the half-line, to about 2**tolerance."""
    if not segments:
        return arb(0)
    last = [Segment(tail, segments[-1].left, None)] if segments[-1].right is None else []
    end, rest = _truncation_point(last, flat, tolerance, precision)
    panels = []
    for s in segments:
        left, right = s.left, arb(end) if s.right is None else s.right
        panels += plan_panels(s.function, flat, left, right, tolerance - 6, precision // 2 + 8)
    return integrate(panels, flat, precision) + arb(0, power_of_two(rest))


def _truncation_point(segments: list[Segment], flat: Weight, tolerance: float, bits: int) -> tuple[float, float]:
    """Where to end the panels, and log2 of a bound on the integral beyond.

    Raises:
        SymresError: the function does not seem to decay.
    """
    lefts = [2 * float(s.left.upper()) for s in segments if s.left is not None]
    end = max([2.0, *lefts])  # the function may end before
    while end < 1e9:
        bounds: list[float] = []
        inner = end
        while inner < 1e12 and (not bounds or bounds[-1] <= tolerance):
            outer = 1.25 * inner
            bounds.append(log2_largest(segments, flat, inner, outer) + log2_upper(arb(outer - inner)))
            if bounds[-1] < min(tolerance, 0.0) - 16 * bits:
                return end, log2_sum(bounds)
            inner = outer
        end *= 1.25
    raise SymresError("a moment of a remainder", "its tail could not be bounded", "use evalf of the average itself")
