"""A number defined as the root of an equation: known to any number of digits, proved by a change of sign."""

from __future__ import annotations

from functools import cached_property

import mpmath as mp
import sympy as sp
from flint import arb, ctx

from ...core.errors import NoClosedForm
from ...core.scalars import number
from ...core.symbols import kappa
from ..balls import enclose
from .implicit_number import ImplicitNumber

_START_BITS = 64  # of the bracket that a new root stores: printing needs no further evaluation


class Root(ImplicitNumber):
    """The root of an equation between two rational points where it has opposite signs.

    Args:
        equation: expression in ``symbols.kappa``.
        low: left end, a positive rational.
        high: right end.
    """

    def __new__(cls, equation: sp.Expr, low: sp.Rational, high: sp.Rational) -> Root:
        """The root between two points where the equation has opposite signs."""
        return super().__new__(cls, equation, low, high)

    @classmethod
    def between(cls, equation: sp.Expr, low: sp.Rational, high: sp.Rational) -> Root:
        """The root in a wide bracket, with a tight one stored."""

        from scipy.optimize import brentq  # here, because it takes longer to import than the rest of symres

        def value(k: float) -> float:
            return float(enclose(equation, {kappa: k}, 60).mid())

        start = brentq(value, float(low), float(high), xtol=1e-14 * float(low), rtol=1e-14)
        with mp.workprec(2 * _START_BITS):
            left, right = _bracket(equation, mp.mpf(start), 40, _START_BITS)
        return cls(equation, number(left, "K*"), number(right, "K*"))

    @property
    def equation(self) -> sp.Expr:
        """The expression in ``symbols.kappa`` that vanishes at the root."""
        return self.args[0]

    @cached_property
    def _tightest(self) -> tuple[mp.mpf, mp.mpf]:
        """The ends of the narrowest bracket that was ever asked for."""
        low, high = (mp.mpf(int(end.p)) / int(end.q) for end in self.args[1:])
        return low, high

    def _ball(self, arguments: list[arb], bits: int) -> arb:
        with mp.workprec(2 * bits + 2 * _START_BITS):
            left, right = self._tightest
            known = int(-mp.log((right - left) / right, 2))
            if known < bits:
                left, right = self._tightest = _bracket(self.equation, (left + right) / 2, known, bits)
        with ctx.workprec(2 * bits + 2 * _START_BITS):
            return enclose(kappa, {kappa: left}, ctx.prec).union(enclose(kappa, {kappa: right}, ctx.prec))


def _bracket(equation: sp.Expr, root: mp.mpf, known: int, bits: int) -> tuple[mp.mpf, mp.mpf]:
    """Refine a root of which so many bits are known by secant steps, and enclose it by a proved change of sign."""

    def value(k: mp.mpf, precision: int) -> arb:
        return enclose(equation, {kappa: k}, precision)

    while known < bits + 4:
        # a secant over half of the known bits has nearly twice as many
        step = root * mp.mpf(2) ** -(known // 2)
        here, there = value(root, 2 * known + 40), value(root + step, 2 * known + 40)
        with ctx.workprec(4 * known + 80):
            shift = (here / (there - here)).mid()
            mantissa, exponent = shift.man_exp()
        root -= mp.ldexp(mp.mpf(int(mantissa)), int(exponent)) * step
        known = 3 * known // 2 - 4
    radius = root * mp.mpf(2) ** -bits
    for _ in range(20):
        ends = root - radius, root + radius
        left, right = (value(end, 2 * bits + 20) for end in ends)
        if left * right < 0:
            return ends
        radius *= 4
    raise NoClosedForm(f"the root of {equation}", "no change of sign was found", "report a defect of symres")
