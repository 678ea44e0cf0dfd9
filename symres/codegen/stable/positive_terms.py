"""Rational functions of kernels without cancellation: as sums of positive terms, or of constants over factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sympy as sp

from ...core.symbols import C
from .primitives import AbsNode, Distance, determinant
from .rounding_error import doubt

Triple = tuple[sp.Symbol, sp.Symbol, sp.Symbol]
ROOTS = (sp.Dummy("s1", positive=True), C, sp.Dummy("s2", positive=True))  # K1 = s1**2 and K2 = s2**2
Terms = dict[tuple[int, int, int, int, sp.Expr], sp.Expr]  # powers of K1, K2, C, D, what has no kernel -> number


def positive(expr: sp.Expr, triple: Triple) -> sp.Expr:
    """A rational function with each polynomial factor rewritten, where possible, as a sum of positive terms.

    K1*K2 - C**2 is the symbol ``determinant`` in the result, also beside parameters. Odd powers of C have no sign and
    are left alone. In roots of kernels everything is.
    """
    if not expr.has(*triple):
        return sp.factor(expr) if expr.free_symbols else expr  # (1 - a)**2 keeps its digits next to a = 1
    if triple == ROOTS:
        return sp.factor(expr)
    out = sp.Integer(1)
    for factor in sp.Mul.make_args(sp.factor(expr)):
        base, exponent = factor.as_base_exp()
        if base.is_Add and exponent.is_Integer and base.is_polynomial(*triple):
            factor = _positive_sum(base, triple) ** exponent
        out *= factor
    return out


def _positive_sum(expr: sp.Expr, triple: Triple) -> sp.Expr:
    """A polynomial, or its negative, as the sum that has the fewest terms of unknown sign."""
    best, least = expr, _cost(_terms(expr, triple))
    for sign in (1, -1):
        terms = _paired(_terms(sign * expr, triple))
        if _cost(terms) < least:
            least = _cost(terms)
            total = _distances(terms, triple)
            best = total if sign == 1 else sp.Mul(-1, total, evaluate=False)
    return best


def _terms(polynomial: sp.Expr, triple: Triple) -> Terms:
    K1, C, K2 = triple
    return {
        (*powers, 0, p): number
        for powers, c in sp.Poly(polynomial, K1, K2, C).terms()
        for p, number in sp.expand(c).as_coefficients_dict().items()
    }


def _distances(terms: Terms, triple: Triple) -> sp.Expr:
    """The sum of terms; c*(K1 + K2 - 2*C) with c > 0 is a distance, which vanishes without cancellation."""
    K1, C, K2 = triple
    terms, total = dict(terms), sp.Integer(0)
    for i, j, k, d, p in sorted(((i - 1, *rest) for i, *rest in terms if i > 0), key=str):
        corners = (i + 1, j, k, d, p), (i, j + 1, k, d, p), (i, j, k + 1, d, p)
        first, second, cross = (terms.get(corner, sp.Integer(0)) for corner in corners)
        if first == second == -cross / 2 and first.is_positive:
            total += first * p * K1**i * K2**j * C**k * determinant**d * Distance(K1, K2, C)
            terms = {key: c for key, c in terms.items() if key not in corners}
    return total + sp.Add(*(c * p * K1**i * K2**j * C**k * determinant**d for (i, j, k, d, p), c in terms.items()))


def _cost(terms: Terms) -> tuple[int, int]:
    """How many terms may be negative, but for odd powers of C, and how many there are."""
    even = [c * p for (_, _, k, _, p), c in terms.items() if k % 2 == 0]
    return sum(1 for c in even if not c.is_nonnegative), len(terms)


def _paired(terms: Terms) -> Terms:
    """Pair c*K1**i*K2**j*C**k with -c*K1**(i+m)*K2**(j+m)*C**(k-2m), first for c < 0: their sum has a factor D."""
    terms = dict(terms)
    for key in sorted(terms, key=lambda key: (bool(terms[key] > 0), key[:4], str(key[4]))):
        i, j, k, d, p = key
        for m in range(1, k // 2 + 1) if k % 2 == 0 else ():
            partner = (i + m, j + m, k - 2 * m, d, p)
            here, there = terms[key], terms.get(partner, sp.Integer(0))
            if here * there >= 0:
                continue
            amount = sp.sign(there) * min(abs(here), abs(there))
            terms[key] += amount
            terms[partner] -= amount
            for q in range(m):  # (K1*K2)**m - C**(2m) = D*sum_q (K1*K2)**(m-1-q)*C**(2q)
                new = (i + m - 1 - q, j + m - 1 - q, k - 2 * m + 2 * q, d + 1, p)
                terms[new] = terms.get(new, sp.Integer(0)) + amount
    return {k: c for k, c in terms.items() if c != 0}


def simple_fractions(R: sp.Expr, symbols: Sequence[sp.Symbol]) -> list[tuple[sp.Expr, sp.Expr]] | None:
    """Constants and factors with R = sum of constant/factor; None if there are none.

    Args:
        R: a rational function.
        symbols: its variables; other symbols count as constants.
    """
    over, under = sp.fraction(sp.cancel(R))
    unit, powers = sp.factor_list(under, *symbols)
    if len(powers) < 2 or any(power > 1 for _, power in powers):
        return None
    factors = [factor for factor, _ in powers]
    constants = sp.symbols(f"constant:{len(factors)}", cls=sp.Dummy)
    product = sp.Mul(*factors)
    total = sp.Add(*(c * sp.cancel(unit * product / f) for c, f in zip(constants, factors, strict=True)))
    solutions = sp.solve(sp.Poly(sp.expand(total - over), *symbols).coeffs(), constants, dict=True)
    if len(solutions) != 1 or set(solutions[0]) != set(constants):
        return None
    return [(solutions[0][c], f) for c, f in zip(constants, factors, strict=True) if solutions[0][c] != 0]


def steadier(one: sp.Expr, other: sp.Expr, points: Sequence[Mapping[sp.Symbol, float]]) -> sp.Expr:
    """The one of two equal expressions whose rounding error is bounded better where it is largest, of some points."""

    def largest(expr: sp.Expr) -> float:
        share = (doubt(expr) / expr).replace(AbsNode, sp.Abs)
        return max((abs(float(share.subs(point))) for point in points), default=0.0)

    return min(one, other, key=largest)
