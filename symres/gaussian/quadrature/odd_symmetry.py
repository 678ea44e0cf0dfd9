"""Averages that vanish because a centred law does not change when all its variables change their sign."""

from __future__ import annotations

from functools import lru_cache

from ...activations.piecewise import PiecewiseFunction
from ...activations.symmetries import Parity
from ...activations.symmetries import parity as parity_of
from ...core.errors import DeclarationError


def is_odd(factors: tuple[PiecewiseFunction, ...]) -> bool:
    """Whether a product of functions, one of each variable, changes its sign with all variables."""
    parities = [_parity(f) for f in factors]
    return None not in parities and parities.count("odd") % 2 == 1


@lru_cache(maxsize=512)
def _parity(function: PiecewiseFunction) -> Parity | None:
    """Cached: a pure function of a frozen argument, asked for by the exact engine and by every number."""
    try:
        return parity_of(function)
    except DeclarationError:  # a breakpoint and its mirror image whose order depends on a mean: no symmetry
        return None
