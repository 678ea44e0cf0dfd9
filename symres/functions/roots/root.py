"""A number defined as the root of an equation: known to any number of digits, proved by a change of sign."""

from __future__ import annotations

from functools import cached_property, partial

import mpmath as mp
import sympy as sp
from flint import arb, ctx

from ...core.errors import NoClosedForm
from ...core.scalars import number
from ...core.symbols import kappa
from ...numerics.brent import brent
from ..balls import as_mpf, value_and_radius
from .bracketing import at_kappa, float_values, zeros
from .implicit_number import ImplicitNumber

_SPARE_BITS = 40  # beyond the digits of a simple zero, for what cancels in its equation
_TRIES = 20  # brackets, each four times as wide as the last
_START_BITS = 64  # of the bracket that a new root stores: printing needs no further evaluation


class Root(ImplicitNumber):
    """The root of an equation between two rational points where it has opposite signs.

    Args:
        equation: expression in ``symbols.kappa``.
        low: left end, a positive rational.
        high: right end.
    """

    @classmethod
    def between(cls, equation: sp.Expr, low: sp.Rational, high: sp.Rational) -> Root:
        """The root in a wide bracket, with a tight one stored."""

        def value(k: float) -> float:
            return float(at_kappa(equation, k, 60).mid())

        start = brent(value, float(low), float(high), xtol=1e-14 * float(low), rtol=1e-14)
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
        low, high = map(as_mpf, self.args[1:])
        return low, high

    def _ball(self, arguments: list[arb], bits: int) -> arb:
        with mp.workprec(2 * bits + 2 * _START_BITS):
            left, right = self._tightest
            known = int(-mp.log((right - left) / right, 2))
            if known < bits:
                left, right = self._tightest = _bracket(self.equation, (left + right) / 2, known, bits)
        with ctx.workprec(2 * bits + 2 * _START_BITS):
            return at_kappa(kappa, left, ctx.prec).union(at_kappa(kappa, right, ctx.prec))


def _bracket(equation: sp.Expr, root: mp.mpf, known: int, bits: int) -> tuple[mp.mpf, mp.mpf]:
    """Refine a root of which so many bits are known by secant steps, and enclose it by a proved change of sign.

    First with the precision that a simple zero needs. Where that shows no change of sign, with the one of a double
    zero or of an equation that cancels.
    """
    for spare, tries in ((False, 1), (True, _TRIES)):
        refined = _refined(equation, root, known, bits, spare)
        radius = refined * mp.mpf(2) ** -bits
        for _ in range(tries):
            ends = refined - radius, refined + radius
            left, right = (at_kappa(equation, end, 2 * bits + 20 if spare else bits + _SPARE_BITS) for end in ends)
            if left * right < 0:
                return ends
            radius *= 4
    raise NoClosedForm(f"the root of {equation}", "no change of sign was found", "report a defect of symres")


def _refined(equation: sp.Expr, root: mp.mpf, known: int, bits: int, spare: bool) -> mp.mpf:
    """A root to some more than so many bits, if the precision is enough."""
    while known < bits + 4:
        # a secant over half of the known bits has nearly half as many more
        step = root * mp.mpf(2) ** -(known // 2)
        gained = min(3 * known // 2, bits + 8)
        precision = 2 * known + 40 if spare else gained + _SPARE_BITS
        here, there = (at_kappa(equation, place, precision) for place in (root, root + step))
        with ctx.workprec(4 * known + 80):
            shift = (here / (there - here)).mid()
            if not shift.is_finite():
                break
        root -= value_and_radius(shift)[0] * step
        known = gained - 4
    return root


def scanned_roots(function: sp.Expr, variable: sp.Symbol) -> tuple[list[Root], str]:
    """The zeros of a function of a positive variable that a scan finds, and where it could not look."""
    if not function.has(variable):
        return [], ""
    equation = function.xreplace({variable: kappa})
    try:
        slope = kappa * equation.diff(kappa)
    except NoClosedForm:  # two zeros in one cell of the grid would be missed, nothing else
        slope = sp.nan
    value, rise = (partial(at_kappa, expression) for expression in (equation, slope))
    found = zeros(value, rise, float_values(equation))
    return [Root.between(equation, *ends) for ends in found.crossings], found.unseen
