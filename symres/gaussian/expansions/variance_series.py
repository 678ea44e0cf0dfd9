"""The expansions of an average in its variance, for small and for large ones.

At small variances, from the series of the function on both sides of zero,

    <f>_K ~ sum_p K**(p/2) E|x|**p (r_p + l_p)/2,    E|x|**p = 2**(p/2) Gamma((p+1)/2)/sqrt(pi),

with ``r_p``, ``l_p`` the coefficients of ``t**p`` in ``f(t)`` and ``f(-t)``, t > 0. The powers p are integers, or
fractions where f has roots of what vanishes at 0. Breakpoints elsewhere add less than any power of K. The series is
asymptotic: it converges only for entire functions of small growth.

At large variances, from the polynomials that the function approaches on both sides: with f = p + r, p a polynomial on
each side of 0 and r exponentially small far out,

    <f>_K = <p>_K + (2 pi K)**(-1/2) sum_m (-1)**m/(m! (2K)**m) integral z**(2m) r(z) dz,

because the Gaussian is flat where r is not small. The series is asymptotic. Where r falls like a power of 1/z, it holds
as far as the moments of r exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import sympy as sp

from ...activations.piecewise import PiecewiseFunction
from ...activations.symmetries import even_part, is_odd
from ...core.errors import DeclarationError, NoClosedForm
from ...core.symbols import z
from ...functions.function_record import written_out
from ...functions.ranges import vanishes
from ..closed_form.absolute_moments import absolute_moment
from .exact_tail_moments import algebraic_moment, algebraic_right, exact_moment
from .puiseux import multiplied_out, no_series, puiseux_series
from .tail_decomposition import split_right_tail
from .tail_moments import TailMoment

Term = tuple[sp.Rational, sp.Expr]


def small_variance(factor: PiecewiseFunction, order: int) -> tuple[Term, ...]:
    """The asymptotic series of ``<f>_K`` for K -> 0.

    Args:
        factor: the function f; it may contain parameters.
        order: the highest power of K wanted.

    Returns:
        (exponent of K, exact coefficient) for every term that does not vanish, in increasing order.

    Raises:
        NoClosedForm: f has no series of powers of z, at least 0, on one side of zero.
    """
    left, right = sides_of_zero(even_part(factor))
    one, other = (puiseux_series(half, 2 * order) for half in (right, left.xreplace({z: -z})))
    terms = []
    for power, value in sorted((one + other).terms.items()):
        if power < 0:
            raise no_series(right)
        coefficient = multiplied_out(value, sp.expand(absolute_moment(power)) / 2)
        if not vanishes(coefficient):
            terms.append((power / 2, coefficient))
    return tuple(terms)


def large_variance(factor: PiecewiseFunction, order: sp.Expr | int) -> tuple[Term, ...]:
    """The asymptotic expansion of ``<f>_K`` for K -> oo.

    Args:
        factor: the function f; it may contain parameters.
        order: terms down to ``K**-order`` are wanted; at most ``log_free_order(factor)``.

    Returns:
        (exponent of K, coefficient) for every term that does not vanish, in decreasing order. Coefficients are exact,
        but for unevaluated moments of the remainder where these do not close.

    Raises:
        NoClosedForm: f is not polynomial far out, up to what decays; or terms so far down have logarithms.
    """
    if is_odd((factor,)):
        return ()
    if order > log_free_order(factor):
        found = f"its function has algebraic tails, and logarithms below K**{-log_free_order(factor)}"
        raise NoClosedForm("a large-variance expansion", found, "use evalf instead")
    factor = even_part(factor.map(written_out))
    halves = [_half(factor), _half(factor.mirrored())]
    terms: dict[sp.Rational, sp.Expr] = {}
    for polynomial, _ in halves:
        for (n,), value in sp.Poly(polynomial, z).terms():
            exponent = sp.Rational(n, 2)
            terms[exponent] = terms.get(exponent, 0) + value * absolute_moment(n) / 2
    for m in range(int(order + sp.Rational(1, 2))):
        moment = _moment([remainder for _, remainder in halves], 2 * m)
        front = sp.Rational((-1) ** m, 2**m) / (sp.factorial(m) * sp.sqrt(2 * sp.pi))
        exponent = -sp.Rational(2 * m + 1, 2)
        terms[exponent] = sp.expand(front * moment)
    return tuple((e, c) for e, c in sorted(terms.items(), reverse=True) if c != 0)


@lru_cache(maxsize=256)
def log_free_order(factor: PiecewiseFunction) -> sp.Expr:
    """The power of 1/K down to which the series has no logarithms; infinite where the remainder decays exponentially.

    Raises:
        NoClosedForm: f is not polynomial far out, up to what decays.
    """
    if is_odd((factor,)):
        return sp.oo
    factor = even_part(factor)
    return min((_split_right(side.parts[-1])[2] - 1) / sp.Integer(2) for side in (factor, factor.mirrored()))


def _split_right(part: sp.Expr) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
    """The polynomial far out, the remainder, and the power of 1/z with which the remainder decays."""
    try:
        return *split_right_tail(part), sp.oo
    except NoClosedForm:
        algebraic = algebraic_right(part)
        if algebraic is None:
            raise
        return algebraic


def _half(factor: PiecewiseFunction) -> tuple[sp.Expr, PiecewiseFunction]:
    """The polynomial on the right, and the function minus this polynomial from 0 on."""
    polynomial, remainder, _ = _split_right(factor.parts[-1])
    places = [k for k, b in enumerate(factor.breaks) if b.is_positive]
    first = places[0] if places else len(factor.breaks)
    parts = [sp.expand(part - polynomial) for part in factor.parts[first:-1]]
    parts.append(factor.parts[-1] - polynomial if remainder != 0 else remainder)
    return polynomial, PiecewiseFunction(factor.breaks[first:], tuple(parts))


def _moment(halves: Sequence[PiecewiseFunction], n: int) -> sp.Expr:
    """The sum of the moments of both halves, exact where they close and their values of zeta cancel."""
    if any(_split_right(remainder.parts[-1])[2] != sp.oo for remainder in halves):
        exact_sums = [algebraic_moment(remainder, n) for remainder in halves]
        if None in exact_sums:
            raise NoClosedForm("a large-variance expansion", "a moment has no closed form", "use evalf instead")
        return sp.expand(sp.Add(*exact_sums))
    exact_moments = [exact_moment(remainder, n) for remainder in halves]
    unevaluated = [TailMoment(n, remainder.breaks, remainder.parts) for remainder in halves]
    values = [o if c is None else c for c, o in zip(exact_moments, unevaluated, strict=True)]
    if sp.expand(sp.Add(*values)).has(sp.zeta):
        values = [o if c is None or c.has(sp.zeta) else c for c, o in zip(exact_moments, unevaluated, strict=True)]
    return sp.expand(sp.Add(*values))


def sides_of_zero(factor: PiecewiseFunction) -> tuple[sp.Expr, sp.Expr]:
    """The formulas that hold just left and just right of zero.

    Raises:
        NoClosedForm: a breakpoint moves with parameters, and its sign is not known.
    """
    try:
        return factor.sides_of_zero
    except DeclarationError:
        found = f"the signs of the breakpoints {', '.join(map(str, factor.breaks))} are unknown"
        raise NoClosedForm("a small-variance series", found, "declare their parameters' signs") from None
