"""The average of one function over one Gaussian variable, enclosed rigorously at any variance.

With z = scale*x and a power of two close to sqrt(K) for the scale, every variance is one of order one. The line is cut
at the breakpoints and at ``x = +/-T``; inside, Gauss-Legendre panels with bounded errors; outside, the largest value on
shells times the Gaussian mass beyond. Shells are followed until they have fallen by 16 times the bits asked for, and
the growth of the function is probed up to 2**40 standard deviations: what lies beyond is taken to keep falling.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import sympy as sp
from flint import arb, ctx

from ..balls import compile_ball, enclose
from ..declare.pieces import Pieces
from ..errors import DeclarationError, SymresError
from ..symbols import z
from .panels import LOW, Function, Weight, integrate, log2_upper, plan, power_of_two, sup_refined

GUARD = 20  # bits for the rounding of sums
_LOG2_E = 1.4426950408889634
_PROBES = (40, 80)  # growth is probed at 2**k standard deviations
_TINY = -1e12  # log2 of the size of an average whose integrand has not been seen to differ from 0


@dataclass(frozen=True)
class Compiled:
    """A function ready for evaluation.

    Args:
        breaks: its breakpoints.
        parts: a program of one ball z per smooth piece, None where the function vanishes.
    """

    breaks: tuple[sp.Expr, ...]
    parts: tuple[Function | None, ...]


@dataclass(frozen=True)
class Segment:
    """A smooth piece of a function between two ends in x = z/scale (None: unbounded)."""

    function: Function
    left: arb | None
    right: arb | None


@lru_cache(maxsize=256)
def compiled(pieces: Pieces) -> Compiled:
    """Compile the pieces of a function."""
    return Compiled(pieces.breaks, tuple(None if part.is_zero else compile_ball(part, (z,)) for part in pieces.parts))


def line_average(factor: Pieces, K: arb, bits: int) -> arb:
    """Enclose ``<f>`` over a centred variable of variance K.

    Args:
        factor: the function, without parameters.
        K: its variance, a ball of non-negative numbers.
        bits: relative accuracy asked for.

    Raises:
        DeclarationError: a negative variance, or a function without an average.
    """
    function = compiled(factor)
    if not K.is_finite() or K < 0:
        raise DeclarationError("a Gaussian average", f"the variance is {K.str(5)}", "pass a finite variance >= 0")
    if not K > 0:
        with ctx.workprec(bits + GUARD):
            return _near_zero(factor, function, K, bits)
    size, precision = None, bits + GUARD
    for _ in range(3):
        with ctx.workprec(precision):
            result, size = _integral(function, K, bits, size)
        accuracy = result.rel_accuracy_bits()
        if accuracy >= min(bits, K.rel_accuracy_bits() - 8) or result.contains(0):
            break
        # Cancellation, in the formula or between its signs: aim at the size of the result instead.
        precision += bits - accuracy + 8
        size = float(log2_upper(result))
    return result


def _integral(function: Compiled, K: arb, bits: int, size: float | None) -> tuple[arb, float]:
    """The average, and log2 of the size relative to which it is accurate."""
    mantissa, exponent = K.mid().man_exp()
    scale = arb(2) ** ((int(mantissa).bit_length() + int(exponent)) // 2)
    weight = Weight(K / scale**2, scale)
    segments = list(_segments(function, scale))
    if not segments:
        return arb(0), -math.inf
    if size is None:
        size = max(_TINY, *(_size(segment, weight) for segment in segments))
    tolerance = size - bits - 6
    left, left_rest = _cutoff(segments, weight, -1, tolerance, bits)
    right, right_rest = _cutoff(segments, weight, 1, tolerance, bits)
    panels = []
    for s in segments:
        a = arb(left) if s.left is None or s.left < left else s.left
        b = arb(right) if s.right is None or s.right > right else s.right
        if a < b:
            panels += plan(s.function, weight, a, b, tolerance - 6, bits // 2 + 8)
    total = integrate(panels, weight, ctx.prec)
    total += arb(0, power_of_two(left_rest)) + arb(0, power_of_two(right_rest))
    if not total.is_finite():
        raise SymresError(
            "a Gaussian average",
            "the integrand is not finite somewhere, or too intricate to be bounded",
            "check the formula at its breakpoints, and write it with tanh, sigmoid, cosh instead of quotients of exp",
        )
    return total / (2 * arb.pi() * weight.variance).sqrt(), size


def _segments(function: Compiled, scale: arb) -> Iterator[Segment]:
    ends = [None, *(enclose(b, {}, ctx.prec) / scale for b in function.breaks), None]
    for left, right, part in zip(ends, ends[1:], function.parts, strict=False):
        if part is not None:
            yield Segment(part, left, right)


def _size(segment: Segment, weight: Weight) -> float:
    """Roughly log2 of the integral of the absolute value: sampled at distances 2**k from the ends and from 0."""
    low = -math.inf if segment.left is None else float(segment.left)
    high = math.inf if segment.right is None else float(segment.right)
    variance = float(weight.variance)
    precision = ctx.prec

    def sample(origin: float, distance: float) -> float:
        x = origin + distance
        if not low < x < high:
            return -math.inf
        value = log2_upper(segment.function([weight.scale * arb(x)], False))
        return value - x * x / (2 * variance) * _LOG2_E + math.log2(abs(distance))

    ctx.prec = 2 * LOW
    try:
        origins = {x for x in (low, high) if math.isfinite(x)} | ({0.0} if low < 0 < high else set())
        candidates = [(s * 2.0**k, o) for o in origins for s in (-1, 1) for k in range(-34, 14, 2)]
        if math.isfinite(high - low):
            candidates.append(((high - low) / 2, low))
        best, distance, origin = max(((sample(o, d), d, o) for d, o in candidates), default=(-math.inf, 1.0, 0.0))
        step = 2.0
        while step > 1.001 and best > -math.inf:  # climb, in case of a narrow peak far out
            step = math.sqrt(step)
            best, distance = max((sample(origin, d), d) for d in (distance / step, distance, distance * step))
    finally:
        ctx.prec = precision
    return best


def _cutoff(
    segments: list[Segment], weight: Weight, side: int, tolerance: float, bits: int
) -> tuple[float, float]:
    """Where to end the panels on one side, and log2 of a bound on what is left out."""
    outer = segments[0] if side < 0 else segments[-1]
    if (outer.left if side < 0 else outer.right) is None:
        _check_growth(outer, weight, side)
    x = side * math.sqrt(2 * weight.bounds[1] * (bits + 8) / _LOG2_E)
    while abs(x) < 1e9:
        rest = _beyond(segments, weight, x, tolerance, bits)
        if rest <= tolerance:
            return x, rest
        x *= 1.25
    raise SymresError("a Gaussian average", "its tails could not be bounded", "use a function that grows more slowly")


def _check_growth(segment: Segment, weight: Weight, side: int) -> None:
    for k in _PROBES:
        x = side * 2.0**k
        decay = x * x / (2 * weight.bounds[1]) * _LOG2_E
        with ctx.workprec(1024):  # so large an argument leaves nothing of a ball of ordinary precision
            growth = log2_upper(segment.function([weight.scale * arb(x)], False))
        if growth > (1 - 1e-6) * decay + 1e3:
            raise DeclarationError(
                "a Gaussian average", "the function outgrows the Gaussian weight", "use a smaller variance, if any"
            )


def _beyond(segments: list[Segment], weight: Weight, x: float, tolerance: float, bits: int) -> float:
    """log2 of a bound on the integral of the absolute value from x outwards; inf as soon as it exceeds the tolerance."""
    variance = weight.bounds[1]
    edges = [e for s in segments for e in (s.left, s.right) if e is not None]
    last = max((float((e if x > 0 else -e).upper()) for e in edges), default=0.0)  # no breakpoint beyond
    bounds = [-math.inf]
    inner, ratio, steps = x, 1.25, 0
    while abs(inner) < 1e150:
        outer = inner * ratio
        mass = -inner * inner / (2 * variance) * _LOG2_E * (1 - 1e-12) + math.log2(variance / abs(inner)) + 1e-6
        size = _largest(segments, weight, *sorted((inner, outer)))
        bounds.append(size + mass)
        if bounds[-1] > tolerance:
            return math.inf
        steps += 1
        if steps > 2 and abs(inner) > last and max(size, 0.0) + mass < min(tolerance, 0.0) - 16 * bits:
            break
        inner, ratio = outer, 2.0
    top = max(bounds)
    return top if top == -math.inf else top + math.log2(sum(2.0 ** (b - top) for b in bounds)) + 1e-6


def _largest(segments: list[Segment], weight: Weight, low: float, high: float) -> float:
    """log2 of a bound on |function| between two places."""
    worst = -math.inf
    for s in segments:
        a = arb(low) if s.left is None or s.left < low else s.left
        b = arb(high) if s.right is None or s.right > high else s.right
        if not a > b:
            worst = max(worst, sup_refined(s.function, weight.scale * a, weight.scale * b))
    return worst


def _near_zero(factor: Pieces, function: Compiled, K: arb, bits: int) -> arb:
    """The average where zero variance cannot be excluded: a one-sided limit, or the values around 0 and the tails."""
    if K.is_zero():
        places = [b.is_zero for b in factor.breaks]
        if True in places:
            i = places.index(True)
            sides = factor.parts[i : i + 2]
        else:
            sides = (factor.part_at(sp.Integer(0)),)
        return sum((enclose(part.subs(z, 0), {}, ctx.prec) for part in sides), arb(0)) / len(sides)
    top = K.upper()
    scale = top.sqrt().upper()
    weight = Weight(arb(1), scale)
    segments = list(_segments(function, scale))
    if not segments:
        return arb(0)
    reach = math.sqrt(2 * bits)
    inside = arb(0) if len(segments) < len(function.parts) else None
    for s in segments:
        a = arb(-reach) if s.left is None or s.left < -reach else s.left
        b = arb(reach) if s.right is None or s.right > reach else s.right
        if not a > b:
            values = s.function([scale * a.union(b)], False)
            inside = values if inside is None else inside.union(values)
    rest = max(_beyond(segments, weight, side * reach, math.inf, bits) for side in (-1, 1)) + 1
    missing = arb(2) ** -bits  # Gaussian mass beyond the reach
    return (arb(0) if inside is None else inside) * (1 - missing).union(1) + arb(0, power_of_two(rest))
