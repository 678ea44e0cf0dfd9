"""The average of one function over one Gaussian variable, enclosed rigorously at any variance.

With z = scale*x, the scale a power of two near the standard deviation, the variance of x is of order one. The line is
cut at the breakpoints and at ``x = +/-T``; inside, Gauss-Legendre panels with bounded errors; outside, the largest
value on shells times the Gaussian mass beyond. Shells are followed until they have fallen by 16 times the bits asked
for, and the growth of the function is probed up to 2**40 standard deviations; from there it is taken to keep falling.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce

import sympy as sp
from flint import acb, arb, ctx

from ...activations.piecewise import PiecewiseFunction
from ...activations.symmetries import is_odd
from ...core.errors import DeclarationError, SymresError
from ...core.symbols import z
from ...core.work_budget import panel_budget
from ...functions.balls import compile_ball, enclose
from ...functions.tails import tail
from .panels import (
    LOG2_E,
    Function,
    PlannedRule,
    Weight,
    log2_at,
    log2_sum,
    log2_upper,
    plan_panels,
    power_of_two,
    sup_refined,
)

_ATTEMPTS = 3  # for the accuracy asked for
_REACH = 4  # variances within this power of two of a central one share a rule
_MANY_BITS = 128  # beyond, panels have more nodes, and few variances are asked for: only a factor of two
_BITS_STEP = 64  # bits: few different rules
_PANELS = 64  # of a shared rule: the smallest budget that anyone gives one average
_LEAST_SPREAD = 64  # of log2 of the sizes at variances that share a rule of few bits
_KEPT = 256  # rules, of a hundred kilobytes each
GUARD_BITS = 20  # beyond the bits asked for, for the rounding of sums
NARROWEST_SHELL = 1.01  # ratio of the ends of a shell below which shells are not divided further
_FINEST = 1 + 2.0**-40  # ratio of distances at which the search for a peak ends
_FLAT_START = 2.0  # a distance at which functions that decay by themselves are small, or nearly so
_PROBES = (40, 80)  # growth is probed at 2**k standard deviations
Interval = tuple[arb, arb]
_INTRICATE = "write it with tanh, sigmoid, cosh, Phi instead of sums and quotients that cancel far out"
_SMALLEST = 1e-100  # of numbers whose products are floats
LOG2_TINY = -1e12  # log2 of the size of an average whose integrand has not been seen to differ from 0


@dataclass(frozen=True)
class CompiledPieces:
    """A function ready for evaluation."""

    breaks: tuple[sp.Expr, ...]  # its breakpoints
    parts: tuple[Function | None, ...]  # a program of one ball z per smooth piece, None where the function vanishes
    # the formulas of the first one at -z, and of the last one
    outermost: tuple[sp.Expr, sp.Expr] = (sp.Integer(0), sp.Integer(0))

    def breakpoints(self) -> list[arb]:
        """The breakpoints as balls of the current precision."""
        return [enclose(b, {}, ctx.prec) for b in self.breaks]


@dataclass(frozen=True)
class Segment:
    """A smooth piece of a function between two ends in x = z/scale (None: unbounded)."""

    function: Function
    left: arb | None
    right: arb | None


@lru_cache(maxsize=256)
def compile_pieces(pieces: PiecewiseFunction) -> CompiledPieces:
    """Compile the pieces of a function."""
    return CompiledPieces(
        pieces.breaks,
        tuple(None if part.is_zero else compile_ball(part, (z,)) for part in pieces.parts),
        (pieces.parts[0].xreplace({z: -z}), pieces.parts[-1]),
    )


def univariate_average(factor: PiecewiseFunction, variance: arb, bits: int) -> arb:
    """Enclose ``<f>`` over a centred Gaussian variable.

    Args:
        factor: the function, without parameters.
        variance: of the variable, a ball of non-negative numbers.
        bits: relative accuracy asked for.

    Raises:
        DeclarationError: a negative variance, or a function without an average.
        SymresError: a function that could not be bounded.
    """
    function = compile_pieces(factor)
    check_variance(variance)
    if not variance > 0:
        with ctx.workprec(bits + GUARD_BITS):
            if variance.is_zero():
                return enclose(factor.at_zero, {}, ctx.prec)
            return near_zero_variance(function, variance, bits)
    if is_odd((factor,)):
        check_growth(function, gaussian_weight(variance))
        return arb(0)
    attainable = min(bits, variance.rel_accuracy_bits() - 8)
    return refine(lambda _, precision: (_average(factor, variance, precision - GUARD_BITS), 0.0), bits, attainable)


def _average(factor: PiecewiseFunction, variance: arb, bits: int) -> arb:
    """The average to so many bits of the average of the absolute value."""
    bits = -(-bits // _BITS_STEP) * _BITS_STEP
    reach = _REACH if bits <= _MANY_BITS else 1
    mantissa, exponent = variance.mid().man_exp()
    octave = (int(mantissa).bit_length() + int(exponent) - 1 + reach) // (2 * reach)
    with ctx.workprec(bits + GUARD_BITS):
        weight = Weight(_between(reach), arb(2) ** (reach * octave))
        planned = _shared_rule(factor, reach, octave, bits)
        if planned is None or not weight.variance.contains(variance / weight.scale**2):
            weight = gaussian_weight(variance)
            planned = _rule(factor, weight, bits, (weight.variance,))
        variance = variance / weight.scale**2
        return planned(variance) / (2 * arb.pi() * variance).sqrt()


@lru_cache(maxsize=_KEPT)
def _shared_rule(factor: PiecewiseFunction, reach: int, octave: int, bits: int) -> PlannedRule | None:
    """The rule for all variances within a factor ``2**reach`` of the square of the scale ``2**(reach*octave)``.

    None where it is too costly. Scans, roots and what is said of them ask for the averages of few functions at hundreds
    of variances.
    """
    weight = Weight(_between(reach), arb(2) ** (reach * octave))
    try:
        with panel_budget(_PANELS):
            return _rule(factor, weight, bits, (arb(2) ** -reach, arb(2) ** reach))
    except SymresError:  # of the widest Gaussian, perhaps not of all
        return None


def _between(reach: int) -> arb:
    """The variances from ``2**-reach`` to ``2**reach``."""
    return (arb(2) ** -reach).union(arb(2) ** reach)


def _rule(factor: PiecewiseFunction, weight: Weight, bits: int, variances: tuple[arb, ...]) -> PlannedRule:
    """The rule of a function, to so many bits of the average of the absolute value at some variances.

    Raises:
        DeclarationError: a function without an average.
        SymresError: a function that could not be bounded, or that is too different at these variances.
    """
    function = compile_pieces(factor)
    check_growth(function, weight)
    segments = list(segments_between([b / weight.scale for b in function.breakpoints()], function.parts))
    sizes = [
        max((rough_log2_size(s, Weight(variance, weight.scale)) for s in segments), default=LOG2_TINY)
        for variance in variances
    ]
    if max(sizes) - min(sizes) > max(bits, _LEAST_SPREAD):
        raise SymresError("one rule for many variances", "the variances differ too much", "use a rule for each of them")
    return rule(segments, weight, min(sizes), bits)


def refine(attempt: Callable[[float | None, int], tuple[arb, float]], bits: int, attainable: int) -> arb:
    """Repeat an integration whose result is smaller than its integrand, aiming at the size of the result.

    An attempt gets log2 of the size to be accurate to (None: its own guess) and a working precision; ``attainable``
    is the accuracy that the balls put in allow.
    """
    size, precision = None, bits + GUARD_BITS
    for _ in range(_ATTEMPTS):
        result, size = attempt(size, precision)
        accuracy = result.rel_accuracy_bits()
        if accuracy >= attainable or result.contains(0):
            break
        precision += bits - accuracy + 8
        size = float(log2_upper(result))
    return result


def check_variance(variance: arb | acb) -> None:
    """Refuse balls that are no variance.

    Raises:
        DeclarationError: the ball is not finite, not real, or negative.
    """
    if not variance.is_finite() or isinstance(variance, acb) or variance < 0:
        found = f"the variance is {variance.str(5)}"
        raise DeclarationError("a Gaussian average", found, "pass a finite variance >= 0")


def gaussian_weight(variance: arb) -> Weight:
    """The Gaussian weight of a variance, in a coordinate in which the variance is of order one."""
    mantissa, exponent = variance.mid().man_exp()
    scale = arb(2) ** ((int(mantissa).bit_length() + int(exponent)) // 2)
    return Weight(variance / scale**2, scale)


def segments_between(breakpoints: Sequence[arb], parts: Sequence[Function | None]) -> Iterator[Segment]:
    """The pieces that do not vanish, with their ends."""
    ends = [None, *breakpoints, None]
    for left, right, part in zip(ends, ends[1:], parts, strict=False):
        if part is not None:
            yield Segment(part, left, right)


def rule(segments: list[Segment], weight: Weight, size: float, bits: int) -> PlannedRule:
    """The integral of segments*exp(-x**2/2v) over x, to about 2**(size - bits), in the current precision.

    The variance v may be infinite, where the function itself decays.

    Raises:
        SymresError: the function could not be bounded.
    """
    tolerance = max(size, LOG2_TINY) - bits - 6
    if not segments:
        return PlannedRule((), arb(0))
    if tolerance == math.inf:
        found = "the integrand may be infinite for large arguments"
        raise SymresError("a Gaussian average", found, "use a smaller variance")
    left, left_tail = tail_cutoff(segments, weight, -1, tolerance, bits)
    right, right_tail = tail_cutoff(segments, weight, 1, tolerance, bits)
    panels = []
    for s in segments:
        a, b = clip(s, left, right)
        if not a > b:
            panels += plan_panels(s.function, weight, a, b, tolerance - 6, max(bits, ctx.prec) // 2 + 8)
    inside = PlannedRule.of(panels, weight.scale, ctx.prec)
    missed = inside.missed + arb(0, power_of_two(left_tail)) + arb(0, power_of_two(right_tail))
    if missed.is_finite() and all(mass.is_finite() for _, mass in inside.masses):
        return PlannedRule(inside.masses, missed)
    found = "the integrand is infinite somewhere, or too intricate to be bounded"
    raise SymresError("a Gaussian average", found, f"check the formula at its breakpoints; {_INTRICATE}")


def clip(segment: Segment, low: arb | float, high: arb | float) -> tuple[arb, arb]:
    """The part of a segment between two places; empty if its left end is not below its right end."""
    left = arb(low) if segment.left is None or segment.left < low else segment.left
    right = arb(high) if segment.right is None or segment.right > high else segment.right
    return left, right


def rough_log2_size(segment: Segment, weight: Weight) -> float:
    """Roughly log2 of the integral of the absolute value: sampled at distances 2**k from the ends and from 0."""
    low = -math.inf if segment.left is None else float(segment.left)
    high = math.inf if segment.right is None else float(segment.right)
    variance, scale = float(weight.variance), float(weight.scale)
    is_float = _SMALLEST < scale < 1 / _SMALLEST  # then its products are exact, and shorter names of a place

    def sample(origin: float, distance: float) -> float:
        x = origin + distance
        if not low < x < high:
            return -math.inf
        place = scale * x if is_float and abs(x) > _SMALLEST else weight.scale * x
        return log2_at(segment.function, place) - x * x / (2 * variance) * LOG2_E + math.log2(abs(distance))

    origins = {x for x in (low, high) if math.isfinite(x)} | ({0.0} if low < 0 < high else set())
    candidates = [(s * 2.0**k, o) for o in origins for s in (-1, 1) for k in range(-34, 14, 2)]
    if math.isfinite(high - low):
        candidates.append(((high - low) / 2, low))
    best, distance, origin = max(((sample(o, d), d, o) for d, o in candidates), default=(-math.inf, 1.0, 0.0))
    step, beside = 2.0, -math.inf
    while best > -math.inf and step > _FINEST and (step > 1.001 or beside < best - 1):  # climb, to a narrow peak too
        beside, there = max((sample(origin, d), d) for d in (distance / step, distance * step))
        if beside > best:
            best, distance = beside, there
        else:
            step = math.sqrt(step)
    return best


def tail_cutoff(segments: list[Segment], weight: Weight, side: int, tolerance: float, bits: int) -> tuple[float, float]:
    """Where to end the panels on one side, and log2 of a bound on the integral beyond."""
    variance = weight.largest_variance
    distance = math.sqrt(2 * variance * (bits + 8) / LOG2_E) if variance < math.inf else _FLAT_START
    # the next multiple of an eighth of the power of two below: panels up to it recur with other variances
    unit = 2.0 ** (math.frexp(distance)[1] - 4)
    x = side * math.ceil(distance / unit) * unit
    while abs(x) < 1e9:
        beyond = log2_tail(segments, weight, x, tolerance, bits)
        if beyond <= tolerance:
            return x, beyond
        x *= 1.25
    raise SymresError("a Gaussian average", "its tails could not be bounded", _INTRICATE)


def check_growth(function: CompiledPieces, weight: Weight) -> None:
    """Refuse a function that outgrows the Gaussian weight.

    Raises:
        DeclarationError: it does, far out.
        SymresError: far out it is not known whether it does.
    """
    breakpoints = function.breakpoints()
    first, last = breakpoints[:1], breakpoints[-1:]
    sides = zip((-1, 1), (function.parts[0], function.parts[-1]), (first, last), function.outermost, strict=True)
    for side, part, edges, formula in sides:
        if part is None:
            continue
        edge = max([float((side * b / weight.scale).upper()) for b in edges], default=0.0)
        for k in _PROBES:
            x = side * max(2.0**k, 2 * edge)  # where the part holds
            limit = (1 - 1e-6) * x * x / (2 * weight.largest_variance) * LOG2_E + 1e3
            with ctx.workprec(1024):  # so large an argument leaves nothing of a ball of ordinary precision
                value = part([weight.scale * x], False)
            if log2_upper(value) <= limit:
                continue
            least = log2_upper(value.abs_lower()) - 2 if value.is_finite() else -math.inf
            if least > limit or ((growth := tail(formula)).is_sharp and not growth.has_average):
                found = "the function outgrows the Gaussian weight"
                raise DeclarationError("a Gaussian average", found, "use a smaller variance")
            raise SymresError("a Gaussian average", "its tails could not be bounded", _INTRICATE)


def log2_tail(segments: list[Segment], weight: Weight, x: float, tolerance: float, bits: int) -> float:
    """log2 of a bound on the integral of the absolute value from x outwards; inf once it exceeds the tolerance."""
    variance = weight.largest_variance
    edges = [e for s in segments for e in (s.left, s.right) if e is not None]
    last = max((float((e if x > 0 else -e).upper()) for e in edges), default=0.0)  # no breakpoint beyond
    bounds: list[float] = []
    inner, ratio, steps, leap = x, 1.25, 0, True
    while abs(inner) < 1e150:
        outer = inner * ratio
        leaping = leap and steps > 2 and abs(outer) < last
        if leaping:  # the mass is next to nothing already: to the last breakpoint in one step
            outer = math.copysign(min(last, 1e150), x)
        mass = _log2_mass(variance, inner, outer)
        low, high = sorted((inner, outer))
        size = log2_largest(segments, weight, low, high)
        narrow = not leaping and ratio < NARROWEST_SHELL**2
        is_poor = narrow and size + mass > tolerance and log2_bound_at(segments, weight, inner) + mass <= tolerance
        if is_poor:  # perhaps the bound alone
            size = log2_largest(segments, weight, low, high, tolerance - mass)
        if size + mass > tolerance:
            if leaping:
                leap = False
                continue
            ratio = math.sqrt(ratio)  # the values at the far end of a shell are charged with the mass at its near end
            if ratio < NARROWEST_SHELL:
                return math.inf
            continue
        bounds.append(size + mass)
        steps += 1
        least = size if variance == math.inf else max(size, 0.0)
        if steps > 2 and abs(inner) > last and least + mass < min(tolerance, 0.0) - 16 * bits:
            break
        inner, ratio = outer, min(2.0, ratio**2)
    else:
        bounds.append(-1e299)
    return log2_sum(bounds)


def _log2_mass(variance: float, inner: float, outer: float) -> float:
    """log2 of a bound on the integral of the weight from a place outwards; of an infinite variance, up to another."""
    if variance == math.inf:
        return math.log2(abs(outer - inner)) + 1e-6
    return -inner * inner / (2 * variance) * LOG2_E * (1 - 1e-14) + math.log2(variance / abs(inner)) + 1e-6


def log2_largest(
    segments: list[Segment], weight: Weight, low: arb | float, high: arb | float, enough: float = math.inf
) -> float:
    """log2 of a bound on |function| between two places; the bound is refined while it is above ``enough``."""
    worst = -math.inf
    for s in segments:
        a, b = clip(s, low, high)
        if not a > b:
            worst = max(worst, sup_refined(s.function, weight.scale * a, weight.scale * b, enough=enough))
    return worst


def log2_bound_at(segments: list[Segment], weight: Weight, place: float) -> float:
    """log2 of a bound on |function| at one place."""
    ends = ((s, clip(s, place, place)) for s in segments)
    here = (s for s, (left, right) in ends if not left > right)
    return max((log2_at(s.function, weight.scale * arb(place)) for s in here), default=-math.inf)


def near_zero_variance(function: CompiledPieces, variance: arb, bits: int) -> arb:
    """The average where zero variance cannot be excluded: all values near 0, and the tails."""
    weight = Weight(arb(1), variance.abs_upper().sqrt().upper())
    reach = math.sqrt(2 * bits)
    breakpoints = [b / weight.scale for b in function.breakpoints()]
    inside = []
    for s in segments_between(breakpoints, [part or (lambda values, analytic: arb(0)) for part in function.parts]):
        a, b = clip(s, -reach, reach)
        if not a > b:
            inside.append(s.function([weight.scale * a.union(b)], False))
    segments = list(segments_between(breakpoints, function.parts))
    tails = max(log2_tail(segments, weight, side * reach, math.inf, bits) for side in (-1, 1)) + 1
    mass = (1 - arb(2) ** -bits).union(1)  # Gaussian mass inside the reach
    return reduce(arb.union, inside) * mass + arb(0, power_of_two(tails))
