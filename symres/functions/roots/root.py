"""Numbers that equations define: known to any number of digits, printed as decimals.

The root of one equation is proved by a change of sign; a solution of three is refined by Newton's method.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property, lru_cache, partial

import mpmath as mp
import sympy as sp
from flint import arb, ctx
from sympy.printing.printer import Printer

from ...core.atoms import Opaque
from ...core.errors import NoClosedForm, SymresError
from ...core.scalars import number
from ...core.symbols import C_W, C_b, K, kappa, kappa_b, kappa_W
from ..balls import as_mpf, enclose, value_and_radius
from .bracketing import at_kappa, float_values, zero, zeros

_GUARD = 24  # bits beyond those asked for
_SPARE_BITS = 40  # beyond the digits of a simple zero, for what cancels in its equation
_TRIES = 20  # brackets, each four times as wide as the last
_START_BITS = 64  # of the bracket that a new root stores: printing needs no further evaluation

UNKNOWNS = (K, C_W, C_b)
_BOUND = (kappa, kappa_W, kappa_b)
_SYSTEM_BITS = 70  # bits of the start that a number stores: printing needs no further evaluation


class ImplicitNumber(Opaque, sp.Expr):
    """A positive number without a closed form; its sympy arguments define it."""

    is_commutative = True
    is_number = True
    is_extended_real = True
    is_real = True
    is_positive = True

    _ball_arguments: tuple[sp.Expr, ...] = ()

    @abstractmethod
    def _ball(self, arguments: list[arb], bits: int) -> arb:
        """An enclosure with about so many bits."""

    def _eval_evalf(self, prec: int) -> sp.Float:
        value, _ = value_and_radius(self._ball([], prec + 4))
        return sp.Float(value, precision=prec)

    def _sympystr(self, printer: Printer) -> str:
        return str(self.evalf(15))

    def _latex(self, printer: Printer) -> str:
        return rf"{self.evalf(15)}\ldots"


class Value(ImplicitNumber):
    """The value of an expression without symbols that is too long to be read.

    Args:
        expression: positive.
    """

    def _ball(self, arguments: list[arb], bits: int) -> arb:
        return _enclosed(self.args[0], bits)


@lru_cache(maxsize=1024)
def _enclosed(expression: sp.Expr, bits: int) -> arb:
    return enclose(expression, {}, bits + _GUARD)


class Root(ImplicitNumber):
    """The root of an equation between two rational points where it has opposite signs.

    Args:
        equation: expression in ``symbols.kappa``.
        low: left end, a positive rational.
        high: right end.
    """

    @classmethod
    def between(cls, equation: sp.Expr, low: sp.Rational, high: sp.Rational) -> Root:
        """The root in a wide bracket, with a tight one stored."""
        start = zero(partial(at_kappa, equation), low, high)
        with mp.workprec(2 * _START_BITS):
            left, right = _bracket(equation, mp.mpf(start), 40, _START_BITS)
        return cls(equation, number(left, "K*"), number(right, "K*"))

    @property
    def _definition(self) -> tuple[sp.Expr, ...]:
        """The equation and the ends."""
        return self.args

    @property
    def equation(self) -> sp.Expr:
        """The expression in ``symbols.kappa`` that vanishes at the root."""
        return self._definition[0]

    @cached_property
    def _tightest(self) -> tuple[mp.mpf, mp.mpf]:
        """The ends of the narrowest bracket that was ever asked for."""
        low, high = map(as_mpf, self._definition[1:])
        return low, high

    def _ball(self, arguments: list[arb], bits: int) -> arb:
        with mp.workprec(2 * bits + 2 * _START_BITS):
            left, right = self._tightest
            accuracy = int(-mp.log((right - left) / right, 2))
            if accuracy < bits:
                left, right = self._tightest = _bracket(self.equation, (left + right) / 2, accuracy, bits)
        with ctx.workprec(2 * bits + 2 * _START_BITS):
            return at_kappa(kappa, left, ctx.prec).union(at_kappa(kappa, right, ctx.prec))


class FormulaZero(Root, sp.Atom):
    """A positive zero of a declared formula: its equation is no part of the formulas in which it stands.

    What looks through an expression for error functions or roots must not meet those of the equation.
    """

    def __new__(cls, *definition: sp.Expr) -> FormulaZero:
        """The zero of an equation between two ends, as of a ``Root``."""
        self = sp.Atom.__new__(cls)
        self._hidden = definition
        return self

    def __getnewargs__(self) -> tuple[sp.Expr, ...]:
        return self._hidden

    def _hashable_content(self) -> tuple[sp.Expr, ...]:
        return self._hidden

    @property
    def _definition(self) -> tuple[sp.Expr, ...]:
        return self._hidden

    def _sympyrepr(self, printer: Printer) -> str:
        return f"FormulaZero({', '.join(map(printer._print, self._hidden))})"


def _bracket(equation: sp.Expr, root: mp.mpf, accuracy: int, bits: int) -> tuple[mp.mpf, mp.mpf]:
    """Refine a root from so many accurate bits by secant steps, and enclose it by a proved change of sign.

    First with the precision that a simple zero needs. Where that shows no change of sign, with the one of a double
    zero or of an equation that cancels.
    """
    for spare, tries in ((False, 1), (True, _TRIES)):
        refined = _refined(equation, root, accuracy, bits, spare)
        radius = refined * mp.mpf(2) ** -bits
        for _ in range(tries):
            ends = refined - radius, refined + radius
            left, right = (at_kappa(equation, end, 2 * bits + 20 if spare else bits + _SPARE_BITS) for end in ends)
            if left * right < 0:
                return ends
            radius *= 4
    raise NoClosedForm(f"the root of {equation}", "no change of sign was found", "report a defect of symres")


def _refined(equation: sp.Expr, root: mp.mpf, accuracy: int, bits: int, spare: bool) -> mp.mpf:
    """A root to some more than so many bits, if the precision is enough."""
    while accuracy < bits + 4:
        # a secant over half of the accurate bits has nearly half as many more
        step = root * mp.mpf(2) ** -(accuracy // 2)
        gained = min(3 * accuracy // 2, bits + 8)
        precision = 2 * accuracy + 40 if spare else gained + _SPARE_BITS
        here, there = (at_kappa(equation, place, precision) for place in (root, root + step))
        with ctx.workprec(4 * accuracy + 80):
            shift = (here / (there - here)).mid()
            if not shift.is_finite():
                break
        root -= value_and_radius(shift)[0] * step
        accuracy = gained - 4
    return root


def scanned_roots(function: sp.Expr, variable: sp.Symbol) -> tuple[list[Root], str]:
    """The zeros of a function of a positive variable that a scan finds, and where it could not look."""
    if not function.has(variable):
        return [], ""
    equation = function.xreplace({variable: kappa})
    try:
        slope = kappa * equation.diff(kappa)
    except NoClosedForm:  # two zeros in one cell of the grid would be missed, nothing else
        slope = sp.nan
    value, rise = (partial(at_kappa, expression) for expression in (equation, slope))
    all_zeros = zeros(value, rise, float_values(equation))
    return [Root.between(equation, *ends) for ends in all_zeros.crossings], all_zeros.unseen


class SystemRoot(ImplicitNumber):
    """One coordinate of the place where three functions of K, C_W and C_b vanish.

    Args:
        equations: the three, in ``symbols.kappa``, ``kappa_W`` and ``kappa_b``.
        start: a place so close that Newton's method goes to the solution, exact numbers.
        index: 0 for K, 1 for C_W, 2 for C_b.
    """

    def __new__(cls, equations: sp.Tuple, start: sp.Tuple, index: int) -> SystemRoot:
        """A coordinate of the solution near a place."""
        return super().__new__(cls, equations, start, sp.Integer(index))

    @classmethod
    def near(cls, equations: Sequence[sp.Expr], start: Sequence[float]) -> tuple[SystemRoot, SystemRoot, SystemRoot]:
        """K, C_W and C_b where three functions vanish.

        Raises:
            NoClosedForm: there is no solution close to the start.
        """
        bound = dict(zip(UNKNOWNS, _BOUND, strict=True))
        system, place = sp.Tuple(*(e.xreplace(bound) for e in equations)), sp.Tuple(*(number(x, "K*") for x in start))
        close = sp.Tuple(*(number(x, "K*") for x in solution_near(system, _BOUND, _numbers(place), _SYSTEM_BITS + 10)))
        return cls(system, close, 0), cls(system, close, 1), cls(system, close, 2)

    def _ball(self, arguments: list[arb], bits: int) -> arb:
        with mp.workprec(bits + 20):
            accuracy, solution = self._closest
            if accuracy < bits + 4:
                solution = solution_near(self.args[0], _BOUND, solution, bits + 4)
                self._closest = bits + 4, solution
            value = solution[int(self.args[2])]
            radius = abs(value) * mp.mpf(2) ** -bits
            ends = [enclose(K, {K: end}, bits + 20) for end in (value - radius, value + radius)]
        return ends[0].union(ends[1])

    @cached_property
    def _closest(self) -> tuple[int, list[mp.mpf]]:
        """The best solution so far, with its bits."""
        return _SYSTEM_BITS, _numbers(self.args[1])


def solution_near(
    equations: Sequence[sp.Expr], unknowns: Sequence[sp.Symbol], start: Sequence[mp.mpf | float], bits: int
) -> list[mp.mpf]:
    """The place where as many functions as unknowns vanish, to so many bits, by Newton's method from a close one.

    Raises:
        NoClosedForm: there is no solution close to the start.
    """
    precision = 2 * bits + _SPARE_BITS
    least = mp.mpf(2) ** (-bits - 2 * _SPARE_BITS)  # of the functions: an unknown may be small beside the others

    def values(*place: mp.mpf) -> list[mp.mpf]:
        at = dict(zip(unknowns, place, strict=True))
        return [value_and_radius(enclose(e, at, precision))[0] for e in equations]

    with mp.workprec(precision):
        try:
            place = [*mp.findroot(values, tuple(start), tol=least, verify=False)]
            if max(map(abs, values(*place))) < least * max(1, *map(abs, place)):
                return place
        except (SymresError, ZeroDivisionError):  # no number on the way, or slopes that do not tell the step
            pass
    raise NoClosedForm("a critical point", "Newton's method found no solution near the start", "report a defect")


def _numbers(place: sp.Tuple) -> list[mp.mpf]:
    with mp.workprec(2 * _SYSTEM_BITS):  # whoever asks first
        return [*map(as_mpf, place)]
