"""Which rule of quadrature suits an average of two variables, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass

from .features import is_local
from .integrands import PiecewiseIntegrand


@dataclass(frozen=True)
class AverageRule:
    """A rule of quadrature for averages of two variables.

    Args:
        helper: the function.
        cost: of an entry, in units of ten nanoseconds.
        few: entries at a time, whose nodes fit into the cache.
        time: of an entry, as measured on one core of 2.5 GHz.
    """

    helper: str
    cost: float
    few: int
    time: str


_SMOOTH = AverageRule("_smooth_plane", 4000.0, 16, "up to 0.1 milliseconds")
_KINKED = AverageRule("_kinked_plane", 50000.0, 16, "1 to 4 milliseconds, up to 0.1 seconds beside correlations of 1")


def rule_of(f: PiecewiseIntegrand, g: PiecewiseIntegrand) -> AverageRule:
    """The fastest rule for <f(z1) g(z2)>."""
    is_smooth = not (f.breaks or g.breaks) and is_local(f) and is_local(g)
    return _SMOOTH if is_smooth else _KINKED
