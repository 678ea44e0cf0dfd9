"""Functions that choose between numbers; what is no number stays none."""

from __future__ import annotations

from math import copysign, fabs, sqrt

from .double_precision import SMALLEST_DEVIATION
from .machine import NAN, inlined, precision


def maximum(a: float, b: float) -> float:
    """The larger of two numbers."""
    larger = b if a < b else a
    return b if b != b else larger


def minimum(a: float, b: float) -> float:
    """The smaller of two numbers."""
    smaller = a if a < b else b
    return a if a != a else smaller


def smaller(a: int, b: int) -> int:
    """The smaller of two whole numbers."""
    return a if a < b else b


def sign(u: float) -> float:
    """-1, 0 or 1."""
    size = 1.0 if u > 0.0 else u
    return -1.0 if u < 0.0 else size


def step(u: float, middle: float) -> float:
    """0 for negative, 1 for positive numbers, ``middle`` at 0."""
    right = 1.0 if u > 0.0 else middle
    return 0.0 if u < 0.0 else right + 0.0 * u


def nonzero(u: float) -> float:
    """A divisor: 1 in the place of 0."""
    return 1.0 if u == 0.0 else u


@inlined
def valid(K: float) -> float:
    """A kernel, no number where it is negative."""
    return NAN if K < 0.0 else K


@inlined
def possible(root1: float, root2: float, C: float, value: float) -> float:
    """A value; none where a covariance exceeds sqrt(K1*K2) by more than 64 ulp, as rounding does not."""
    return value if fabs(C) <= (1.0 + 64.0 * precision(C)) * root1 * root2 else NAN


def clipped(K1: float, K2: float, root1: float, root2: float, C: float) -> float:
    """A covariance, cut off at sqrt(K1*K2); next to it only what its own rounding does not explain."""
    product = ((1.0 + 2.0 * precision(C)) * root1) * root2
    most = K1 if K1 == K2 else product
    size = fabs(C)
    return copysign(most if size > most else size, C)


def positive(u: float) -> float:
    """A number u >= 0, but not so small that its square or the inverse of that would be no float."""
    return maximum(u, SMALLEST_DEVIATION)


def directed(K: float) -> float:
    """A kernel, no number where it is 0 or negative: a normaliser divides by the size of an input."""
    return K if K > 0.0 else NAN


def is_wide(K: float, least: float, largest: float) -> float:
    """1 where powers of a kernel, or their rounding errors, may be no floats; 0 else. Of 0 they are."""
    return (1.0 if K > largest else 0.0) + (1.0 if K > 0.0 else 0.0) * (1.0 if K < least else 0.0)


def rounded(K1: float, K2: float, C: float) -> float:
    """A covariance of narrow floats, cut off where their rounding has brought it above sqrt(K1*K2)."""
    size = sqrt(K1) * sqrt(K2)
    excess = fabs(C) - size
    return copysign(size, C) if excess > 8.881784197001252e-16 * size and excess <= 7.62939453125e-06 * size else C
