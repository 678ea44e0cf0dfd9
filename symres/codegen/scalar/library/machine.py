"""What every target and every module provide in their own words; here for plain Python, so that the library is tested.

The last three functions call those of a module that averages expand, by their numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Given: TypeAlias = NDArray[np.float64]  # numbers that are read
Written: TypeAlias = NDArray[np.float64]  # numbers that are written; they overlap no others

Fixed: TypeAlias = int  # a constant wherever the function is called, of which it becomes a part

Function = TypeVar("Function", bound=Callable[..., float])

INFINITY = math.inf
NAN = math.nan


def inlined(function: Function) -> Function:
    """Mark a function of one expression, which stands wherever it is called."""
    return function


def precision(x: float) -> float:
    """From 1 to the next number of the type of x."""
    return math.ulp(1.0)


def fma(a: float, b: float, c: float) -> float:
    """a*b + c with one rounding."""
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return a * b + c
    try:
        return float(Fraction(a) * Fraction(b) + Fraction(c))
    except OverflowError:
        return a * b + c


def room(count: int) -> Written:
    """An array of numbers that have no values yet."""
    return np.empty(count)


def in_threads(count: int, worthwhile: bool) -> range:
    """0, 1, ..., each in any thread, as none reads what another one writes; in one where more are not worthwhile."""
    return range(count)


def present(numbers: Given) -> bool:
    """Whether there is an array, which an argument may leave out."""
    return numbers.size > 0


def absent() -> Given:
    """An array that an argument leaves out."""
    return np.empty(0)


def power_of_two(k: float) -> float:
    """2**k for an integer -1022 <= k <= 1023, given as a float."""
    return math.ldexp(1.0, int(k)) if math.isfinite(k) else k


def factor_block(number: int, nodes: int, step: float, roots: Given, p: Given, even: Written, odd: Written) -> None:
    """Sums and differences of a function at opposite nodes, for a block of inputs."""
    raise NotImplementedError


def factor_kernel(number: int, K: float, p: Given) -> float:
    """The variance of the argument of a function, for an input of kernel K."""
    raise NotImplementedError


def place_of_sum(number: int, K1: float, K2: float, C: float, p: Given) -> float:
    """The covariance of the arguments of the two functions of a sum, for two inputs."""
    raise NotImplementedError
