"""Measure the error of the generated code of a component against ball arithmetic.

A component is measured first on the code of the reference target; that finds the limit at K = 0 and the range too. The
code of another target has the same limit and range, and only its error is measured.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from itertools import groupby

import numpy as np
import sympy as sp
from flint import arb

from ...core.atoms import AverageNode
from ...core.errors import SymresError
from ...core.symbols import K1, K2, C, K, x1, z
from ...functions.balls import enclose, to_ball
from ...functions.records.gaussian_signs import S4
from ..averages.average_code import averages
from ..averages.integrands import PiecewiseIntegrand
from ..fits.chebyshev import Fit, grid
from ..planning.guards import FLOOR
from ..planning.plan import FEW_DIGITS, INACCURATE, Component
from ..planning.target import ArrayFunction, Floats, Target
from . import sample_points as samples
from .sample_points import PARAMETER, Point, Values, larger, named, open_pairs

Place = tuple[tuple[sp.Symbol, float], ...]  # the value of each kernel

BITS = 240
LARGEST, SMALLEST = sys.float_info.max, 1e-300
UNDERFLOW = 1e-290  # parts of smaller values are no normal floats: what is lost of them is no error
SHORTEST = 0.5  # kernels of order one, without which a function is of no use
LITTLE = 64  # bits
UNREACHED = "exponentials overflow, or oscillations need too many nodes"
ALIKE = 1e-4  # of the largest value: how far it may be from one end to the point beside it
REMEMBERED = 1 << 14  # balls: a second language is measured at the same points
SOUGHT, NEARLY = 16, 1 - 1e-12  # kernels among which the last one with numbers is sought; the correlation there
CODES = 64  # compiled functions that are kept
SHARED = 64  # entries with the same kernels, as in a matrix: such averages are computed another way than single ones


@lru_cache(maxsize=CODES)
def running(component: Component, target: Target) -> ArrayFunction:
    """The code of a component in a target: it is measured at several values of its parameters, and compiled once."""
    return target.run(component)


def measured(component: Component, target: Target, values: Values | None = None) -> Component:
    """A component with the error of its code in a target, as components of its kind are measured."""
    of_pairs = measured_quadrature if component.is_pair_average else measured_pair
    return (of_pairs if component.is_pair else measured_kernel)(component, target, values)


def measured_kernel(component: Component, target: Target, values: Values | None = None) -> Component:
    """Error relative to max(|f|, |K f'|) on K = 1e-8 .. 1e4; a value at K = 0 is supplied where the code has none.

    Averages without a closed form, and what decays at small K, are judged by |f| alone.
    """
    formula, extra = with_numbers(component, values)
    points = np.array([k for k in grid()[:: 4 if averages(formula) else 1] if k <= component.guards.largest])
    function = running(component, target)
    values_of_code = _values(function, [(float(k),) for k in points], extra)
    component = _with_limit(component, formula, function, extra)
    if math.isinf(component.measured.error):
        return component
    if averages(formula) and np.isfinite(values_of_code[0]) and not np.isfinite(values_of_code[-1]):
        inside = int(np.argmin(np.isfinite(values_of_code)))
        component = component.with_measured(max_kernel=float(f"{points[inside - 1]:.2g}"), reason=UNREACHED)
        points, values_of_code = points[:inside], values_of_code[:inside]
    errors = [
        (deviation(formula, (float(k),), float(value), component.by_value), f"K = {k:.3g}")
        for k, value in zip(points, values_of_code, strict=True)
    ]
    if isinstance(component.code, Fit) and component.code.absolute:
        exact = np.array([float(_ball(formula, _at((float(k),)), BITS).mid()) for k in points])
        component = component.with_measured(
            error_over_max=float(np.max(np.abs(values_of_code - exact)) / np.max(np.abs(exact)))
        )
    worst, where = max(errors)
    poor = [k for k, (error, _) in zip(points, errors, strict=True) if error > INACCURATE]
    if poor and component.measured.error_over_max is not None:
        where = f"K in {poor[0]:.1e}..{poor[-1]:.1e}"
    return component.with_measured(error=worst, worst=where)


def _values(function: ArrayFunction, points: Sequence[Sequence[float]], extra: Sequence[float]) -> Floats:
    """The values of code at some kernels and covariances, and at numbers of the parameters."""
    with np.errstate(all="ignore"):
        return function(*map(np.array, zip(*points, strict=True)), *extra) * np.ones(len(points))


def _with_limit(component: Component, formula: sp.Expr, function: ArrayFunction, extra: Sequence[float]) -> Component:
    """A component with its limit at K = 0 where the code has no value there; its error is infinite if none is found."""
    tiny = _values(function, [(k,) for k in samples.NEAR_ZERO], extra)
    divisions: list[str] = []
    with np.errstate(all="ignore", divide="call"), np.errstate(call=lambda kind, _: divisions.append(kind)):
        origin = float((function(np.zeros(1), *extra) * np.ones(1))[0])
    integrated = component.code is None or component.fallback_integral is not None  # nan is lack of digits then
    undefined = np.isnan(tiny) & (not integrated)
    if component.guards.limit is not None or not (divisions or undefined.any() or not math.isfinite(origin)):
        return component
    if isinstance(component.code, sp.Expr):
        limit = _limit(formula)
        if limit is not None or not math.isfinite(origin):
            origin = math.nan if limit is None else limit
    if math.isnan(origin):
        return component.with_measured(error=math.inf, worst="K = 0")
    if not undefined.any():
        return component.guarded(limit=origin, start=0.0)
    # in floats the function is its limit or no number up to some kernel, and has values from there on
    close = np.isnan(tiny) | (np.abs(tiny - origin) <= 1e-16 * abs(origin))
    last = int(np.argmin(close)) if not close.all() else len(tiny)
    if np.isnan(tiny[last:]).any():
        return component.with_measured(error=math.inf, worst=f"K = {samples.NEAR_ZERO[np.argmax(undefined)]:g}")
    return component.guarded(limit=origin, start=samples.NEAR_ZERO[last - 1])


def _limit(formula: sp.Expr) -> float | None:
    """The value at K -> 0, from two small kernels; None if they disagree."""
    near, nearer = (enclose(formula, {K: sp.Rational(1, 10**n)}, 4 * BITS) for n in (60, 80))
    if not (near.is_finite() and nearer.is_finite()):
        return None
    a, b = float(near.mid()), float(nearer.mid())
    if abs(b) > 100 * abs(a) > 1e6:
        return math.copysign(math.inf, b)
    if abs(a) < 1e-18 and abs(b) <= abs(a):
        return 0.0
    return b if abs(a - b) <= 1e-16 * abs(b) else None


def measured_pair(component: Component, target: Target, values: Values | None = None) -> Component:
    """Error relative to max(|F|, |C dF/dC|) over kernels 1e-8 .. 1e4 and correlations to 1 - 1e-12."""
    formula, extra = with_numbers(component, values)
    points = open_pairs() if formula.has(S4) else samples.all_pairs()  # a ball of S4 takes a second
    function = running(component, target)
    computed = _values(function, points, extra)
    errors = (deviation(formula, point, float(value)) for point, value in zip(points, computed, strict=True))
    worst, where = max(zip(errors, map(named, points), strict=True))
    beside = _beside_largest(formula, points, computed) if worst > FEW_DIGITS else None
    undefined = undefined_ends(component, target, values)
    gap = _gap(function, extra)
    return component.with_measured(error=worst, worst=where, error_over_max=beside, gap=gap, undefined=undefined)


def with_ends(component: Component, target: Target, values: Values | None = None) -> Component:
    """A component; floored, if that gives a closed form of two inputs values where these are parallel or vanish."""
    if not component.is_pair or component.is_pair_average:
        return component
    floored = component.guarded(floor=FLOOR)
    ended = undefined_ends(component, target, values) and not undefined_ends(floored, target, values)
    return floored if ended else component


def undefined_ends(component: Component, target: Target, values: Values | None = None) -> str:
    """Where a closed form has no value in floats, or a floored one none that continues those beside it."""
    function, (_, extra) = running(component, target), with_numbers(component, values)
    undefined = []
    for name, ends in samples.ENDS.items():
        at, beside = (_values(function, points, extra) for points in zip(*ends, strict=True))
        jumps = np.abs(at - beside) > ALIKE * np.max(np.abs(beside))
        if np.any(np.isnan(at)) or (component.guards.floor is not None and np.any(jumps)):
            undefined.append(name)
    return " and ".join(undefined)


def _beside_largest(formula: sp.Expr, points: Sequence[Point], computed: Floats) -> float:
    """The largest error of a pair kernel, relative to its largest value for the same two kernels."""
    groups: dict[tuple[float, float], list[tuple[float, float]]] = {}
    for (k1, k2, c), value in zip(points, computed, strict=True):
        exact = _known(formula, _at((k1, k2, c)))
        if exact.is_finite():
            groups.setdefault((k1, k2), []).append((abs(float(value) - float(exact.mid())), _size(exact)))
    shares = []
    for group in groups.values():
        error, size = (max(column) for column in zip(*group, strict=True))
        shares.append(error / size if size > UNDERFLOW else 0.0)
    return max(shares)


def _gap(function: ArrayFunction, extra: Sequence[float]) -> tuple[float, float] | None:
    """The value of a pair kernel at vanishing kernels and its limit along the diagonal, if they differ.

    They do for activations that jump at 0: the correlation of what vanishes counts as 0.
    """
    diagonal = [(k, k, k) for k in (0.0, *samples.DIAGONAL, 1.0)]
    corner, near, nearer, ordinary = map(float, _values(function, diagonal, extra))
    rounding = 1e-12 * abs(ordinary)  # an average that vanishes leaves the rounding of terms that cancel
    if not abs(near - nearer) <= 1e-9 * abs(nearer) or not abs(corner - nearer) > 1e-9 * abs(nearer) + rounding:
        return None
    return corner, nearer


def measured_quadrature(component: Component, target: Target, values: Values | None = None) -> Component:
    """Error relative to sqrt(<f**2> <g**2>), of single entries and of matrices; it ends with the accurate kernels.

    Raises:
        SymresError: kernels of order one are inaccurate.
    """
    formula, extra = with_numbers(component, values)
    function = running(component, target)
    points = [point for point in sorted(open_pairs(), key=larger) if larger(point) <= component.guards.largest]
    points = points[:: 1 if values is None else 2]  # balls take most of the time
    alike = (list(group) for _, group in groupby(points, larger))  # large kernels take long: only until some fail
    measured = (
        (point, computed) for group in alike for point, computed in _in_each_way(function, group, extra, target)
    )
    errors, reached, previous = [(0.0, "")], 0.0, 0.0
    for point, computed in measured:
        if larger(point) > previous:
            reached, previous = previous, larger(point)
        error, reason = _pair_error(formula, point, computed)
        if error < INACCURATE:
            errors.append((error, named(point)))
            continue
        if reached < SHORTEST:
            raise SymresError(f"code for {component.formula}", reason, "export it to LaTeX")
        if (component.parameters or target.ends) and not np.isfinite(computed).any():
            if target.ends:
                last, error = _last_number(formula, function, extra, reached, larger(point))
                reached, errors = last, [*errors, (error, f"nearly parallel inputs of the kernel {last:g}")]
            component = component.with_measured(max_kernel=reached, reason=target.ends or UNREACHED)
        else:
            component = component.guarded(largest=reached).with_measured(reason=reason)
        break
    worst, where = max(errors)
    tiny = [0.0]  # errors relative to the value itself, which may be as small as these covariances
    for point in samples.TINY:
        exact = _ball(formula, _at(point), LITTLE)
        if exact.rel_accuracy_bits() > 45 and _size(exact) > SMALLEST:
            tiny.append(abs(float(function(*map(np.array, point), *extra)) / float(exact.mid()) - 1))
    return component.with_measured(error=worst, worst=where, gap=_gap(function, extra), next_to_zero=max(tiny))


def _in_each_way(
    function: ArrayFunction, points: Sequence[Point], extra: Sequence[float], target: Target
) -> Iterator[tuple[Point, tuple[float, ...]]]:
    """Points with the values of a pair kernel there, in each way in which entries are computed."""
    columns = np.array(points).T
    with np.errstate(all="ignore"):
        if target.capabilities.code == "scalar":  # pairs, however many, and matrices
            K1, K2, C = columns
            ways = [function(*columns, *extra), np.diag(function(K1[:, np.newaxis], K2, np.diag(C), *extra))]
        else:
            ways = [np.array([float(function(*map(np.array, point), *extra)) for point in points])]
            if target.capabilities.quadrature:  # what integrates nothing computes every entry by itself
                ways.append(function(*(np.repeat(column, SHARED) for column in columns), *extra)[::SHARED])
    return zip(points, zip(*(way.tolist() for way in ways), strict=True), strict=True)


def _last_number(
    formula: sp.Expr, function: ArrayFunction, extra: Sequence[float], reached: float, beyond: float
) -> tuple[float, float]:
    """The kernel, before ``beyond``, up to which nearly parallel inputs have a number, and the error there.

    Where they have none at all it is ``reached``, a kernel of which other inputs have numbers.
    """
    last, following, value = SHORTEST, beyond, math.nan
    for _ in range(2):  # the second time between two neighbours
        kernels = np.array([float(f"{k:.3g}") for k in np.geomspace(last, following, SOUGHT)])
        computed = function(kernels, kernels, NEARLY * kernels, *extra)
        ended = [*np.flatnonzero(~np.isfinite(computed)), SOUGHT][0]
        if not ended:
            break
        last, value = float(kernels[ended - 1]), float(computed[ended - 1])
        following = float(kernels[min(ended, SOUGHT - 1)])
    error, _ = _pair_error(formula, (last, last, NEARLY * last), [value])
    return (last, error) if error < INACCURATE else (reached, 0.0)


def _pair_error(formula: sp.Expr, point: Point, computed: Sequence[float]) -> tuple[float, str]:
    """The error of values of a pair kernel, infinite where it cannot be told, and what to say of a large one."""
    if not np.isfinite(computed).all():
        return math.inf, f"quadrature fails at {named(point)}"
    try:
        scale = _bound(formula)(*point[:2])
        exact = float(_ball(formula, _at(point), 60).mid()) if scale > 1e-290 else 0.0
    except SymresError as error:
        return math.inf, f"{error.found} at {named(point)}"
    deviation = max(abs(float(value) - exact) for value in computed) / max(scale, 1e-290)
    if not math.isfinite(deviation):
        return math.inf, f"values exceed the range of floats at {named(point)}"
    return deviation, f"quadrature is off by {deviation:.1e} at {named(point)}"


@lru_cache(maxsize=64)
def _bound(formula: sp.Expr) -> Callable[[float, float], float]:
    """The inequality of Cauchy and Schwarz, |<f g>| <= sqrt(<f**2> <g**2>), for a sum of averages."""
    nodes = {node: sp.Dummy() for node in averages(formula)}
    linear = formula.xreplace(nodes)

    @cache
    def square(node: AverageNode, factor: PiecewiseIntegrand, k: float) -> float:
        squared = factor.map(lambda u: u * u).as_expr().subs(z, x1)
        return _size(enclose(node.func(squared, K), {K: Fraction(k)}, 60))

    def bound(k1: float, k2: float) -> float:
        total = 0.0
        for node, dummy in nodes.items():
            outer = linear.diff(dummy)
            for coefficient, (f, g) in node.terms:
                size = abs(float(outer * coefficient))
                total += size * math.sqrt(square(node, f, k1)) * math.sqrt(square(node, g, k2))
        return total

    return bound


def with_numbers(component: Component, values: Values | None) -> tuple[sp.Expr, list[float]]:
    """The formula with numbers for free parameters, and these numbers as the code takes them."""
    names = component.parameters
    values = values or dict.fromkeys(names, PARAMETER)
    return component.formula.xreplace(values), [np.float64(values[p]) for p in names]


def _at(point: Sequence[float]) -> Place:
    return tuple(zip((K,) if len(point) == 1 else (K1, K2, C), point, strict=True))


@lru_cache(maxsize=REMEMBERED)
def _ball(formula: sp.Expr, at: Place, bits: int) -> arb:
    """A ball around the value of a formula; floats are the binary numbers that they are."""
    return enclose(formula, {symbol: Fraction(value) for symbol, value in at}, bits)


_slope = lru_cache(maxsize=64)(sp.diff)


def deviation(formula: sp.Expr, point: Sequence[float], value: float, by_value: bool = False) -> float:
    """The error of a value at (K1, K2, C) or (K,).

    It is relative to max(|F|, |v dF/dv|) with v = C, or K of one kernel; to |F| if ``by_value``.
    """
    at = _at(point)
    v, place = at[-1]
    scale = 0.0 if by_value else _size(_ball(_slope(formula, v), at, BITS)) * abs(place)
    exact = _known(formula, at)
    if math.isinf(value) and exact.is_finite() and math.copysign(1.0, value) * exact > LARGEST:
        return 0.0  # it is no float
    if not math.isfinite(value) or not exact.is_finite():
        return math.inf
    distance = float(abs(exact - to_ball(Fraction(value), BITS)).mid())
    size = max(_size(exact), scale)
    if size < UNDERFLOW:
        return 0.0 if distance < UNDERFLOW else math.inf
    return distance / size


def _known(formula: sp.Expr, at: Place) -> arb:
    """The value to more digits than floats have, unless it is less than any float or out of reach."""
    for attempt in range(2 if formula.has(S4) else 5):  # four times the bits of S4 take minutes, where the value is 0
        ball = _ball(formula, at, BITS << attempt)
        if not ball.is_finite() or ball.rel_accuracy_bits() > 60 or ball.abs_upper() < SMALLEST:
            break
    return ball


def _size(ball: arb) -> float:
    return abs(float(ball.mid())) if ball.is_finite() else 0.0


def round_up(error: float) -> float:
    """The next of 1, 2, 5 times a power of ten, after doubling: another processor rounds a little differently."""
    if not math.isfinite(error) or error <= 0:
        return 1e-16 if error == 0 else error
    doubled = max(2 * error, 1e-16)
    power = 10.0 ** math.floor(math.log10(doubled))
    return next(float(f"{m * power:.0e}") for m in (1, 2, 5, 10) if m * power >= doubled)
