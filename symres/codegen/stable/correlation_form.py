"""Pair kernels where a kernel vanishes: quotients like C/sqrt(K1) in terms of the correlation, which has no 0/0.

With K1 = s1**2, K2 = s2**2, C = s1*s2*correlation and determinant = (s1*s2*complement)**2 the negative powers of s1 and
s2 cancel in exact arithmetic wherever a limit exists. What remains is finite at vanishing kernels, where the code
takes the correlation to be 0. Of exponentials of sums the digits that rounding of the exponent costs are restored.
"""

from __future__ import annotations

import sympy as sp

from ...core.symbols import K1, K2, C
from ...functions import companions as co
from . import primitives as pr
from .positive_terms import positive
from .primitives import complement, correlation, determinant
from .rewrites import bottom_up, factor_and_exponent

TRIPLE = (K1, C, K2)
_FIRST, _SECOND = sp.Dummy("s1", positive=True), sp.Dummy("s2", positive=True)


def in_determinant_form(code: sp.Expr) -> sp.Expr:
    """Code of a pair kernel with the determinant in sight, and without quotients that are 0/0 at vanishing kernels."""
    return restored(divided(cornered(determined(separated(code)))))


def separated(code: sp.Expr) -> sp.Expr:
    """Roots of what vanishes for parallel inputs like sqrt(K1*K2) - C, with that as a factor of its own."""

    def rule(e: sp.Expr) -> sp.Expr:
        if not (isinstance(e, sp.Pow) and abs(e.exp) == sp.Rational(1, 2) and e.base.is_Add and e.has(C)):
            return e
        if not e.base.has(sp.sqrt(K1)) or not e.base.has(sp.sqrt(K2)):
            return e
        written = e.base.xreplace({K1: _FIRST**2, K2: _SECOND**2})
        if not written.is_polynomial(_FIRST, _SECOND, C):
            return e
        rest, remainder = sp.div(sp.expand(written), _FIRST * _SECOND - C, C)
        if remainder != 0:
            return e
        rest = sp.factor_terms(rest).xreplace({_FIRST: sp.sqrt(K1), _SECOND: sp.sqrt(K2)})
        return pr.Separation(K1, K2, C) ** e.exp * sp.Max(rest, 0, evaluate=False) ** e.exp

    return bottom_up(code, rule)


def determined(code: sp.Expr) -> sp.Expr:
    """K1*K2 - C**2 as the symbol ``determinant`` wherever it stands in a sum, alone or beside positive terms."""

    def rule(e: sp.Expr) -> sp.Expr:
        if not isinstance(e, sp.Add) or not e.is_rational_function(*TRIPLE) or not e.has(C):
            return e
        determined_sum = positive(e, TRIPLE)
        return determined_sum if determined_sum.has(determinant) else e

    return bottom_up(code, rule)


def cornered(code: sp.Expr) -> sp.Expr:
    """The same in terms of the correlation, if the code divides by what vanishes with a kernel and need not."""
    divisors = [p.base for p in code.atoms(sp.Pow) if p.exp.is_negative]
    if all(d.subs({k: 0, C: 0, determinant: 0}) != 0 for d in divisors for k in (K1, K2)):
        return code
    point = {K1: _FIRST**2, K2: _SECOND**2, C: correlation * _FIRST * _SECOND}
    point[determinant] = (complement * _FIRST * _SECOND) ** 2
    placed = bottom_up(code, lambda e: _factored(point.get(e, e)))  # which takes powers of products apart
    regular = bottom_up(placed, _factored)
    if any(p.exp.is_negative and p.base in (_FIRST, _SECOND) for p in regular.atoms(sp.Pow)):
        return code
    return regular.xreplace({_FIRST: sp.sqrt(K1), _SECOND: sp.sqrt(K2)})


def divided(code: sp.Expr) -> sp.Expr:
    """The same, where it divides by what is 0 for parallel inputs a numerator that vanishes faster: 0/1 there."""

    def rule(e: sp.Expr) -> sp.Expr:
        if not isinstance(e, sp.Mul):
            return e
        poles = [p for p in e.args if isinstance(p, sp.Pow) and p.exp.is_negative and p.base.has(determinant)]
        poles = [p for p in poles if _removable(p.base, e / p)]
        return e.xreplace({p: pr.NonzeroDivisor(p.base) ** p.exp for p in poles})

    return bottom_up(code, rule)


def _removable(base: sp.Expr, numerator: sp.Expr) -> bool:
    """Whether what stands beside a divisor vanishes wherever that does: for equal inputs, or for parallel ones."""
    parallel = base.subs(determinant, 0)
    if _undone(parallel).subs({K2: K1, C: K1}) != 0:
        return False
    places = [{}] if parallel == 0 else [{p: 0} for p in parallel.free_symbols if parallel.subs(p, 0) == 0]
    lines = [
        {**place, K1: _FIRST**2, K2: _SECOND**2, C: sign * _FIRST * _SECOND} for place in places for sign in (1, -1)
    ]
    points = lines if parallel == 0 else [{K2: K1, C: K1}, *lines]
    return all(sp.expand(_undone(numerator).subs({determinant: 0}).subs(p)) == 0 for p in points)


def _undone(code: sp.Expr) -> sp.Expr:
    """Distances written out."""
    return code.replace(pr.Distance, lambda first, second, both: first + second - 2 * both)


def _factored(e: sp.Expr) -> sp.Expr:
    """A sum with the powers of the deviations that all terms share in front; an angle without those of both sides."""
    if isinstance(e, pr.Atan2):
        y, x = e.args
        shared = _shared(y, x)
        return pr.Atan2(y / shared, x / shared)
    if isinstance(e, sp.Add):
        shared = _shared(*e.args)
        if shared != 1:
            return shared * sp.Add(*(term / shared for term in e.args))
    return e


def _shared(*terms: sp.Expr) -> sp.Expr:
    """The product of powers of the deviations that divides all terms and leaves one of them without each."""
    out = sp.Integer(1)
    for s in (_FIRST, _SECOND):
        out *= s ** min(term.as_powers_dict().get(s, sp.Integer(0)) for term in terms)
    return out


def restored(code: sp.Expr) -> sp.Expr:
    """Code of a pair kernel whose exponentials of K1, K2 and C have all digits."""

    def rule(e: sp.Expr) -> sp.Expr:
        if not isinstance(e, co.ExpSinh | co.ExpCosh | co.ExpCoshm1):
            return e
        parts = sp.Add.make_args(sp.expand(e.args[0]))
        sides = [{*part.free_symbols} & {K1, K2} for part in parts]
        return pr.Restored(e, *parts, e.args[1]) if sides in ([{K1}, {K2}], [{K2}, {K1}]) else e

    return bottom_up(bottom_up(code, _cosh), rule)


def _cosh(e: sp.Expr) -> sp.Expr:
    """q*exp(s + d) + q*exp(s - d) -> 2*q*exp(s)*cosh(d)."""
    if not isinstance(e, sp.Add):
        return e
    exponents: dict[sp.Expr, list[sp.Expr]] = {}
    for term in e.args:
        q, u = factor_and_exponent(term)
        if u.has(C):
            exponents.setdefault(q, []).append(u)
    for q, pair in exponents.items():
        if len(pair) == 2:
            u, v = sorted(pair, key=sp.default_sort_key)
            total, difference = sp.expand((u + v) / 2), sp.expand((u - v) / 2)
            if not total.has(C):
                e += 2 * q * co.ExpCosh(total, difference) - q * sp.exp(u) - q * sp.exp(v)
    return e
