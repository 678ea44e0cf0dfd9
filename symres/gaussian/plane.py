"""The average of f(z1) g(z2) over two correlated Gaussian variables, enclosed rigorously.

Given z1, the second variable is Gaussian with mean ``b*z1``, ``b = C/K1``, and variance ``v = K2 - C**2/K1``, so that
the average is one over z1 of ``f(z1) G(b*z1)`` with the smoothed function ``G(m) = <g(m + sqrt(v) y)>``. The rules of
the line serve twice; what they need to know about G is how large it gets at complex m. With m = m_r + i*m_i and for
any real t, moving the path of integration by i*t inside every smooth piece of g gives

    |G(m)| <= exp((m_i - t)**2/2v) * <sup |g| on the strip up to t around m_r + sqrt(v) y>  +  (walls at breakpoints),

a wall of height t at the breakpoint p adding ``t*sup|g|*exp((m_i**2 - (p - m_r)**2)/2v)/sqrt(2 pi v)`` for each side.
t = m_i is good where g is analytic, t = 0 near the kinks of g; the smallest of three choices is taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from flint import arb, ctx

from ..balls import Ball
from ..declare.pieces import Pieces
from ..errors import DeclarationError, SymresError
from .line import (
    GUARD,
    LOG2_E,
    TINY,
    Compiled,
    Moved,
    check_growth,
    check_variance,
    compiled,
    gaussian_weight,
    integral,
    line_average,
    near,
    refine,
    rough_size,
    segments_between,
)
from .panels import Function, Weight, log2_upper, sup

_SHELLS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)  # in standard deviations, then in steps of a factor 3/2
_STRIPS = (1.0, 0.5, 0.0)  # t/m_i


def plane_average(factors: tuple[Pieces, Pieces], covariance: tuple[arb, arb, arb], bits: int) -> arb:
    """Enclose ``<f(z1) g(z2)>``.

    Args:
        factors: (f, g), without parameters.
        covariance: (K1, C, K2) with C**2 <= K1*K2; equality is allowed.
        bits: relative accuracy asked for.

    Raises:
        DeclarationError: an impossible covariance, or a function without an average.
        SymresError: a function that could not be bounded.
    """
    (f, g), (K1, C, K2) = factors, covariance
    check_variance(K1)
    check_variance(K2)
    with ctx.workprec(4 * bits + 64):  # exact for numbers of this length: |C| = sqrt(K1*K2) must give exactly 0
        determinant = K1 * K2 - C * C
    if determinant < 0:
        raise DeclarationError(
            "a Gaussian average over two variables",
            f"|C| = {abs(C).str(5)} exceeds sqrt(K1*K2) = {(K1 * K2).sqrt().str(5)}",
            "pass a covariance with C**2 <= K1*K2",
        )
    if C.is_zero():
        with ctx.workprec(bits + GUARD):
            return line_average(f, K1, bits) * line_average(g, K2, bits)
    if not (K1 > 0 and K2 > 0):
        raise SymresError(
            "a Gaussian average over two variables",
            "a variance cannot be told from zero although the covariance can",
            "raise the precision, or pass C = 0",
        )
    attainable = min(bits, *(x.rel_accuracy_bits() - 8 for x in covariance))
    if not determinant > 0 and not determinant.is_zero():  # the unknown spread of z2 around b*z1 limits the accuracy
        bits = max(8, min(attainable, int(log2_upper(K1 * K2) - log2_upper(determinant)) // 2 + 2))
        attainable = 0  # and no second attempt would help
    check_growth(compiled(f), gaussian_weight(K1))
    check_growth(compiled(g), gaussian_weight(K2))

    def attempt(size: float | None, precision: int) -> tuple[arb, float]:
        with ctx.workprec(precision):
            weight = gaussian_weight(K1)
            slope, variance = C / K1, determinant / K1
            if variance.is_zero():
                places, parts = _product(compiled(f), compiled(g), slope)
            else:
                smooth = _Smoothed(compiled(g).places(), compiled(g).parts, variance)
                places = compiled(f).places()
                parts = [part and _Outer(part, smooth, slope, weight, 0.0) for part in compiled(f).parts]
            places = [b / weight.scale for b in places]
            if size is None:
                size = max((rough_size(s, weight) for s in segments_between(places, parts)), default=TINY)
            parts = [replace(p, tolerance=size - bits - 12) if isinstance(p, _Outer) else p for p in parts]
            total = integral(list(segments_between(places, parts)), weight, size, bits)
            return total / (2 * arb.pi() * weight.variance).sqrt(), size

    return refine(attempt, bits, attainable)


# ---------------------------------------------------------------------------------------- fully correlated variables
@dataclass(frozen=True)
class _Product:
    """z -> f(z) g(slope*z)."""

    f: Function
    g: Function
    slope: arb

    def __call__(self, values: list[Ball], analytic: bool) -> Ball:
        return self.f(values, analytic) * self.g([self.slope * values[0]], analytic)


def _product(f: Compiled, g: Compiled, slope: arb) -> tuple[list[arb], list[Function | None]]:
    """The pieces of f(z) g(slope*z)."""
    mine, others = f.places(), [b / slope for b in g.places()]
    other_parts = list(g.parts)
    if slope < 0:
        others, other_parts = others[::-1], other_parts[::-1]
    places = sorted([*mine, *others], key=lambda b: b.mid())
    parts: list[Function | None] = []
    for i in range(len(places) + 1):
        # A place counts as passed if it is among the first i; equal places enclose nothing between them.
        passed = places[:i]
        one = f.parts[sum(any(b is p for p in passed) for b in mine)]
        two = other_parts[sum(any(b is p for p in passed) for b in others)]
        parts.append(None if one is None or two is None else _Product(one, two, slope))
    return places, parts


# --------------------------------------------------------------------------------------------- the smoothed function
@dataclass(frozen=True)
class _Smoothed:
    """G(m), the average of g over a Gaussian variable of mean m and the given variance.

    Args:
        places: breakpoints of g.
        parts: smooth pieces of g.
        variance: positive, or a ball that does not exclude zero.
    """

    places: list[arb]
    parts: tuple[Function | None, ...]
    variance: arb

    @cached_property
    def _spread(self) -> tuple[arb, float, float]:
        spread = self.variance.abs_upper().sqrt() if not self.variance > 0 else self.variance.sqrt()
        low = float(spread.lower()) * (1 - 1e-12) if self.variance > 0 else 0.0
        return spread, low, float(spread.upper()) * (1 + 1e-12)

    def value(self, mean: arb, tolerance: float) -> arb:
        """G at a real mean, to about 2**tolerance."""
        if not self.variance > 0:
            return near(self.places, self.parts, mean, self.variance, ctx.prec)
        spread = self._spread[0]
        moved = [part and Moved(part, mean, spread) for part in self.parts]
        segments = list(segments_between([(b - mean) / spread for b in self.places], moved))
        size = max((self._at(mean + t * spread) for t in (-3, -2, -1, 0, 1, 2, 3)), default=-math.inf)
        bits = int(min(max(size - tolerance, 8.0), ctx.prec))
        return integral(segments, Weight(arb(1), arb(1)), tolerance + bits, bits) / (2 * arb.pi()).sqrt()

    def _at(self, place: arb) -> float:
        return self._largest(place, place, 0.0)

    def _largest(self, left: arb, right: arb, height: float) -> float:
        """log2 of a bound on |g| on a rectangle, piece by piece; infinite where a piece is not analytic."""
        worst = -math.inf
        for s in segments_between(self.places, self.parts):
            a = left if s.left is None or s.left < left else s.left
            b = right if s.right is None or s.right > right else s.right
            if not a > b:
                worst = max(worst, sup(s.function, a, b, height))
        return worst

    def log2_sup(self, left: arb, right: arb, height: float) -> float:
        """Upper bound of log2 |G| for means in a rectangle, infinite unless G is known to be analytic there."""
        best, height = math.inf, float(height)
        low, high = self._spread[1:]
        for share in _STRIPS if height else (1.0,):
            rest = (1 - share) * height
            growth = 0.0 if rest == 0 else math.inf if low == 0 else rest**2 / (2 * low**2) * LOG2_E
            if best < math.inf and growth > 3:
                break  # a smaller shift only costs more where a larger one succeeded
            moved = growth + self._smeared(left, right, share * height, high)
            best = min(best, _log2_sum([moved, self._walls(left, right, share * height, height, low, high)]))
        return best

    def _smeared(self, left: arb, right: arb, height: float, spread: float) -> float:
        """log2 of a bound on < sup |g| > over the Gaussian variable, the supremum over a rectangle around it."""
        inner = _SHELLS[1]
        bounds = [self._largest(left - spread * inner, right + spread * inner, height)]
        for outer in _outer_shells():
            mass = -0.5 * LOG2_E * inner**2 - (1.0 if inner < 0.8 else math.log2(2.5 * inner)) + 1e-6
            size = max(
                self._largest(left - spread * outer, right - spread * inner, height),
                self._largest(left + spread * inner, right + spread * outer, height),
            )
            bounds.append(size + 1 + mass)
            if bounds[-1] == math.inf:
                return math.inf
            if inner >= _SHELLS[-1] and bounds[-1] < min(bounds[0], bounds[-2]) - 64:
                break
            inner = outer
        return _log2_sum(bounds) + 1e-3

    def _walls(self, left: arb, right: arb, wall: float, height: float, low: float, high: float) -> float:
        """log2 of a bound on what the detour around the breakpoints adds."""
        bounds = [-math.inf]
        for place in self.places if wall else ():
            gap = max(0.0, float((left - place).lower()), float((place - right).lower()))
            room = (gap**2 - height**2) * (1 - 1e-9) if gap > height else gap**2 - height**2
            spread = min(max(math.sqrt(max(room, 0.0)), low), high)  # where the bound peaks
            if spread == 0:
                return math.inf
            size = self._largest(place, place, wall)  # the pieces on both sides
            bounds.append(1 + math.log2(wall / (2.5 * spread)) - room / (2 * spread**2) * LOG2_E + size + 1e-6)
        return _log2_sum(bounds)


def _outer_shells() -> Iterator[float]:
    yield from _SHELLS[2:]
    outer = _SHELLS[-1]
    for _ in range(200):
        outer *= 1.5
        yield outer


def _log2_sum(terms: list[float]) -> float:
    top = max(terms)
    return top if math.isinf(top) else top + math.log2(sum(2.0 ** (t - top) for t in terms))


@dataclass(frozen=True)
class _Outer:
    """z1 -> f(z1) G(slope*z1), accurate where the Gaussian weight makes it matter.

    Args:
        f: a smooth piece of f.
        smooth: G.
        slope: C/K1.
        weight: of z1.
        tolerance: log2 of the accuracy needed, weight included.
    """

    f: Function
    smooth: _Smoothed
    slope: arb
    weight: Weight
    tolerance: float

    def __call__(self, values: list[Ball], analytic: bool) -> Ball:
        """Evaluate at one real z1."""
        (place,) = values
        factor = self.f([place], False)
        size = log2_upper(factor)
        if size == -math.inf:
            return arb(0)
        x = float((place / self.weight.scale).mid())
        return factor * self.smooth.value(self.slope * place, self.tolerance - size - self.weight.log2_sup(x, x, 0.0))

    def log2_sup(self, left: arb, right: arb, height: float | arb) -> float:
        """Upper bound of log2 of its absolute value on a rectangle around a real interval."""
        size = sup(self.f, left, right, height)
        if math.isinf(size):
            return size
        ends = (self.slope * left, self.slope * right) if self.slope > 0 else (self.slope * right, self.slope * left)
        return size + self.smooth.log2_sup(*ends, float(abs(self.slope).upper()) * float(height) * (1 + 1e-12))
