"""The sum of a function over the powers of a number, ``sum_{d >= 0} c(rho^d)`` with ``c(0) = 0``: a sum over all times.

c is a covariance at correlation r, a power series whose coefficients have a finite sum, so it is analytic and bounded
in the unit disc. Its polynomial interpolants on intervals inside have proved errors, and cost few values of c however
many powers of rho lie in the interval.
"""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp
from flint import arb, ctx
from sympy.printing.printer import Printer

from ...core.atoms import PowerSumNode
from ...core.symbols import r as power_symbol
from ...numerics.balls.compiler import compile_ball

_MOST = 500_000  # powers that are looked at one by one
_GUARD = 32  # bits
_DEEPEST = 200
_INNERMOST = 6  # below 2**-6 a polynomial is summed over all powers at once


class GeometricSum(PowerSumNode, sp.Expr):
    """``sum_{d >= 0} c(rho^d)`` for a function ``c(r) = sum_{k >= 1} c_k r^k`` with ``sum |c_k| <= bound``.

    Args:
        term: c, an expression in the bound variable.
        variable: the bound variable r.
        ratio: rho, between -1 and 1.
        bound: of the sum of all ``|c_k|``.
    """

    is_commutative = True
    is_extended_real = True
    is_real = True

    def __new__(cls, term: sp.Expr, variable: sp.Symbol, ratio: sp.Expr, bound: sp.Expr) -> sp.Expr:
        """The sum; powers of r are summed at once."""
        term, ratio, bound = map(sp.sympify, (term, ratio, bound))
        if ratio == 0:
            return term.subs(variable, 1)
        powers, rest, split = sp.Integer(0), [], bound
        for summand in sp.Add.make_args(sp.expand(term)):
            factor, power = summand.as_independent(variable, as_Add=False)
            base, exponent = power.as_base_exp()
            if base == variable and exponent.is_Integer and exponent > 0:
                powers += factor / (1 - ratio**exponent)
                split += sp.Abs(factor)  # the rest lacks this coefficient, of whatever sign
            else:
                rest.append(summand)
        if not rest:
            return powers
        common, inner = sp.factor_terms(sp.Add(*rest)).as_independent(variable, as_Add=False)
        own = super().__new__(cls, inner, variable, ratio, split / sp.Abs(common))
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
    def shown(self) -> tuple[sp.Expr, sp.Symbol, tuple[sp.Expr, ...]]:
        """c(r), r, and the first powers: of a term in ``rho r`` those from rho on."""
        moved = self.term.xreplace({self.variable: power_symbol / self.ratio})
        from_one = not any(p.exp.could_extract_minus_sign() and p.base == self.ratio for p in moved.atoms(sp.Pow))
        term = moved if from_one else self.term.xreplace({self.variable: power_symbol})
        return term, power_symbol, tuple(self.ratio ** (d + from_one) for d in range(3))

    # ---- evaluation --------------------------------------------------------------------------------------------

    @property
    def _parameters(self) -> list[sp.Symbol]:
        return sorted(self.term.free_symbols - {self.variable}, key=str)

    @property
    def _ball_arguments(self) -> tuple[sp.Expr, ...]:
        return (self.ratio, self.args[3], *self._parameters)

    def _ball(self, arguments: list[arb], bits: int) -> arb:
        ratio, bound, *values = arguments
        if not abs(ratio) < 1:
            return arb("nan")
        program = compile_ball(self.term, (self.variable, *self._parameters))
        with ctx.workprec(bits + _GUARD):
            return _sum_of_powers(lambda r: program([r, *values]), ratio, bound)

    # ---- printing ----------------------------------------------------------------------------------------------

    def _sympystr(self, printer: Printer) -> str:
        term, variable, powers = self.shown
        return f"PowerSum({printer._print(term)}, {variable} = {', '.join(map(printer._print, powers))}, ...)"

    def _latex(self, printer: Printer) -> str:
        term, variable, powers = self.shown
        places = ",".join(map(printer._print, powers))
        return rf"\sum_{{{printer._print(variable)}={places},\ldots}} \left({printer._print(term)}\right)"


def _sum_of_powers(function: Callable[[arb], arb], ratio: arb, bound: arb) -> arb:
    """``sum_{d >= 0} c(ratio^d)``, for each interval of powers the values of c or those of an interpolant."""
    by_interval: dict[tuple[int, int], list[arb]] = {}
    power, total = arb(1), arb(0)
    while abs(power).mid() > arb(2) ** -_INNERMOST:
        by_interval.setdefault(_interval(power), []).append(power)
        power *= ratio
        if sum(map(len, by_interval.values())) > _MOST:
            return arb("nan")
    for (sign, level), powers in by_interval.items():
        centre, half, distance = _ends(sign, level)
        size = _ellipse(distance)
        count = _points(size)
        if len(powers) <= count:
            total += sum((function(r) for r in powers), arb(0))
            continue
        coefficients = _chebyshev(function, centre, half, count)
        total += sum((_clenshaw(coefficients, (r - centre) / half) for r in powers), arb(0))
        total += len(powers) * _within(bound, size, count)
    return total + _rest(function, ratio, power, bound)


def _rest(function: Callable[[arb], arb], ratio: arb, power: arb, bound: arb) -> arb:
    """``sum_{d >= 0} c(power ratio^d)`` for a small power, by a polynomial without a constant term."""
    half = arb(2) ** -_INNERMOST
    size = _ellipse(1 / half)
    count = 2 * (_points(size) // 2 + 1)  # even, so that 0 is none of the points
    # c(r)/r is analytic as well, and bounded by the same bound: its coefficients are those of c
    monomials = _monomials(_chebyshev(lambda r: function(r) / r, arb(0), half, count))
    total = arb(0)
    for k, c in enumerate(monomials):
        total += c / half**k * power ** (k + 1) / (1 - ratio ** (k + 1))
    return total + _within(bound, size, count) * abs(power) / (1 - abs(ratio))


def _interval(power: arb) -> tuple[int, int]:
    """The interval of a power: its sign, and j for ``1 - 2^-j <= |r| < 1 - 2^-(j+1)``."""
    gap = 1 - abs(power).mid()
    level = 0
    while gap <= arb(2) ** -(level + 1) and level < _DEEPEST:
        level += 1
    return (1 if power.mid() >= 0 else -1), level


def _ends(sign: int, level: int) -> tuple[arb, arb, arb]:
    """The middle and half the length of an interval, and the distance of the unit circle in units of the latter."""
    if level == 0:
        return arb(0), arb(1) / 2, arb(2)
    return sign * (1 - arb(3) / 4 * arb(2) ** -level), arb(2) ** -level / 4, arb(3)


def _ellipse(distance: arb) -> arb:
    """The size of the largest Bernstein ellipse of an interval in the unit disc."""
    return distance + (distance * distance - 1).sqrt()


def _points(size: arb) -> int:
    """How many values make the error of interpolation smaller than the working precision."""
    return int(ctx.prec / float(size.log() / arb(2).log())) + 2


def _within(bound: arb, size: arb, count: int) -> arb:
    """The error of a polynomial through Chebyshev points: at most ``4 B s^-(count-1)/(s - 1)``.

    B bounds the function on the Bernstein ellipse of size s.
    """
    return arb(0, (4 * bound * size ** (1 - count) / (size - 1)).upper())


def _chebyshev(function: Callable[[arb], arb], centre: arb, half: arb, count: int) -> list[arb]:
    """Chebyshev coefficients of the polynomial through the values at ``count`` Chebyshev points."""
    angles = [arb.pi() * (2 * j + 1) / (2 * count) for j in range(count)]
    values = [function(centre + half * angle.cos()) for angle in angles]
    coefficients = []
    for k in range(count):
        total = sum((v * (k * angle).cos() for v, angle in zip(values, angles, strict=True)), arb(0))
        coefficients.append(total * (2 if k else 1) / count)
    return coefficients


def _clenshaw(coefficients: list[arb], x: arb) -> arb:
    """The value of a Chebyshev series."""
    one, two = arb(0), arb(0)
    for c in reversed(coefficients[1:]):
        one, two = c + 2 * x * one - two, one
    return coefficients[0] + x * one - two


def _monomials(coefficients: list[arb]) -> list[arb]:
    """The coefficients of powers of x of a Chebyshev series in x."""
    total = [arb(0)] * len(coefficients)
    before, here = [arb(1)], [arb(0), arb(1)]
    for k, c in enumerate(coefficients):
        own = before if k == 0 else here
        for j, t in enumerate(own):
            total[j] += c * t
        if k:
            following = [arb(0), *(2 * t for t in here)]
            for j, t in enumerate(before):
                following[j] -= t
            before, here = here, following
    return total
