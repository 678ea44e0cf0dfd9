"""Averages of signs of shifted variables, spelled so that their tails keep their digits.

Where all but the tail of a product of steps is cut off, ``1 + erf(h) + erf(k) + S2(h, k, r)`` cancels; it is 4*Q2 of
the thresholds, a sum of positive parts. The densities beside it have ``exp(-N/(2*D))`` with a quadratic form N, whose
terms cancel for nearly parallel inputs; as a sum of squares it does not.
"""

from __future__ import annotations

from itertools import product

import sympy as sp
from sympy.utilities.iterables import sift

from ...core.symbols import K1, K2, C
from ...functions.companions import Erfc
from ...functions.records.gaussian_signs import Q2, S2
from .primitives import CrossDifference

KERNELS = (K1, K2, C)
SIDES = tuple(product((1, -1), repeat=3))  # which tails are taken: of the two variables, of one given the other


def tailed(expr: sp.Expr) -> sp.Expr:
    """A formula with tails in the place of averages of signs, from the sides that leave the fewest terms."""
    signs = expr.atoms(S2)
    if not signs:
        return expr
    expr = expr.replace(sp.erfc, lambda u: 1 - sp.erf(u))  # 2 - erfc(u) and the like become one function below
    candidates = [expr]
    for first, second, beside in SIDES:
        tails = expr.xreplace({node: _in_tails(node, first, second) for node in signs})
        sides = {e: beside * _orientation(e.args[0]) for e in tails.atoms(sp.erf)}  # as parameters move them
        tails = tails.xreplace({e: side * (Erfc(-side * e.args[0]) - 1) for e, side in sides.items()})
        candidates.append(_collected(tails))
    return min(candidates, key=lambda e: len(sp.Add.make_args(sp.expand_mul(e))))


def _in_tails(node: S2, first: int, second: int) -> sp.Expr:
    """An average of two signs by the probability that both variables are on the given sides, as means move them."""
    h, k, r = node.args
    first, second = first * _orientation(h), second * _orientation(k)
    both = first * second
    tail = Q2(-first * h, -second * k, both * r)
    return both * (4 * tail - 1 - first * sp.erf(h / sp.sqrt(2)) - second * sp.erf(k / sp.sqrt(2)))


def _orientation(shift: sp.Expr) -> int:
    """-1 for a shift that falls as a parameter grows: sympy writes S2(a - 6, k, r) as -S2(6 - a, k, -r)."""
    parameters = sorted(shift.free_symbols - {K1, K2, C}, key=str)
    over, _ = sp.fraction(sp.together(shift))  # what is below it is a root
    return -1 if any(sp.expand(over.diff(p)).is_negative for p in parameters) else 1


def _collected(expr: sp.Expr) -> sp.Expr:
    """Multiplied out, with one factor before each tail and each exponential."""
    groups: dict[sp.Expr, sp.Expr] = {}
    for term in sp.Add.make_args(sp.expand_mul(expr)):
        head, factor = map(sp.Mul.fromiter, sift(sp.Mul.make_args(term), lambda f: isinstance(f, Q2 | sp.exp), True))
        groups[head] = groups.get(head, sp.Integer(0)) + factor
    return sp.Add(*(head * sp.factor(factor) for head, factor in groups.items()))


def squared(e: sp.Expr) -> sp.Expr:
    """exp(-N/(2*D)) with N = v2*a**2 - 2*C*a*b + v1*b**2, D = v1*v2 - C**2 as that of a sum of two squares.

    Here v1 = K1 + s1 and v2 = K2 + s2; the sum is a**2/v1 + (v1*b - C*a)**2/(v1*D).
    """
    if not isinstance(e, sp.exp) or not e.has(C):
        return e
    over, under = sp.fraction(sp.together(e.args[0]))
    if not (under.is_polynomial(*KERNELS) and over.is_polynomial(*KERNELS)):
        return e
    D = sp.Poly(under, *KERNELS)
    unit = -D.coeff_monomial(C**2)
    if unit == 0:
        return e
    v1, v2 = K1 + D.coeff_monomial(K2) / unit, K2 + D.coeff_monomial(K1) / unit
    N = sp.Poly(sp.expand(-2 * over / unit), *KERNELS)
    a = sp.sqrt(sp.factor(N.coeff_monomial(K2))).replace(sp.Abs, lambda u: u)  # its sign is that of b too
    if a == 0:
        return e
    b = sp.cancel(-N.coeff_monomial(C) / (2 * a))
    determinant, form = v1 * v2 - C**2, v2 * a**2 - 2 * C * a * b + v1 * b**2
    if sp.expand(under - unit * determinant) != 0 or sp.expand(N.as_expr() - form) != 0:
        return e
    return sp.exp(-(a**2) / (2 * v1) - CrossDifference(v1, b, C, a) ** 2 / (2 * v1 * determinant))


def crossed(e: sp.Expr) -> sp.Expr:
    """erf((v1*b - C*a)/q) with the difference as one function: for parallel inputs q is 0, and its sign decides."""
    if not isinstance(e, sp.erf | sp.erfc | Erfc) or not e.has(C):
        return e
    over, under = sp.fraction(sp.together(e.args[0]))
    unit, difference = sp.factor_terms(over).as_independent(*KERNELS, as_Add=False)
    if not (difference.is_Add and difference.is_polynomial(*KERNELS)):
        return e
    polynomial = sp.Poly(difference, *KERNELS)
    a, single = polynomial.coeff_monomial(C), [v for v in (K1, K2) if polynomial.coeff_monomial(v) != 0]
    if a == 0 or len(single) != 1:
        return e
    b, offset = polynomial.coeff_monomial(single[0]), polynomial.coeff_monomial(1)
    v = single[0] + sp.cancel(offset / b)
    if v.free_symbols != {single[0]} or sp.expand(difference - v * b - C * a) != 0:
        return e
    u = unit * CrossDifference(v, b, C, -a) / under
    return sp.erf(u) if isinstance(e, sp.erf) else Erfc(u)  # sympy's erfc(-u) would become 2 - erfc(u)
