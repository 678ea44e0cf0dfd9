"""Four Gaussian variables and their six correlations, for numbers of any kind."""

from __future__ import annotations

from itertools import combinations
from typing import Any

PAIRS = tuple(combinations(range(4), 2))  # the order of the correlations: 12, 13, 14, 23, 24, 34


def given_pair(r: tuple[Any, ...], place: int) -> tuple[Any, Any]:
    """The other two variables where those of one pair are fixed: covariance, and product of variances.

    Both up to a power of ``1 - r[place]**2``; the first over the root of the second is their correlation.

    Args:
        r: the six correlations.
        place: of the fixed pair among them.
    """
    i, j = PAIRS[place]
    k, m = (v for v in range(4) if v not in (i, j))
    fixed = r[place]
    rest = 1 - fixed**2

    def entry(a: int, b: int) -> Any:
        return r[PAIRS.index((min(a, b), max(a, b)))]

    def conditioned(a: int, b: int) -> Any:
        bare = rest if a == b else entry(a, b) * rest
        cross = entry(a, i) * entry(b, j) + entry(a, j) * entry(b, i)
        return bare - entry(a, i) * entry(b, i) - entry(a, j) * entry(b, j) + fixed * cross

    return conditioned(k, m), conditioned(k, k) * conditioned(m, m)
