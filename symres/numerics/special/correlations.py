"""Four Gaussian variables and their six correlations, for numbers of any kind."""

from __future__ import annotations

from itertools import combinations
from typing import Any

PAIRS = tuple(combinations(range(4), 2))  # the order of the correlations: 12, 13, 14, 23, 24, 34


def given_pair(r: tuple[Any, ...], place: int) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
    """The other two variables where those of one pair are fixed, for the correlations ``t*r``.

    Args:
        r: the six correlations.
        place: of the fixed pair among them.

    Returns:
        The coefficients of polynomials in t: up to the factor ``1 - (t*r_ij)**2``, the covariance of the two and their
        variances.
    """
    i, j = PAIRS[place]
    k, m = (v for v in range(4) if v not in (i, j))
    fixed = r[place]

    def entry(a: int, b: int) -> Any:
        return r[PAIRS.index((min(a, b), max(a, b)))]

    def variance(a: int) -> tuple[Any, ...]:
        return 1, 0, -(fixed**2) - entry(a, i) ** 2 - entry(a, j) ** 2, 2 * fixed * entry(a, i) * entry(a, j)

    crossed = entry(k, i) * entry(m, j) + entry(k, j) * entry(m, i)
    parallel = entry(k, i) * entry(m, i) + entry(k, j) * entry(m, j)
    covariance = 0, entry(k, m), -parallel, fixed * crossed - entry(k, m) * fixed**2
    return covariance, variance(k), variance(m)
