"""Parameters that only set a scale: with kernels measured in a unit such as beta**-2 they leave the conditions."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp
from flint import arb, ctx

from ...core.errors import SymresError
from ...core.symbols import K, k
from ...functions.balls import enclose

_POWERS = (-2, 2, -1, 1, -4, 4)
_BITS = 140
_AGREED = arb(2) ** -80  # relative
# kernel in units, value of the parameter: no simple ratios, and several of each
_POINTS = tuple(
    (sp.Rational(*kernel), sp.Rational(*p))
    for kernel, p in (((1409, 1013), (2503, 1009)), ((311, 1123), (2503, 1009)), ((4877, 1009), (433, 1021)))
)


@dataclass(frozen=True)
class Unit:
    """A power of a parameter in which kernels are measured, K = k*p**u with a number k; K itself where it is 1.

    Args:
        parameter: p, positive; None if the unit is 1.
        power: u.
    """

    parameter: sp.Symbol | None = None
    power: int = 0

    @property
    def kernel(self) -> sp.Expr:
        """The unit of kernels."""
        return sp.Integer(1) if self.parameter is None else self.parameter**self.power

    @property
    def variable(self) -> sp.Symbol:
        """The kernel in units: k, or K where the unit is 1."""
        return K if self.parameter is None else k

    def removed(self, expression: sp.Expr) -> sp.Expr:
        """The expression where the unit is 1, which has the same sign."""
        return expression if self.parameter is None else expression.subs(self.parameter, 1)

    def measured(self, function: sp.Expr) -> sp.Expr:
        """A function of K where the unit is 1, as a function of the kernel in units."""
        return self.removed(function).xreplace({K: self.variable})

    def split(self, coefficient: sp.Expr, function: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
        """A coefficient and a function of K as a coefficient and a function of k, free of the parameter if possible."""
        weight = self.weight(function)
        if weight is None:
            return coefficient, function.subs(K, self.variable * self.kernel)
        return coefficient * weight, self.measured(function)

    def weight(self, function: sp.Expr) -> sp.Expr | None:
        """``p**w`` with f(k*p**u, p) = p**w f(k, 1), verified at several points; None if there is none."""
        if self.parameter is None:
            return sp.Integer(1)
        if not function.free_symbols <= {K, self.parameter}:
            return None
        try:
            ratios = [self._ratio(function, *place) for place in _POINTS]
        except SymresError:  # no number somewhere
            return None
        exponent = _half_integer(ratios[0], _POINTS[0][1])
        if exponent is None:
            return None
        with ctx.workprec(_BITS):
            expected = [enclose(p**exponent, {}, _BITS) for _, p in _POINTS]
            agreed = all(abs(ratio / power - 1) < _AGREED for ratio, power in zip(ratios, expected, strict=True))
        return self.parameter**exponent if agreed else None

    def _ratio(self, function: sp.Expr, kernel: sp.Rational, p: sp.Rational) -> arb:
        scaled = enclose(kernel * p**self.power, {}, 2 * _BITS)
        here = enclose(function.subs(self.parameter, p), {K: scaled}, _BITS)
        there = enclose(self.removed(function), {K: kernel}, _BITS)
        with ctx.workprec(_BITS):
            return here / there


ONE = Unit()


def unit_of(function: sp.Expr) -> Unit | None:
    """The unit of kernels in a function of K and one more parameter, if the parameter only sets a scale."""
    names = function.free_symbols - {K}
    if len(names) != 1 or not (parameter := names.pop()).is_positive:
        return None
    units = (Unit(parameter, power) for power in _POWERS)
    return next((unit for unit in units if unit.weight(function) is not None), None)


def _half_integer(ratio: arb, p: sp.Rational) -> sp.Rational | None:
    """The multiple of 1/2 that is the exponent of p in a ratio."""
    if not (ratio > 0 and ratio.is_finite()):
        return None
    twice = 2 * float(ratio.log().mid()) / float(sp.log(p))
    return sp.Rational(round(twice), 2) if abs(twice - round(twice)) < 1e-9 else None
