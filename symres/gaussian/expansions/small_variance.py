"""The exact small-variance series of an average, from the series of the function on both sides of zero.

``<f>_K ~ sum_p K**(p/2) E|x|**p (r_p + l_p)/2`` with ``r_p``, ``l_p`` the coefficients of ``t**p`` in ``f(t)`` and
``f(-t)``, t > 0, and ``E|x|**p = 2**(p/2) Gamma((p+1)/2)/sqrt(pi)``. The powers p are integers, or fractions where f
has roots of what vanishes at 0. Breakpoints elsewhere add less than any power of K. The series is asymptotic: it
converges only for entire functions of small growth.
"""

from __future__ import annotations

import sympy as sp

from ...activations.piecewise import PiecewiseFunction
from ...activations.symmetries import even_part
from ...core.symbols import z
from ...functions.ranges import vanishes
from ..closed_form.absolute_moments import absolute_moment
from ..quadrature.univariate import sides_of_zero
from .puiseux import multiplied_out, no_series, puiseux_series


def small_variance(factor: PiecewiseFunction, order: int) -> tuple[tuple[sp.Rational, sp.Expr], ...]:
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
