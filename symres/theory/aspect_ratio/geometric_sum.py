"""The sum of a function over the powers of a number, ``sum_{d >= 0} c(s rho^d)`` with ``c(0) = 0``: a sum over times.

c is a covariance at correlation r, a power series whose coefficients have a finite sum. On intervals inside the unit
disc it is nearly a polynomial, whose sum over all powers in an interval is a geometric one: it costs few values of c
however near rho is to 1. As c is analytic and bounded in the disc, its Chebyshev interpolants converge like the powers
of the largest ellipse around the interval inside the disc.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import sympy as sp
from flint import arb, arb_poly, ctx
from sympy.printing.printer import Printer

from ...core.atoms import PowerSumNode
from ...core.symbols import r as power_symbol
from ...functions.balls.compiler import compile_ball
from ...gaussian.quadrature.tensor_rule import ball_key, ball_of
from ...numerics.deferred_numpy import np

_INNERMOST = -1  # the level of c(r)/r around 0, which is analytic as well, with the same coefficients
_INNER = arb(2) ** -6  # where it ends
_DEEPEST = 200
_WIDER = 1 + arb(2) ** -20  # so that places at the ends lie inside, rounded or not
_GUARD = 32  # bits


@dataclass(frozen=True)
class PowerSeries:
    """A function ``c(r) = sum_{k >= 1} c_k r^k``."""

    term: sp.Expr  # c, an expression
    symbols: tuple[sp.Symbol, ...]  # r, then its parameters
    parameters: tuple[tuple[int, ...], ...]  # the keys of their balls
    bits: int  # of the arithmetic

    def __call__(self, r: arb) -> arb:
        """A value."""
        values = [*map(ball_of, self.parameters)]
        with ctx.workprec(self.bits):
            return compile_ball(self.term, self.symbols)([r, *values])


@dataclass(frozen=True)
class Interpolant:
    """A polynomial near a function: ``|p(x) - c(r)| <= error*bound`` for ``r = centre + half*x`` with ``|x| <= 1``."""

    centre: arb  # of the interval
    half: arb  # of its length
    polynomial: arb_poly  # in x, with exact coefficients
    slope: arb  # a bound of ``|p'(x)|``
    inexact: arb  # what rounding of values adds to the error
    error: arb  # in units of the sum of all ``|c_k|``


@lru_cache(maxsize=1024)
def interpolant(function: PowerSeries, sign: int, level: int) -> Interpolant:
    """The polynomial through the values at Chebyshev points of an interval, with exact coefficients.

    The distance of a function bounded by B on the Bernstein ellipse of size s is at most ``4 B s^-(count-1)/(s - 1)``.
    """
    with ctx.workprec(function.bits):
        centre, half, size = _interval(sign, level)
        count = _points(size, function.bits)
        if level == _INNERMOST:
            count = 2 * (count // 2 + 1)  # even, so that 0 is none of the points
        angles = [arb.pi() * (2 * j + 1) / (2 * count) for j in range(count)]
        places = [centre + half * angle.cos() for angle in angles]
        values = [function(r) / r if level == _INNERMOST else function(r) for r in places]
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


def _interval(sign: int, level: int) -> tuple[arb, arb, arb]:
    """The middle, half the length and the size of the largest Bernstein ellipse in the unit disc of an interval.

    Its places have that sign and ``1 - 2^-level <= |r| < 1 - 2^-(level + 1)``.
    """
    centre, half, distance = sign * (1 - arb(3) / 4 * arb(2) ** -level), arb(2) ** -level / 4 * _WIDER, 3 / _WIDER
    if level <= 0:
        centre, half = arb(0), (_INNER if level == _INNERMOST else arb(1) / 2) * _WIDER
        distance = 1 / half  # of the unit circle, in units of half the length
    return centre, half, distance + (distance * distance - 1).sqrt()


def _points(size: arb, bits: int) -> int:
    """How many values make the error of interpolation smaller than the precision."""
    return int(bits / float(size.log() / arb(2).log())) + 2


class GeometricSum(PowerSumNode, sp.Expr):
    """``sum_{d >= 0} c(s rho^d)`` for a function ``c(r) = sum_{k >= 1} c_k r^k`` with ``sum |c_k| <= bound``.

    Args:
        term: c, an expression in the bound variable.
        variable: the bound variable r.
        ratio: rho, between -1 and 1.
        bound: of the sum of all ``|c_k|``.
        start: s, at most 1 in size.
    """

    is_commutative = True
    is_extended_real = True
    is_real = True

    def __new__(
        cls, term: sp.Expr, variable: sp.Symbol, ratio: sp.Expr, bound: sp.Expr, start: sp.Expr = sp.S.One
    ) -> sp.Expr:
        """The sum; powers of r are summed at once."""
        term, ratio, bound, start = map(sp.sympify, (term, ratio, bound, start))
        if ratio == 0:
            return term.subs(variable, start)
        powers, others, split = sp.Integer(0), [], bound
        for summand in _summands(term):
            factor, power = summand.as_independent(variable, as_Add=False)
            base, exponent = power.as_base_exp()
            if base == variable and exponent.is_Integer and exponent > 0:
                powers += factor * start**exponent / (1 - ratio**exponent)
                split += sp.Abs(factor)  # the rest lacks this coefficient, of whatever sign
            else:
                others.append(summand)
        if not others:
            return powers
        common, inner = sp.factor_terms(sp.Add(*others)).as_independent(variable, as_Add=False)
        unsummed = super().__new__(cls, inner, variable, ratio, split / sp.Abs(common), start)
        return powers + common * unsummed

    @property
    def term(self) -> sp.Expr:
        """The function c."""
        return self.args[0]

    @property
    def variable(self) -> sp.Symbol:
        """The bound variable r."""
        return self.args[1]

    @property
    def ratio(self) -> sp.Expr:
        """The number rho."""
        return self.args[2]

    @property
    def free_symbols(self) -> set[sp.Symbol]:
        """All but the bound variable."""
        return set().union(*(a.free_symbols for a in self.args)) - {self.variable}

    @property
    def start(self) -> sp.Expr:
        """The number s."""
        return self.args[4]

    @property
    def shown(self) -> tuple[sp.Expr, sp.Symbol, tuple[sp.Expr, ...]]:
        """c(r), r, and the first powers."""
        powers = tuple(self.start * self.ratio**d for d in range(3))
        return self.term.xreplace({self.variable: power_symbol}), power_symbol, powers

    # ---- evaluation --------------------------------------------------------------------------------------------

    @property
    def _parameters(self) -> list[sp.Symbol]:
        return sorted(self.term.free_symbols - {self.variable}, key=str)

    @property
    def _ball_arguments(self) -> tuple[sp.Expr, ...]:
        return (self.ratio, self.args[3], self.start, *self._parameters)

    def _ball(self, arguments: list[arb], bits: int) -> arb:
        ratio, bound, start, *values = arguments
        if not (abs(ratio) < 1 and abs(start).mid() <= 1):
            return arb("nan")
        symbols = (self.variable, *self._parameters)
        function = PowerSeries(self.term, symbols, tuple(map(ball_key, values)), bits + _GUARD)
        with ctx.workprec(bits + _GUARD):
            return sum_of_powers(function, start, ratio, bound)

    # ---- printing ----------------------------------------------------------------------------------------------

    def _sympystr(self, printer: Printer) -> str:
        term, variable, powers = self.shown
        return f"PowerSum({printer._print(term)}, {variable} = {', '.join(map(printer._print, powers))}, ...)"

    def _latex(self, printer: Printer) -> str:
        term, variable, powers = self.shown
        places = ",".join(map(printer._print, powers))
        return rf"\sum_{{{printer._print(variable)}={places},\ldots}} \left({printer._print(term)}\right)"


def _summands(term: sp.Expr) -> Iterator[sp.Expr]:
    """The summands of a term, multiplied out; arguments of functions stay as they are."""
    for summand in sp.Add.make_args(term):
        spread = summand.is_Mul and any(factor.is_Add for factor in summand.args)
        yield from sp.Add.make_args(sp.expand_mul(summand, deep=False) if spread else summand)


def sum_of_powers(function: PowerSeries, start: arb, ratio: arb, bound: arb) -> arb:
    """``sum_{d >= 0} c(start*ratio^d)``."""
    if ratio < 0:  # two sums of one sign each
        return sum((_of_one_sign(function, first, ratio * ratio, bound) for first in (start, start * ratio)), arb(0))
    return _of_one_sign(function, start, ratio, bound)


def _of_one_sign(function: PowerSeries, power: arb, ratio: arb, bound: arb) -> arb:
    """The sum for a positive ratio: of each interval of powers the values of c, or those of a polynomial, at once."""
    total, sign = arb(0), 1 if power.mid() >= 0 else -1
    while abs(power).mid() > _INNER:
        level, gap = 0, 1 - abs(power).mid()  # of the interval in which the power lies, see ``_interval``
        while gap <= arb(2) ** -(level + 1) and level < _DEEPEST:
            level += 1
        share = (1 - arb(2) ** -level if level else _INNER) / abs(power)
        count = 1  # of the powers that are not below the interval
        if ratio > 0:
            steps = (share.mid().log() / ratio.mid().log()).mid()
            count += max(0, int(float(steps.floor().mid())))
        if count <= _points(_interval(sign, level)[2], function.bits):
            for _ in range(count):
                total += function(power)
                power *= ratio
        else:
            near = interpolant(function, sign, level)
            total += _along(near, power, ratio, count) + count * arb(0, (near.error * bound).upper())
            power *= ratio**count
    inner = interpolant(function, 1, _INNERMOST)
    for k, c in enumerate(inner.polynomial.coeffs()):
        total += c / inner.half**k * power ** (k + 1) / (1 - ratio ** (k + 1))
    return total + arb(0, ((inner.inexact + inner.error * bound) * abs(power) / (1 - ratio)).upper())


def _along(near: Interpolant, power: arb, ratio: arb, count: int) -> arb:
    """The sum of a polynomial at so many powers.

    In monomials of the powers almost everything cancels: they are exact here, and what is not known of them is added.
    """
    degree = near.polynomial.degree()
    lost = 2 * degree * int(2 + max(0.0, -float(near.half.log() / arb(2).log())))
    first, step = power.mid(), ratio.mid()
    with ctx.workprec(ctx.prec + lost + 2 * count.bit_length()):
        shifted = near.polynomial(arb_poly([-near.centre / near.half, 1 / near.half]))
        total = sum(
            (
                c * first**k * (count if k == 0 else (1 - step ** (k * count)) / (1 - step**k))
                for k, c in enumerate(shifted.coeffs())
            ),
            arb(0),
        )
    moved = abs(first) * (arb(power.rad()) / abs(first) + count * arb(ratio.rad()) / step) * 2
    return total + arb(0, (count * (near.inexact + near.slope * moved / near.half)).upper())
