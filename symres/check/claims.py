"""What a derivation claims, as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mpmath as mp
import sympy as sp

from .. import symbols
from ..quantity import Status
from .settings import Values

DIGITS = 25


def is_claim(quantity: Any) -> bool:
    """False if the derivation says that it does not know."""
    return quantity.status is not Status.UNKNOWN


def claimed(quantity: Any, values: Values, digits: int = DIGITS) -> mp.mpf:
    """The quantity at a point.

    Args:
        quantity: anything with ``symbols`` and ``evalf(digits, **numbers)``.
        values: numbers for its symbols, and others.
        digits: relative accuracy.
    """
    return quantity.evalf(digits, **{str(s): values[s] for s in quantity.symbols})


def iterated(quantities: Mapping[str, Any], start: Values, values: Values, depth: int) -> dict[str, mp.mpf]:
    """The kernel of the first input, and the covariance if it is derived, after ``depth`` layers."""
    first, second, mixed = (start[s] for s in (symbols.K1, symbols.K2, symbols.C))
    for _ in range(depth):
        if "covariance_map" in quantities:
            at = {symbols.K1: first, symbols.K2: second, symbols.C: mixed}
            mixed = _exact(claimed(quantities["covariance_map"], values | at, 15))
        first, second = (
            _exact(claimed(quantities["kernel_map"], values | {symbols.K: kernel}, 15)) for kernel in (first, second)
        )
    result = {"kernel_map": mp.mpf(sp.Float(first))}
    if "covariance_map" in quantities:
        result["covariance_map"] = mp.mpf(sp.Float(mixed))
    return result


def _exact(value: mp.mpf) -> sp.Rational:
    return sp.Rational(mp.nstr(value, 17))
