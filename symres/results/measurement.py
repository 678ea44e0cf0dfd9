"""What an oracle finds of layers that it knows by their forward equation alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ..numerics.deferred_numpy import np

# (observables, controls) of networks of some width, one row a network: controls have mean 0 at every width and share
# the observables' noise
Sample: TypeAlias = "tuple[np.ndarray, np.ndarray]"
Sampler: TypeAlias = "Callable[[int, int, np.random.Generator], Sample]"  # width, number of networks


@dataclass(frozen=True)
class OracleValue:
    """The oracle's number.

    Args:
        value: the number; infinite if the defining limit diverges, or where the oracle failed.
        error: estimate of its absolute error.
        scale: the natural size of the quantity, against which a small value is judged.
        remark: what the reader should know.
        diverges: whether an infinite value is what the oracle has seen, not the end of the range of doubles.
    """

    value: float
    error: float
    scale: float
    remark: str = ""
    diverges: bool = False
