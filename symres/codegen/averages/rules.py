"""Which rule of quadrature suits an average of two variables, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass

from .conditional_exponential import tilt
from .conditional_polynomial import has_closed_average
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
_EXPONENTIAL = AverageRule("_tilted", 2500.0, 64, "10 to 40 microseconds")
_POLYNOMIAL_SECOND = AverageRule("_given", 5000.0, 64, "0.05 to 0.3 milliseconds")
_POLYNOMIAL_FIRST = AverageRule("_given_the_second", 5000.0, 64, "0.05 to 0.3 milliseconds")
_KINKED = AverageRule("_kinked_plane", 50000.0, 16, "1 to 4 milliseconds, up to 0.1 seconds beside correlations of 1")


def rule_of(f: PiecewiseIntegrand, g: PiecewiseIntegrand) -> AverageRule:
    """The fastest rule for <f(z1) g(z2)>."""
    if not (f.breaks or g.breaks):
        return _SMOOTH if is_local(f) and is_local(g) else _KINKED
    if tilt(f) is not None and tilt(g) is not None:
        return _EXPONENTIAL
    if has_closed_average(g):
        return _POLYNOMIAL_SECOND
    return _POLYNOMIAL_FIRST if has_closed_average(f) else _KINKED
