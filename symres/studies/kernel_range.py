"""How far a critical point K* = 0 reaches: the kernels that a network keeps, shrinks and loses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mpmath as mp

from ..core.errors import SymresError
from ..results.critical_point import CriticalPoint
from ..results.quantity import Status
from ..results.report import Report
from . import criticality_summary

_KEPT = 0.02  # relative change of a kernel in a layer that counts as none
_DIGITS, _GROWTH = 12, mp.mpf("1e-9")  # of a kernel; relative growth above the rounding
_EDGE = mp.mpf("1e-3")  # to which a kernel that begins to grow is located


@dataclass(frozen=True)
class Reach:
    """Which kernels a network at a stable critical point K* = 0 keeps, and which it loses.

    Args:
        kept: the largest kernel 1, 2 or 5 times a power of ten up to which all shrink by less than 2 % in a layer.
        falls: whether all larger kernels up to 500 shrink by more.
        edge: a kernel to two digits below which all shrink, and above which they grow; None if none up to 500 grows.
    """

    kept: str
    falls: bool
    edge: mp.mpf | None


def reach(report: Report, point: CriticalPoint) -> Reach | None:
    """How far a stable critical point K* = 0 reaches, without skip connection.

    None if parameters have no numbers, or if kernels of any size are kept or lost.
    """
    growth, numbers = criticality_summary.named(report, "kernel_map"), criticality_summary.at_point(point)
    if growth is None or numbers is None or growth.status is Status.UNKNOWN:
        return None
    if set(criticality_summary.names_of(growth)) - numbers.keys():
        return None
    parameters = {n: numbers[n] for n in criticality_summary.names_of(growth)}

    def change(kernel: mp.mpf | str) -> mp.mpf:
        return growth.evalf(_DIGITS, K=kernel, **parameters) / mp.mpf(kernel) - 1

    kernels = [f"{digit}e{power}" for power in range(-8, 3) for digit in (1, 2, 5)]
    changes: list[mp.mpf] = []
    try:
        for kernel in kernels:
            changes.append(change(kernel))
            if changes[-1] > _GROWTH:
                break
    except SymresError:  # a function that grows too fast for so large a kernel: nothing is known of it
        changes.append(mp.nan)
    count = next((k for k, c in enumerate(changes) if not -_KEPT <= c <= _GROWTH), len(changes))
    if not 0 < count < len(changes):
        return None
    edge = _edge(change, kernels[len(changes) - 2 : len(changes)]) if changes[-1] > _GROWTH else None
    return Reach(kernels[count - 1], all(c < -_KEPT for c in changes[count:]), edge)


def _edge(change: Callable[[mp.mpf | str], mp.mpf], bracket: Sequence[str]) -> mp.mpf:
    """Where a layer begins to enlarge kernels, rounded down to two digits."""
    low, high = map(mp.mpf, bracket)
    while high - low > _EDGE * low:
        middle = (low + high) / 2
        low, high = (middle, high) if change(middle) <= _GROWTH else (low, middle)
    unit = mp.mpf(10) ** (mp.floor(mp.log10(low)) - 1)
    return mp.floor(low / unit) * unit
