"""The term of a sum over powers as a polynomial, where a language cannot compute the term itself.

The term is the covariance of a neuron with its own past at correlation r, ``c(r)`` with c(0) = 0. Of a smooth
activation c is analytic beyond -1 <= r <= 1, and ``c(r)/r`` is a short Chebyshev series.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import sympy as sp
from scipy.fft import dct

from ...core.errors import NoClosedForm
from ...numerics.balls import evaluate

_COUNTS = (26, 78, 234)  # Chebyshev points, none of which is 0; those of each are among the next
_DIGITS = 17
_SMALL = 1e-15  # of the last coefficients, relative to the largest
_LAST = 4  # coefficients that have to be small


@lru_cache(maxsize=64)
def series_of(term: sp.Expr, r: sp.Symbol) -> tuple[float, ...]:
    """Chebyshev coefficients of ``term/r`` on -1 <= r <= 1.

    Args:
        term: an expression in r alone.
        r: the correlation.

    Raises:
        NoClosedForm: they do not fall off: the activation is not smooth.
    """
    known: dict[sp.Rational, float] = {}

    def value(place: float) -> float:
        exact = sp.Rational(repr(round(float(place), 15)))
        if exact not in known:
            known[exact] = float(evaluate(term.xreplace({r: exact}), {}, _DIGITS)[0] / float(exact))
        return known[exact]

    for count in _COUNTS:
        angles = np.pi * (2 * np.arange(count) + 1) / (2 * count)
        found = dct([value(x) for x in np.cos(angles)], norm="forward") * np.append(1.0, np.full(count - 1, 2.0))
        sizes = np.abs(found)
        if sizes[-_LAST:].max() <= _SMALL * sizes.max():
            kept = np.flatnonzero(sizes > _SMALL / _LAST * sizes.max())[-1] + 1
            return tuple(map(float, found[:kept]))
    raise NoClosedForm(
        "a series of the covariance of neurons at two times",
        f"{_COUNTS[-1]} terms are not enough",
        "use evalf at the weights that you need, or export to LaTeX",
    )
