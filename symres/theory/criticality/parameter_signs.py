"""The signs of expressions in parameters: at numbers in their place, or for all that they may be."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, pairwise, product

import mpmath as mp
import sympy as sp

from ...core.errors import SymresError
from ...core.symbols import K, gamma, xi
from ...functions.balls import enclose
from ...functions.ranges import admits, of_size, parameter_grid
from ...functions.roots.bracketing import sign
from ...results.critical_point import STABILITY

_BITS = (60, 240)
_REFERENCE = {gamma: sp.Rational(1, 2), xi: sp.Integer(1)}
# of skip connections (below 1: critical variances scale with 1 - gamma**2) and branches
WEIGHTS = tuple({gamma: sp.Rational(g, 20), xi: sp.Rational(x, 20)} for g, x in ((10, 20), (1, 3), (19, 90)))
_DIGITS = 15
_STEPS = 100  # of the search for zeros
_REAL = 1e-9  # an imaginary part, relative, that is rounding


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


def can_be_positive(expression: sp.Expr) -> bool:
    """Whether an expression is positive at the reference, and at generic parameters if there are others."""
    return generic_sign(expression) > 0


def signs_where(expression: sp.Expr, weight: sp.Expr) -> set[int]:
    """The signs of an expression for admissible values of parameters at which a C_W is positive; 0 if one is open."""
    at_one = expression.subs(K, 1)
    names = sorted((at_one.free_symbols | weight.free_symbols) - {gamma, xi}, key=str)
    settings = WEIGHTS if at_one.has(gamma, xi) else WEIGHTS[:1]
    known = {_known_sign(at_one.xreplace(weights)) for weights in settings}
    if 0 not in known or not names:
        return known
    signs = set[int]()
    for numbers in _places(at_one, names, settings):
        there = at_one.subs(numbers)
        try:
            if not there.has(sp.zoo, sp.nan) and _sign(weight.subs(numbers)) > 0:
                signs.add(_sign(there))
        except SymresError:
            continue
        if len(signs) > 1:
            break
    return signs


def stability_where(curvature: sp.Expr, weight: sp.Expr) -> tuple[str, str]:
    """Stability and side of a critical point K* > 0 from d(chi_parallel)/dK there, the same for all parameters."""
    found = signs_where(curvature, weight)
    return STABILITY[found.pop() if len(found) == 1 else 0]


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
        found = sp.Poly(both, s).nroots(_DIGITS, maxsteps=_STEPS)
    except mp.NoConvergence:
        return []
    zeros = sorted({0.0, *(float(sp.re(x)) for x in found if abs(sp.im(x)) <= _REAL * abs(x))})
    beyond = 1 + max(map(abs, zeros))
    return [sp.Rational((low + high) / 2) for low, high in pairwise([-3 * beyond, *zeros, 3 * beyond])]


def _known_sign(expression: sp.Expr) -> int:
    """The sign of an expression if it is the same for all values of its symbols; 0 if that is not known."""
    if expression.free_symbols:
        factored = sp.factor(expression)
        return 1 if factored.is_positive else -1 if factored.is_negative else 0
    return _sign(expression)


def _sign(number: sp.Expr) -> int:
    return next(filter(None, (sign(enclose(number, {}, bits)) for bits in _BITS)), 0)
