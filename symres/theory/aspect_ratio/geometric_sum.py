"""The sum of a function over the powers of a number, ``sum_{d >= 0} c(s rho^d)`` with ``c(0) = 0``: a sum over times.

c is a covariance at correlation r, a power series whose coefficients have a finite sum. On intervals inside the unit
disc it is nearly a polynomial (``interpolants``), whose sum over all powers in an interval is a geometric one: it costs
few values of c however near rho is to 1.
"""

from __future__ import annotations

from collections.abc import Iterator

import sympy as sp
from flint import arb, arb_poly, ctx
from sympy.printing.printer import Printer

from ...core.atoms import PowerSumNode
from ...core.symbols import r as power_symbol
from .interpolants import INNERMOST, Interpolant, PowerSeries, innermost, interpolant, level_of, points_at

_GUARD = 32  # bits


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
        powers, rest, split = sp.Integer(0), [], bound
        for summand in _summands(term):
            factor, power = summand.as_independent(variable, as_Add=False)
            base, exponent = power.as_base_exp()
            if base == variable and exponent.is_Integer and exponent > 0:
                powers += factor * start**exponent / (1 - ratio**exponent)
                split += sp.Abs(factor)  # the rest lacks this coefficient, of whatever sign
            else:
                rest.append(summand)
        if not rest:
            return powers
        common, inner = sp.factor_terms(sp.Add(*rest)).as_independent(variable, as_Add=False)
        own = super().__new__(cls, inner, variable, ratio, split / sp.Abs(common), start)
        return powers + common * own

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
        function = PowerSeries.of(self.term, (self.variable, *self._parameters), values, bits + _GUARD)
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
    total, innermost_edge = arb(0), arb(2) ** -INNERMOST
    while abs(power).mid() > innermost_edge:
        sign, level = level_of(power)
        edge = 1 - arb(2) ** -level if level else innermost_edge
        count = _steps_to(edge / abs(power), ratio)
        if count <= points_at(level, function.bits):
            for _ in range(count):
                total += function(power)
                power *= ratio
        else:
            own = interpolant(function, sign, level)
            total += _along(own, power, ratio, count) + count * arb(0, (own.error * bound).upper())
            power *= ratio**count
    inner = innermost(function)
    for k, c in enumerate(inner.polynomial.coeffs()):
        total += c / inner.half**k * power ** (k + 1) / (1 - ratio ** (k + 1))
    return total + arb(0, ((inner.inexact + inner.error * bound) * abs(power) / (1 - ratio)).upper())


def _steps_to(share: arb, ratio: arb) -> int:
    """How many powers of a ratio are not below a share."""
    if not ratio > 0:
        return 1
    steps = (share.mid().log() / ratio.mid().log()).mid()
    return 1 + max(0, int(float(steps.floor().mid())))


def _along(own: Interpolant, power: arb, ratio: arb, count: int) -> arb:
    """The sum of a polynomial at so many powers.

    In monomials of the powers almost everything cancels: they are exact here, and what is not known of them is added.
    """
    degree = own.polynomial.degree()
    lost = 2 * degree * int(2 + max(0.0, -float(own.half.log() / arb(2).log())))
    first, step = power.mid(), ratio.mid()
    with ctx.workprec(ctx.prec + lost + 2 * count.bit_length()):
        shifted = own.polynomial(arb_poly([-own.centre / own.half, 1 / own.half]))
        total = sum(
            (
                c * first**k * (count if k == 0 else (1 - step ** (k * count)) / (1 - step**k))
                for k, c in enumerate(shifted.coeffs())
            ),
            arb(0),
        )
    moved = abs(first) * (arb(power.rad()) / abs(first) + count * arb(ratio.rad()) / step) * 2
    return total + arb(0, (count * (own.inexact + own.slope * moved / own.half)).upper())
