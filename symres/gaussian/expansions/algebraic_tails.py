"""Functions that approach a polynomial like a power of 1/z: softsign, atan, z/sqrt(1 + z**2).

With f = p + r and r ~ c z**-j on the right, the moments of r exist up to that of z**(j - 2): so far the large-variance
expansion is that of ``large_variance.py``. The next term, of order K**(-j/2), may have a logarithm.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import mpmath as mp
import sympy as sp

from ...activations.piecewise import PiecewiseFunction
from ...core.symbols import z

_SERIES_ORDER = 12  # powers of 1/z among which the first of the remainder is sought
_FAR_POINTS = (10**5, 10**6)  # places where the fall of a remainder is looked at
_TOLERANCE = mp.mpf(10) ** -20  # relative deviation of a moment from its value in numbers
_INVERSE = sp.Dummy("t", positive=True)


@lru_cache(maxsize=256)
def algebraic_right(part: sp.Expr) -> tuple[sp.Expr, sp.Expr, int] | None:
    """The polynomial that a formula approaches for z -> oo, the remainder, and the power of 1/z with which it falls.

    None for formulas other than numbers, roots, quotients and arcs of z, and for those that approach no polynomial.
    """
    if part.free_symbols != {z} or not part.replace(sp.atan, lambda u: u).is_algebraic_expr(z):
        return None
    try:
        series = sp.series(part.subs(z, 1 / _INVERSE), _INVERSE, 0, _SERIES_ORDER).removeO()
    except (NotImplementedError, ValueError, sp.PoleError):
        return None
    terms = sp.expand(series).as_independent(_INVERSE, as_Add=True)
    polynomial, first = terms[0], sp.oo
    for term in sp.Add.make_args(terms[1]):
        coefficient, power = term.as_coeff_exponent(_INVERSE)
        if coefficient.has(_INVERSE) or not power.is_Integer:
            return None
        if power < 0:
            polynomial += coefficient * z**-power
        elif coefficient != 0:
            first = min(first, power)
    if first is sp.oo or not _decays_like_power(part - polynomial, int(first)):
        return None
    return polynomial, part - polynomial, int(first)


def _decays_like_power(remainder: sp.Expr, power: int) -> bool:
    """Whether z**power times a remainder has a limit other than 0, in numbers: the series is sympy's."""
    with mp.workdps(80):
        function = sp.lambdify(z, remainder, "mpmath")
        early, late = (abs(mp.mpf(n) ** power * function(mp.mpf(n))) for n in _FAR_POINTS)
        return bool(late > 0 and abs(early / late - 1) < mp.mpf(10) ** -3)


def algebraic_moment(remainder: PiecewiseFunction, n: int) -> sp.Expr | None:
    """``integral_0^oo z**n r(z) dz`` in closed form, compared with its value in numbers; None if there is none."""
    ends = (sp.Integer(0), *remainder.breaks, sp.oo)
    pieces = [
        (sp.factor(sp.cancel(z**n * part)), low, high)
        for (low, high), part in zip(pairwise(ends), remainder.parts, strict=True)
    ]
    total = sp.Add(*(sp.integrate(integrand, (z, low, high)) for integrand, low, high in pieces))
    if total.has(sp.Integral) or not (total.is_number and total.is_finite):
        return None
    with mp.workdps(30):
        measured = mp.mpf(0)
        for integrand, low, high in pieces:
            start = _number(low)
            inside = [start + 1, start + 10] if high is sp.oo else []  # where quadrature divides its range
            measured += mp.quad(sp.lambdify(z, integrand, "mpmath"), [start, *inside, _number(high)])
        close = abs(measured - _number(total)) <= _TOLERANCE * abs(measured)
    return total if close else None


def _number(value: sp.Expr) -> mp.mpf:
    return mp.inf if value is sp.oo else mp.mpmathify(sp.N(value, 30))
