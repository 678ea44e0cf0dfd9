"""Averages over two variables, one of them in closed form: piecewise polynomials of z2 given z1.

Given z1, the other variable is normal with mean m and deviation s. The average of a piecewise polynomial g is that of
the polynomial which holds at m, plus a correction for each breakpoint: the average of what g has there instead of
that polynomial, c_k (z - b)**k on the far side of b. The corrections are tails of the normal law, of order s**k far
from a breakpoint; ``has_closed_average`` tells for which functions the sum is of that order too, so that nothing
cancels. One quadrature over z1 remains.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import mpmath as mp
import sympy as sp

from ...core.symbols import z
from ...functions.companions import Expm1
from ..emission.emitter import Dialect, Emitter, Source, defined, literal, rows, variable
from .features import vanishes
from .integrands import PiecewiseIntegrand

DEGREE = 36  # of the polynomial from which the tails of a law are made, before negligible terms are left out
SMOOTH, FARTHEST = 5, 40  # it is one in 1/(SMOOTH + t), for t up to FARTHEST


def is_polynomial(factor: PiecewiseIntegrand) -> bool:
    """Whether a function is a polynomial on each of its pieces."""
    return all(p.is_polynomial(z) for p in factor.parts)


def has_closed_average(factor: PiecewiseIntegrand) -> bool:
    """Whether averages of a function over one variable can be taken in closed form without cancellation.

    Beside a wide law the closed form adds terms of the degree of each piece, and the result grows with the outer
    pieces: an inner piece of a degree above theirs by two or more cancels. 0 counts as degree -1.
    """
    if not is_polynomial(factor):
        return False
    degrees = [-1 if part == 0 else sp.degree(part, z) for part in factor.parts]
    return max(degrees) - max(degrees[0], degrees[-1]) <= 1


def means(factor: PiecewiseIntegrand, square: sp.Symbol) -> list[list[sp.Expr]]:
    """The averages of each polynomial around a mean z, for a normal law of variance ``square``.

    Several spellings of each, in powers of the distance from one point: they cancel at other zeros of the polynomial.
    """
    return [
        [_spread(part, centre, square) for centre in centres]
        for part, centres in zip(factor.parts, centres_of(factor), strict=True)
    ]


def _spread(part: sp.Expr, centre: sp.Expr, square: sp.Symbol) -> sp.Expr:
    """The average of a polynomial in powers of z - centre."""
    shift = sp.Dummy("shift")
    if not part.is_polynomial(z):
        return _spread_terms(part, square)
    term, total, n = sp.expand(part.subs(z, centre + shift)), sp.Integer(0), 0
    while term != 0:
        total += term * (square / 2) ** n / sp.factorial(n)
        term, n = sp.expand(term.diff(shift, 2)), n + 1
    return sp.expand(total).subs(shift, z - centre)


def _spread_terms(part: sp.Expr, square: sp.Symbol) -> sp.Expr:
    """The average of a sum of a polynomial and exponentials of linear functions.

    With E = exp(c*z + c**2*square/2) - 1, the average of exp(n*c*z) is (1 + E)**n*exp(n*(n - 1)/2*c**2*square). A sum P
    of such terms is P(1 + E), in powers of E, and what the spread adds to each: (exp(c*z) - 1)**2 is a sum of squares.
    """
    polynomial, heights = sp.Integer(0), dict[sp.Expr, sp.Expr]()
    for term in sp.Add.make_args(sp.expand(part)):
        if term.is_polynomial(z):
            polynomial += term
        else:
            height, exponential = term.as_independent(z, as_Add=False)
            rate = exponential.args[0].diff(z)
            shift = sp.expand(exponential.args[0] - rate * z)
            heights[rate] = heights.get(rate, sp.Integer(0)) + height * sp.exp(shift)
    constant = polynomial.subs(z, 0)
    if constant == 0:
        grown = sp.Add(*(h * sp.exp(c * z + c**2 * square / 2) for c, h in heights.items()))
        return _spread(polynomial, sp.Integer(0), square) + grown
    total = sp.Integer(0)
    for rate, powers in _families(heights).items():
        exponent, excess = rate * z + rate**2 * square / 2, sp.Dummy("excess")
        total += sp.expand(sp.Add(*(h * (1 + excess) ** n for n, h in powers.items()))).subs(excess, Expm1(exponent))
        for n, h in powers.items():
            more = sp.Rational(n * (n - 1), 2) * rate**2 * square
            total -= h * sp.exp(sp.expand(n * exponent + more)) * Expm1(-more) if n > 1 else 0
    return _spread(polynomial, sp.Integer(0), square) + total


def _families(heights: dict[sp.Expr, sp.Expr]) -> dict[sp.Expr, dict[int, sp.Expr]]:
    """Rates of exponentials, each with the multiples of it that occur, and their factors."""
    families: dict[sp.Expr, dict[int, sp.Expr]] = {}
    for rate in sorted(heights, key=lambda c: (abs(c) if c.is_number else sp.oo, sp.default_sort_key(c))):
        for base in families:
            n = sp.cancel(rate / base)
            if n.is_Integer and n.is_positive:
                families[base][int(n)] = heights[rate]
                break
        else:
            families[rate] = {1: heights[rate]}
    return families


def centres_of(factor: PiecewiseIntegrand) -> list[list[sp.Expr]]:
    """Where multiple zeros of each polynomial may lie: the ends of its piece, and 0 between them, in order."""
    edges = (-sp.oo, *factor.breaks, sp.oo)
    out = []
    for part, left, right in zip(factor.parts, edges[:-1], edges[1:], strict=True):
        inside = [sp.Integer(0)] if left.is_extended_negative and right.is_extended_positive else []
        found = [b for b in (left, *inside, right) if b.is_finite is not False]
        several = part.is_polynomial(z) and sp.degree(part, z) > 1 and found
        out.append(found if several else [sp.Integer(0)])
    return out


def jump_coefficients(factor: PiecewiseIntegrand, order: int = 0) -> list[list[sp.Expr]]:
    """The Taylor coefficients, at each breakpoint, of the difference of the functions on its two sides.

    Args:
        factor: the function.
        order: up to which, where they are no polynomials.
    """
    out = []
    for before, after, b in zip(factor.parts, factor.parts[1:], factor.breaks, strict=False):
        if order:
            slopes = [sp.expand(after - before)]
            for _ in range(order):
                slopes.append(slopes[-1].diff(z))
            out.append([sp.expand(u.subs(z, b)) / sp.factorial(k) for k, u in enumerate(slopes)])
            continue
        difference = sp.Poly(sp.expand((after - before).subs(z, z + b)), z)
        out.append(difference.all_coeffs()[::-1])
    return out


def closed_average_code(
    factor: PiecewiseIntegrand, name: str, parameters: Sequence[sp.Symbol], dialect: Dialect, order: int = 0
) -> Source:
    """The code of the average of a piecewise polynomial: its line is what stands for it in calls of ``_averaged``.

    Args:
        factor: the function.
        name: prefix of the functions in the code.
        parameters: their last arguments.
        dialect: of an array library.
        order: of Taylor's series where it is no piecewise polynomial.
    """
    square = sp.Dummy("square")
    names = {z: "z", square: "square", **{p: variable(p) for p in parameters}}
    listed = ", ".join(variable(p) for p in parameters)
    groups: tuple[list[str], list[str]] = ([], [])
    preamble = []
    for spellings, centres in zip(means(factor, square), centres_of(factor), strict=True):
        groups[0].append(f"{name}_mean_{len(groups[0]) + 1}")
        lines = _nearest(spellings, centres, Emitter(dialect, names), dialect.library)
        preamble.append(defined(f"{groups[0][-1]}(z, square{', ' * bool(listed)}{listed})", lines))
    degree = 0
    for coefficients in jump_coefficients(factor, order):
        groups[1].append(f"{name}_jump_{len(groups[1]) + 1}")
        degree = max(degree, len(coefficients) - 1)
        *lines, last = Emitter(dialect, names).function([(f"c{i}", e) for i, e in enumerate(coefficients)])
        values = ", ".join(f"c{i}" for i in range(len(coefficients)))
        lines = [*lines, last, f"return {values},"]
        if not parameters:
            lines = [f"return {', '.join(repr(literal(e)) for e in coefficients)},"]
        preamble.append(defined(f"{groups[1][-1]}({listed})", lines))
    called = "".join("(" + "".join(f"{text}, " for text in texts).strip() + "), " for texts in groups)
    if degree < 1 or (degree == 1 and not vanishes(factor)):
        return Source((f"({called}{degree}, ())",), (), tuple(preamble))
    table = f"_TAILS_{degree}"
    return Source((f"({called}{degree}, {table})",), ((table, rows([tail_ratio(degree)])[0]),), tuple(preamble))


def _nearest(spellings: Sequence[sp.Expr], centres: Sequence[sp.Expr], emitter: Emitter, library: str) -> list[str]:
    """Lines that return the spelling in powers of the distance from the nearest of the centres."""
    if len(spellings) == 1:
        return emitter.function([("return", spellings[0])])
    results = [(f"near{i}", e) for i, e in enumerate(spellings)]
    results += [(f"middle{i}", (a + b) / 2) for i, (a, b) in enumerate(pairwise(centres))]
    value = f"near{len(spellings) - 1}"
    for i in reversed(range(len(spellings) - 1)):
        value = f"{library}.where(z < middle{i}, near{i}, {value})"
    return [*emitter.function(results), f"return {value}"]


@cache
def tail_ratio(degree: int) -> list[float]:
    """Chebyshev coefficients of (SMOOTH + t)*T_k/T_(k-1), T_k the average of (y - t)**k over y > t, on 0 .. FARTHEST.

    The variable is linear in 1/(SMOOTH + t).
    """
    with mp.workdps(60 + 2 * degree):
        lowest = mp.mpf(SMOOTH) / (SMOOTH + FARTHEST)
        angles = [mp.pi * (k + mp.mpf(1) / 2) / DEGREE for k in range(DEGREE)]
        values = []
        for angle in angles:
            t = SMOOTH / (lowest + (1 - lowest) * (mp.cos(angle) + 1) / 2) - SMOOTH
            before, tail = mp.npdf(t), mp.erfc(t / mp.sqrt(2)) / 2
            for k in range(1, degree + 1):
                before, tail = tail, max(k - 1, 1) * before - t * tail
            values.append(tail / before * (SMOOTH + t))
        pairs = list(zip(values, angles, strict=True))
        out = [2 * mp.fsum(v * mp.cos(j * a) for v, a in pairs) / DEGREE for j in range(DEGREE)]
        out[0] /= 2
        while abs(out[-1]) < 1e-17 * out[0]:
            out.pop()
        return [float(c) for c in out]
