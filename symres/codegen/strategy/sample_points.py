"""Where the errors of generated code are measured: kernels, correlations, values of parameters."""

from __future__ import annotations

import math
from itertools import cycle, product

import sympy as sp

Point = tuple[float, float, float]  # K1, K2, C
Values = dict[sp.Symbol, sp.Rational]  # of parameters
MEASURED = 1e4  # the largest kernel at which errors are measured
NEAR_ZERO = (1e-300, 1e-200, 1e-120, 1e-60, 1e-20)  # where only the lack of a value is found out
PARAMETER = sp.Rational(3, 4)  # the value that free parameters of an activation have while errors are measured
GREAT, SLIGHT = sp.Integer(12), sp.Rational(1, 12)
EXTREMES = ((GREAT, GREAT), (GREAT, SLIGHT), (SLIGHT, GREAT))  # values in turn: steep, or far out, or both
RHO = (0.3, 0.9, 0.999, 1 - 1e-6, 1 - 1e-12, 1e-6)
KERNELS = (
    (1e-8, 1e-8), (1e-8, 1e-4), (1e-4, 1e-4), (1e-2, 3e-2), (0.7, 0.7), (1.0, 30.0), (60.0, 60.0),
    (1e4, 1e4), (1.0, 1e4), (2e-3, 2e-3), (6e-8, 6e-8),
)  # fmt: skip
UNLIKE = 50.0  # covariance of kernels 1 and 1e4: the law of one given the other is wide or narrow
DIAGONAL = (1e-100, 1e-200)  # kernels between which a function with a limit at 0 does not change
TINY = ((1e-8, 1e-8, 1e-18), (1e-8, 1e-8, -1e-22), (1.5e-7, 7.7e-7, -3.4e-15), (0.7, 0.7, 7e-9))  # next to C = 0
ENDS = {  # pairs of points: with one that has no value where code divides by 0, one beside it
    "where the inputs are parallel": tuple(
        ((a, b, c), (a, b, c * (1 - 1e-12)))
        for a, b, c in ((0.7, 0.7, 0.7), (0.7, 0.7, -0.7), (1.0, 4.0, 2.0), (4.0, 1.0, -2.0))
    ),
    "where a kernel is 0": tuple(
        ((a, b, 0.0), (a or 1e-30, b or 1e-30, 0.0)) for a, b in ((0.0, 0.7), (0.7, 0.0), (0.0, 0.0))
    ),
}


def other_values(names: tuple[sp.Symbol, ...]) -> list[Values]:
    """Sets of values of parameters besides PARAMETER: EXTREMES, and 0, where terms cancel, for all that may be 0.

    In the second set, parameters that may be negative are negative and far out.
    """
    sets = [dict(zip(names, cycle(values), strict=False)) for values in EXTREMES if names]
    for values in sets[1:2]:
        values.update({name: -GREAT for name in names if not name.is_nonnegative})
    sets.append({name: PARAMETER if name.is_nonzero else sp.Integer(0) for name in names})
    seen = [dict.fromkeys(names, PARAMETER)]
    return [values for place, values in enumerate(sets) if values not in (*sets[:place], *seen)]


def larger(point: Point) -> float:
    """The larger one of the two kernels."""
    return max(point[:2])


def named(point: Point) -> str:
    """A point as text."""
    k1, k2, c = point
    return f"K1 = {k1:g}, K2 = {k2:g}, C = {c:g}"


def open_pairs() -> list[Point]:
    """Two correlations of either sign for each pair of kernels, the diagonal, and either order of unlike kernels."""
    out = [(k1, k2, sign * UNLIKE) for k1, k2 in ((1.0, 1e4), (1e4, 1.0)) for sign in (1, -1)]
    for i, (k1, k2) in enumerate(KERNELS):
        for j in range(2):
            out.append((k1, k2, (-1) ** (i + j) * RHO[(i + 3 * j) % len(RHO)] * math.sqrt(k1) * math.sqrt(k2)))
        if k1 == k2:
            out.append((k1, k1, (-1) ** i * k1))
    return out


def all_pairs() -> list[Point]:
    """Every correlation of either sign for each pair of kernels."""
    out = []
    for (k1, k2), rho, sign in product(KERNELS, RHO, (1.0, -1.0)):
        out.append((k1, k2, sign * rho * math.sqrt(k1) * math.sqrt(k2)))
    return out
