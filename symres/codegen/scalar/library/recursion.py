"""What the recursion through layers needs besides their maps."""

from __future__ import annotations

from math import fabs, sqrt

from .double_precision import NEAR, ROUNDING, SMALLEST_FACTOR


def counted(K: float) -> float:
    """A kernel as networks see it: too small a one counts as 0."""
    return 0.0 if fabs(K) < SMALLEST_FACTOR else K


def is_near(size: float, C: float, D: float) -> float:
    """1 for nearly parallel inputs, whose covariance tells less of their angle than the determinant does; 0 else.

    Args:
        size: sqrt(K1*K2).
        C: the covariance.
        D: the determinant K1*K2 - C**2; equal inputs have 0, and are not meant.
    """
    return 1.0 if C > 0.0 and D > 0.0 and D < NEAR * size * (size + C) else 0.0


def next_determinant(root1: float, root2: float, C: float, same: float) -> float:
    """K1*K2 - C**2 from the roots of kernels; 0 of equal inputs."""
    size = root1 * root2
    rest = (size - C) * (size + C)
    rest = 0.0 if rest < 0.0 else rest
    return 0.0 if same == 1.0 else rest


def gap_of_parallel(following: float, difference: float) -> float:
    """How far C' of parallel inputs is below sqrt(K1'*K2') = ``following``, from the difference of their squares."""
    rest = following * following - difference
    return difference / (following + sqrt(0.0 if rest < 0.0 else rest))


def gap_of_values(following: float, parallel: float, K1: float, K2: float) -> float:
    """The same from values, of which rounding may leave nothing."""
    gap = following - parallel
    return 0.0 if K1 == K2 or gap < 10.0 * ROUNDING * following else gap


def is_settled(following: float, doubt: float) -> float:
    """1 if a gap is known better than sqrt(K1'*K2') - C' tells it; slopes may change fast."""
    return 1.0 if doubt <= ROUNDING * following else 0.0
