"""Four Gaussian variables and their six correlations, for numbers of any kind."""

from __future__ import annotations

from itertools import combinations
from typing import TypeAlias

import sympy as sp
from flint import arb

Number: TypeAlias = arb | sp.Expr | int
Numbers = tuple[Number, ...]

PAIRS = tuple(combinations(range(4), 2))  # the order of the correlations: 12, 13, 14, 23, 24, 34


def conditional_on_pair(r: Numbers, place: int) -> tuple[Numbers, Numbers, Numbers]:
    """Covariance and variances of two variables given the two others, for the correlations ``t*r``.

    Args:
        r: the six correlations.
        place: position in ``PAIRS`` of the two variables that are given.

    Returns:
        The coefficients of polynomials in t, constant term first: the covariance of the two others and their variances,
        all times ``1 - (t*r_ij)**2``.
    """
    i, j = PAIRS[place]
    k, m = (v for v in range(4) if v not in (i, j))
    fixed = r[place]

    def entry(a: int, b: int) -> Number:
        return r[PAIRS.index((min(a, b), max(a, b)))]

    def variance(a: int) -> Numbers:
        return 1, 0, -(fixed**2) - entry(a, i) ** 2 - entry(a, j) ** 2, 2 * fixed * entry(a, i) * entry(a, j)

    crossed = entry(k, i) * entry(m, j) + entry(k, j) * entry(m, i)
    parallel = entry(k, i) * entry(m, i) + entry(k, j) * entry(m, j)
    covariance = 0, entry(k, m), -parallel, fixed * crossed - entry(k, m) * fixed**2
    return covariance, variance(k), variance(m)
