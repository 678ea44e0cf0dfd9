"""Four Gaussian variables and their six correlations, for numbers of any kind."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from typing import Any, TypeAlias

import sympy as sp
from flint import arb

Number: TypeAlias = arb | sp.Expr | int
Numbers = tuple[Number, ...]

PAIRS = tuple(combinations(range(4), 2))  # the order of the correlations: 12, 13, 14, 23, 24, 34


def entry_of(r: Sequence[Any], a: int, b: int) -> Any:
    """The correlation of two variables, in any order."""
    return r[PAIRS.index((min(a, b), max(a, b)))]


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

    entry = partial(entry_of, r)

    def variance(a: int) -> Numbers:
        return 1, 0, -(fixed**2) - entry(a, i) ** 2 - entry(a, j) ** 2, 2 * fixed * entry(a, i) * entry(a, j)

    crossed = entry(k, i) * entry(m, j) + entry(k, j) * entry(m, i)
    parallel = entry(k, i) * entry(m, i) + entry(k, j) * entry(m, j)
    covariance = 0, entry(k, m), -parallel, fixed * crossed - entry(k, m) * fixed**2
    return covariance, variance(k), variance(m)
