"""Polynomials in place of a function that is a power series, on intervals inside the unit disc, with proved errors.

The function has ``c(0) = 0`` and Taylor coefficients with a finite sum, so it is analytic and bounded in the disc: its
Chebyshev interpolants converge like the powers of the largest ellipse around the interval inside the disc.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import sympy as sp
from flint import arb, arb_poly, ctx

from ...functions.balls.compiler import compile_ball
from ...numerics.deferred_numpy import np

INNERMOST = 6  # below 2**-6 there is one polynomial for c(r)/r
_DEEPEST = 200
_WIDER = 1 + arb(2) ** -20  # so that places at the ends lie inside, rounded or not

_Ball = tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True)
class PowerSeries:
    """A function ``c(r) = sum_{k >= 1} c_k r^k``.

    Args:
        term: c, an expression.
        symbols: r, then its parameters.
        parameters: numbers of these: mantissa and exponent of the middle and of the radius.
        bits: of the arithmetic.
    """

    term: sp.Expr
    symbols: tuple[sp.Symbol, ...]
    parameters: tuple[_Ball, ...]
    bits: int

    @classmethod
    def of(cls, term: sp.Expr, symbols: Sequence[sp.Symbol], parameters: Sequence[arb], bits: int) -> PowerSeries:
        """The function for parameters that are balls."""
        parts = tuple((_exact(ball.mid()), _exact(ball.rad())) for ball in parameters)
        return cls(term, tuple(symbols), parts, bits)

    def __call__(self, r: arb) -> arb:
        """A value."""
        values = [arb(arb(middle), arb(radius)) for middle, radius in self.parameters]
        with ctx.workprec(self.bits):
            return compile_ball(self.term, self.symbols)([r, *values])


@dataclass(frozen=True)
class Interpolant:
    """A polynomial near a function, ``|p(x) - c(r)| <= error * bound`` for ``r = centre + half*x`` with ``|x| <= 1``.

    Args:
        centre: of the interval.
        half: of its length.
        polynomial: in x, with exact coefficients.
        slope: a bound of ``|p'(x)|``.
        inexact: what rounding of values adds to the error.
        error: in units of the sum of all ``|c_k|``.
    """

    centre: arb
    half: arb
    polynomial: arb_poly
    slope: arb
    inexact: arb
    error: arb


def level_of(power: arb) -> tuple[int, int]:
    """The interval of a place: its sign, and j for ``1 - 2^-j <= |r| < 1 - 2^-(j+1)``."""
    gap = 1 - abs(power).mid()
    level = 0
    while gap <= arb(2) ** -(level + 1) and level < _DEEPEST:
        level += 1
    return (1 if power.mid() >= 0 else -1), level


def points_at(level: int, bits: int) -> int:
    """How many values an interpolant takes."""
    return _points(_ellipse(_ends(1, level)[2]), bits)


@lru_cache(maxsize=1024)
def interpolant(function: PowerSeries, sign: int, level: int) -> Interpolant:
    """The polynomial on one interval."""
    with ctx.workprec(function.bits):
        centre, half, distance = _ends(sign, level)
        return _interpolant(function, centre, half, _ellipse(distance), _points(_ellipse(distance), function.bits))


@lru_cache(maxsize=256)
def innermost(function: PowerSeries) -> Interpolant:
    """The polynomial for ``c(r)/r`` around 0, which is analytic as well, with the same coefficients."""
    with ctx.workprec(function.bits):
        half = arb(2) ** -INNERMOST * _WIDER
        size = _ellipse(1 / half)
        count = 2 * (_points(size, function.bits) // 2 + 1)  # even, so that 0 is none of the points
        return _interpolant(lambda r: function(r) / r, arb(0), half, size, count)


def _exact(number: arb) -> tuple[int, int]:
    mantissa, exponent = number.man_exp()
    return int(mantissa), int(exponent)


def _ends(sign: int, level: int) -> tuple[arb, arb, arb]:
    """The middle and half the length of an interval, and the distance of the unit circle in units of the latter."""
    if level == 0:
        return arb(0), _WIDER / 2, 2 / _WIDER
    return sign * (1 - arb(3) / 4 * arb(2) ** -level), arb(2) ** -level / 4 * _WIDER, 3 / _WIDER


def _ellipse(distance: arb) -> arb:
    """The size of the largest Bernstein ellipse of an interval in the unit disc."""
    return distance + (distance * distance - 1).sqrt()


def _points(size: arb, bits: int) -> int:
    """How many values make the error of interpolation smaller than the precision."""
    return int(bits / float(size.log() / arb(2).log())) + 2


def _interpolant(function: Callable[[arb], arb], centre: arb, half: arb, size: arb, count: int) -> Interpolant:
    """The polynomial through the values at Chebyshev points, with exact coefficients.

    The distance of a function bounded by B on the Bernstein ellipse of size s is at most ``4 B s^-(count-1)/(s - 1)``.
    """
    angles = [arb.pi() * (2 * j + 1) / (2 * count) for j in range(count)]
    values = [function(centre + half * angle.cos()) for angle in angles]
    coefficients = [
        sum((v * (k * a).cos() for v, a in zip(values, angles, strict=True)), arb(0)) * (2 if k else 1) / count
        for k in range(count)
    ]
    exact = [c.mid() for c in coefficients]
    inexact = sum((arb(c.rad()) for c in coefficients), arb(0))
    slope = sum((k * k * abs(c) for k, c in enumerate(exact)), arb(0))  # of the k-th polynomial it is k^2 at most
    with ctx.workprec(ctx.prec + 4 * count):  # enough for no rounding at all
        polynomial = arb_poly(list(np.polynomial.chebyshev.cheb2poly(np.array(exact, dtype=object))))
    error = arb((4 * size ** (1 - count) / (size - 1)).upper())
    return Interpolant(centre.mid(), half.mid(), polynomial, slope, inexact, error)
