"""Functions of the kernel on a grid, to where their signs are known: where to look for zeros."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import sympy as sp
from flint import arb

from ..errors import SymresError
from ..gaussian.panels import patience

_PER_DECADE, _DECADES = 6, (-9, 6)
GRID = tuple(
    sp.Rational(round(10 ** (12 + k / _PER_DECADE)), 10**12)
    for k in range(_DECADES[0] * _PER_DECADE, _DECADES[1] * _PER_DECADE + 1)
)
BITS = (24, 60)  # of an evaluation; the second only where the first leaves a sign open
_FAILURES, _PANELS = 2, 500

Functions = Callable[[sp.Rational, int], tuple[arb, ...]]
Row = tuple[sp.Rational, tuple[arb, ...]]


@dataclass(frozen=True)
class Scan:
    """What a scan has seen.

    Args:
        rows: (kernel, values of the functions there), kernels increasing.
        stopped: why the scan ended before the end of the grid; empty if it did not.
    """

    rows: tuple[Row, ...]
    stopped: str = ""


def scan(functions: Functions) -> Scan:
    """The values of functions on the grid of kernels, from small to large ones.

    Args:
        functions: maps a kernel and a precision in bits to balls. Where it raises a SymresError (an activation that
            oscillates too often under a wide Gaussian) the kernel is left out, and after the second the scan ends.
    """
    rows: list[Row] = []
    failures = 0
    with patience(_PANELS):
        for k in GRID:
            try:
                rows.append((k, signed(functions, k)))
            except SymresError as error:
                failures += 1
                if failures == _FAILURES:
                    return Scan(tuple(rows), f"kernels above {float(rows[-1][0]) if rows else 0:.3g}: {error.found}")
    return Scan(tuple(rows))


def signed(functions: Functions, k: sp.Rational) -> tuple[arb, ...]:
    """Values with signs, if a reasonable precision gives them."""
    for bits in BITS:
        values = functions(k, bits)
        if all(map(sign, values)):
            break
    return values


def sign(value: arb) -> int:
    """1, -1, or 0 if the ball does not say."""
    return 1 if value > 0 else -1 if value < 0 else 0
