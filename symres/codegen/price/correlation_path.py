"""The way along which averages of two inputs are integrated: from independent or parallel inputs to their covariance.

An angle tau counts the correlation from that of parallel inputs: cos(tau) = abs(c)/sqrt(K1 K2). In p = tan(tau/2) the
law of both inputs is rational in all but its exponential, keeps its digits where the inputs are nearly parallel, and
has no singularity there: p is 1 for independent inputs and 0 for parallel ones.
"""

from __future__ import annotations

import sympy as sp

from ...core.symbols import K1, K2, C
from ..stable.primitives import AbsNode, GeneratedSymbol, Orientation, Positive, determinant
from .fixed_sum import node as p

roots = GeneratedSymbol("root1", positive=True), GeneratedSymbol("root2", positive=True)
side = GeneratedSymbol("side", real=True)  # 1, or -1 for C < 0: then the second input counts with the other sign
end = GeneratedSymbol("end", positive=True)  # p of the inputs themselves
largest = roots[0] * roots[1]  # the covariance of parallel inputs
# In an order in which code can compute them. Where a kernel vanishes, its root does not: ``end`` is 1 there, as what
# vanishes counts as independent.
DEFINITIONS = {
    roots[0]: Positive(sp.sqrt(K1)),
    roots[1]: Positive(sp.sqrt(K2)),
    side: Orientation(C),
    end: Positive((sp.sqrt(determinant) + (largest - sp.sqrt(K1) * sp.sqrt(K2))) / (largest + AbsNode(C))),
}
correlation = side * (1 - p**2) / (1 + p**2)
sine = 2 * p / (1 + p**2)  # the root of 1 - correlation**2
covariance_slope = 4 * largest * p / (1 + p**2) ** 2  # of side*c, towards independent inputs, for one of p
density_slope = 1 / (sp.pi * (1 + p**2))  # the same times the density of both inputs but for its exponential


def covariance_beyond(place: sp.Expr) -> sp.Expr:
    """C - c for the covariance c at a place, without rounding the difference."""
    return 2 * side * largest * (place - end) * (place + end) / ((1 + place**2) * (1 + end**2))


covariance_left = covariance_beyond(p)
