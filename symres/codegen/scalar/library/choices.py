"""Functions that choose between numbers; what is no number stays none."""

from __future__ import annotations

from .machine import NAN


def maximum(a: float, b: float) -> float:
    """The larger of two numbers."""
    larger = b if a < b else a
    return b if b != b else larger


def minimum(a: float, b: float) -> float:
    """The smaller of two numbers."""
    smaller = a if a < b else b
    return a if a != a else smaller


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


def valid(K: float) -> float:
    """A kernel, no number where it is negative."""
    return NAN if K < 0.0 else K


def directed(K: float) -> float:
    """A kernel, no number where it is 0 or negative: a normaliser divides by the size of an input."""
    return K if K > 0.0 else NAN
