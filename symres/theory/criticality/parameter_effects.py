"""What parameters do to expressions: the signs that they give them, and which only set a scale.

Signs are taken at numbers in their place, or for all that they may be. With kernels measured in a unit such as beta**-2
parameters that only set a scale leave the critical conditions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import cycle, pairwise, product

import mpmath as mp
import sympy as sp
from flint import arb, ctx

from ...core.errors import SymresError
from ...core.symbols import K, gamma, k, xi
from ...functions.balls import enclose
from ...functions.ranges import admits, of_size, parameter_grid
from ...functions.roots.bracketing import sign

_BITS = (60, 240)
_REFERENCE = {gamma: sp.Rational(1, 2), xi: sp.Integer(1)}
# of skip connections (below 1: critical variances scale with 1 - gamma**2) and branches
WEIGHTS = tuple({gamma: sp.Rational(g, 20), xi: sp.Rational(x, 20)} for g, x in ((10, 20), (1, 3), (19, 90)))
_DIGITS = 15
_STEPS = 100  # of the search for zeros
_REAL = 1e-9  # an imaginary part, relative, that is rounding
_POWERS = (-2, 2, -1, 1, -4, 4)
_UNIT_BITS = 140
_AGREED = arb(2) ** -80  # relative
# kernel in units, value of the parameter: no simple ratios, and several of each
_COMPARED_AT = tuple(
    (sp.Rational(*kernel), sp.Rational(*p))
    for kernel, p in (((1409, 1013), (2503, 1009)), ((311, 1123), (2503, 1009)), ((4877, 1009), (433, 1021)))
)


def at_reference(expression: sp.Expr) -> sp.Expr:
    """An expression with a skip connection of weight 1/2, and with a branch of weight 1."""
    return expression.xreplace(_REFERENCE)


def at_generic(expression: sp.Expr) -> sp.Expr:
    """An expression at the reference, and with numbers of no special meaning for other parameters."""
    reduced = at_reference(expression)
    names = sorted(reduced.free_symbols, key=str)
    return reduced.subs({s: of_size(s, sp.Rational(7 + k, 10)) for k, s in enumerate(names)})


def sign_at_reference(expression: sp.Expr) -> int:
    """The sign at a reference skip connection (critical variances scale with 1 - gamma**2); 0 if it is not known."""
    return _known_sign(at_reference(expression))


def generic_sign(expression: sp.Expr) -> int:
    """The sign at the reference, other parameters being what they are in general."""
    return sign_at_reference(expression) or sign_at_reference(at_generic(expression))


def signs_where(expression: sp.Expr, weight: sp.Expr) -> set[int]:
    """The signs of an expression for admissible values of parameters at which a C_W is positive; 0 if one is open."""
    at_one = expression.subs(K, 1)
    names = sorted((at_one.free_symbols | weight.free_symbols) - {gamma, xi}, key=str)
    settings = WEIGHTS if at_one.has(gamma, xi) else WEIGHTS[:1]
    for_all = {_known_sign(at_one.xreplace(weights)) for weights in settings}
    if 0 not in for_all or not names:
        return for_all
    signs = set[int]()
    for numbers in _places(at_one, names, settings):
        there = at_one.subs(numbers)
        try:
            if not there.has(sp.zoo, sp.nan) and sign_at(weight.subs(numbers), {}) > 0:
                signs.add(sign_at(there, {}))
        except SymresError:
            continue
        if len(signs) > 1:
            break
    return signs


def _places(
    expression: sp.Expr, names: list[sp.Symbol], settings: tuple[dict[sp.Symbol, sp.Rational], ...]
) -> Iterator[dict[sp.Symbol, sp.Rational]]:
    """Numbers for all parameters: over many decades, and between the zeros of a rational function of one of them."""
    for weights, numbers in zip(cycle(settings), parameter_grid(names)):
        yield {**weights, **numbers}
    for s in names:
        for weights, numbers in product(settings, parameter_grid([other for other in names if other != s])):
            at = {**weights, **numbers}
            yield from ({**at, s: value} for value in _between_zeros(expression.subs(at), s) if admits(s, value))


def _between_zeros(function: sp.Expr, s: sp.Symbol) -> list[sp.Rational]:
    """One value in each interval in which a rational function of s has one sign and s has one; none of others."""
    both = sp.Mul(*sp.fraction(sp.together(function)))  # has the sign of their quotient
    if not both.is_polynomial(s) or both.atoms(sp.Function) or sp.degree(both, s) < 1:
        return []
    try:
        roots = sp.Poly(both, s).nroots(_DIGITS, maxsteps=_STEPS)
    except mp.NoConvergence:
        return []
    zeros = sorted({0.0, *(float(sp.re(x)) for x in roots if abs(sp.im(x)) <= _REAL * abs(x))})
    beyond = 1 + max(map(abs, zeros))
    return [sp.Rational((low + high) / 2) for low, high in pairwise([-3 * beyond, *zeros, 3 * beyond])]


def _known_sign(expression: sp.Expr) -> int:
    """The sign of an expression if it is the same for all values of its symbols; 0 if that is not known."""
    if expression.free_symbols:
        factored = sp.factor(expression)
        return 1 if factored.is_positive else -1 if factored.is_negative else 0
    return sign_at(expression, {})


def sign_at(expression: sp.Expr, values: Mapping[sp.Symbol, sp.Expr]) -> int:
    """The sign of an expression at numbers for all of its symbols; 0 if balls do not tell it."""
    return next(filter(None, (sign(enclose(expression, values, bits)) for bits in _BITS)), 0)


@dataclass(frozen=True)
class Unit:
    """A power of a parameter in which kernels are measured, K = k*p**u with a number k; K itself where it is 1."""

    parameter: sp.Symbol | None = None  # p, positive, or not 0 and u even; None if the unit is 1
    power: int = 0  # u

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
        """``|p|**w`` with f(k*p**u, p) = |p|**w f(k, 1), verified at several points; None if there is none."""
        if self.parameter is None:
            return sp.Integer(1)
        if not function.free_symbols <= {K, self.parameter}:
            return None
        signs = (1, 1, 1) if self.parameter.is_positive else (1, -1, -1)
        places = [(kernel, s * p) for s, (kernel, p) in zip(signs, _COMPARED_AT, strict=True)]
        try:
            ratios = [self._ratio(function, *place) for place in places]
        except SymresError:  # no number somewhere
            return None
        exponent = _half_integer(ratios[0], places[0][1])
        if exponent is None:
            return None
        with ctx.workprec(_UNIT_BITS):
            expected = [enclose(abs(p) ** exponent, {}, _UNIT_BITS) for _, p in places]
            agreed = all(abs(ratio / power - 1) < _AGREED for ratio, power in zip(ratios, expected, strict=True))
        return sp.Abs(self.parameter) ** exponent if agreed else None

    def _ratio(self, function: sp.Expr, kernel: sp.Rational, p: sp.Rational) -> arb:
        """``f(k*p**u, p)/f(k, 1)`` at numbers."""
        scaled = enclose(kernel * p**self.power, {}, 2 * _UNIT_BITS)
        here = enclose(function.subs(self.parameter, p), {K: scaled}, _UNIT_BITS)
        there = enclose(self.removed(function), {K: kernel}, _UNIT_BITS)
        with ctx.workprec(_UNIT_BITS):
            return here / there


ONE = Unit()


def unit_of(function: sp.Expr) -> Unit | None:
    """The unit of kernels in a function of K and one more parameter, if the parameter only sets a scale."""
    names = function.free_symbols - {K}
    if len(names) != 1:
        return None
    (parameter,) = names
    units = (Unit(parameter, power) for power in _POWERS if is_unit(parameter, power))
    return next((unit for unit in units if unit.weight(function) is not None), None)


def is_unit(parameter: sp.Symbol, power: int) -> bool:
    """Whether a power of a parameter is positive, so that kernels can be measured in it."""
    return bool(parameter.is_positive or (parameter.is_real and parameter.is_nonzero and power % 2 == 0))


def _half_integer(ratio: arb, p: sp.Rational) -> sp.Rational | None:
    """The multiple of 1/2 that is the exponent of p in a ratio."""
    if not (ratio > 0 and ratio.is_finite()):
        return None
    twice = 2 * float(ratio.log().mid()) / float(sp.log(p))
    return sp.Rational(round(twice), 2) if abs(twice - round(twice)) < 1e-9 else None
