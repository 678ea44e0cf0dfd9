"""Critical points of layers whose conditions do not separate: a search along the kernel, at given parameters.

For every kernel of a grid the variances with K' = K and chi_perp = 1, in numbers; where chi_parallel passes 1 on the
way from one kernel to the next is a critical point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise

from ...core.errors import NoClosedForm, SymresError
from ...core.symbols import K
from ...functions.floats.float_averages import number_at
from ...functions.roots.bracketing import GRID, first_positive
from ...functions.roots.root import UNKNOWNS, SystemRoot
from ...numerics.brent import brent
from ...results.critical_point import STABILITY, CriticalPoint, SearchResult
from .critical_conditions import Maps, expression_of
from .parameter_effects import sign_at

_BITS = 60
_STEP = 3  # of the grid of kernels
_RANGE = (1e-5, 1e5)
_WEIGHTS = 8  # intervals between 0 and the largest weight variance that keeps a kernel
_LARGEST = 2.0**40  # of variances
_EQUAL = 1e-9  # susceptibilities that differ by less agree up to rounding
_CLOSE, _ROUNDED = 1e-9, 1e-14  # of the logarithm of a kernel, of variances

Place = tuple[float, float, float]  # K, C_W, C_b
_Function = Callable[[float, float, float], float]


def searched_points(maps: Maps) -> SearchResult:
    """The critical points with K* > 0 of a layer without other parameters than C_W and C_b.

    It is taken for granted that K' does not fall where C_W or C_b grow: then a kernel and a weight variance have one
    bias variance at most.
    """
    flow, parallel, perp = map(expression_of, maps)
    conditions = flow / K - 1, perp - 1, parallel - 1
    excess, gradient, slope = (number_at(e, UNKNOWNS, _BITS) for e in conditions)
    points: list[CriticalPoint] = []
    last: list[Place] = []
    lost = agree = False
    for kernel in (float(k) for k in GRID[::_STEP] if _RANGE[0] <= k <= _RANGE[1]):
        try:
            here = list(_on_the_line(excess, gradient, kernel))
            for branch, (one, other) in enumerate(zip(last, here, strict=False)):
                ends = slope(*one), slope(*other)
                agree = agree or max(map(abs, ends)) < _EQUAL
                if ends[0] * ends[1] < 0 and not agree:
                    start = _crossing(excess, gradient, slope, branch, one, other)
                    place = SystemRoot.near(conditions, start)
                    curvature, values = parallel.diff(K), dict(zip(UNKNOWNS, place, strict=True))
                    stability, side = STABILITY[sign_at(curvature, values)]
                    points.append(CriticalPoint(*place, stability, exact=False, side=side))
        except (SymresError, ArithmeticError, ValueError, RuntimeError, IndexError):  # no number, or no root there
            lost, here = True, []
        lost = lost or (len(here) != len(last) and bool(here) and bool(last))
        last = here
    seen = f"critical points with K* > 0 were searched in numbers, for {_RANGE[0]:g} < K < {_RANGE[1]:g}"
    if agree:
        seen += ": the susceptibilities agree on a line of critical points (critical_line gives its C_b)"
    return SearchResult(tuple(points), (seen,), complete=not (lost or agree))


def kept_bias(excess: Callable[[float], float], kernel: float, largest: float) -> float | None:
    """The bias variance at which ``K'/K - 1`` vanishes; 0 where the kernel grows without biases.

    None where no variance below the largest is enough.
    """
    if excess(0.0) >= 0:
        return 0.0
    high = first_positive(excess, kernel, largest)
    return None if high is None else brent(excess, 0.0, high, xtol=1e-300, rtol=_ROUNDED)


def sign_changes(function: Callable[[float], float], places: Iterable[float]) -> Iterator[float]:
    """Zeros of a function, one between every two neighbouring places at which it has opposite signs."""
    values = {place: function(place) for place in places}
    for low, high in pairwise(values):
        if values[low] * values[high] < 0:
            yield brent(function, low, high, xtol=1e-300, rtol=_ROUNDED)


def _on_the_line(excess: _Function, gradient: _Function, kernel: float) -> Iterator[Place]:
    """The variances that keep a kernel with chi_perp = 1, by increasing C_W.

    Raises:
        NoClosedForm: a weight variance leaves no C_b that keeps the kernel.
    """

    def kept(weight: float) -> float:
        bias = kept_bias(partial(excess, kernel, weight), kernel, _LARGEST)
        if bias is None:
            raise NoClosedForm("a critical point", f"no C_b keeps the kernel {kernel:g}", "take another layer")
        return bias

    def grown(weight: float) -> float:
        return excess(kernel, weight, 0.0)

    most = first_positive(grown, 1.0, _LARGEST)
    if most is None:
        most = _LARGEST
    else:
        least = first_positive(lambda weight: -grown(weight), most, 1 / _LARGEST, 1 / 2)
        if least is None:
            return  # the kernel grows, whatever the variances
        most = brent(grown, least, most, rtol=_ROUNDED)
    weights = (most * k / _WEIGHTS for k in (1e-9, *range(1, _WEIGHTS + 1)))
    for weight in sign_changes(lambda weight: gradient(kernel, weight, kept(weight)), weights):
        yield kernel, weight, kept(weight)


def _crossing(excess: _Function, gradient: _Function, slope: _Function, branch: int, one: Place, other: Place) -> Place:
    """The place between two on one branch of the line where chi_parallel = 1."""

    def at(logarithm: float) -> Place:
        return list(_on_the_line(excess, gradient, math.exp(logarithm)))[branch]

    ends = math.log(one[0]), math.log(other[0])
    return at(brent(lambda logarithm: slope(*at(logarithm)), *ends, xtol=_CLOSE))
