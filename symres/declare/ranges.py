"""Ranges of formulas over intervals, unbounded ones included.

A mid-radius ball cannot say "every z above 3". Here an interval has exact ends (python-flint numbers of radius zero,
rounded outwards), an end may be infinite, and an end may be open: approached, never taken. So ``1 - tanh(z)`` is known
to be positive on the whole line, which is what a proof about the whole line needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import sympy as sp
from flint import arb, ctx, fmpq

from ..symbols import z

BITS = 64
_INF = arb.pos_inf()
_LARGE = arb(2) ** 1000  # stands for a lower end that overflowed


class Undefined(Exception):
    """The formula could not be shown to be defined on the whole interval."""


class Range(NamedTuple):
    """The values of a formula lie between two exact ends; an open end is not taken (an infinite one never is)."""

    lo: arb
    hi: arb
    lo_open: bool = False
    hi_open: bool = False

    @property
    def is_positive(self) -> bool:
        """Every value is above zero."""
        return bool(self.lo > 0) or (bool(self.lo == 0) and self.lo_open)

    @property
    def is_nonnegative(self) -> bool:
        """No value is below zero."""
        return bool(self.lo >= 0)

    @property
    def is_negative(self) -> bool:
        """Every value is below zero."""
        return bool(self.hi < 0) or (bool(self.hi == 0) and self.hi_open)

    @property
    def is_nonpositive(self) -> bool:
        """No value is above zero."""
        return bool(self.hi <= 0)

    @property
    def excludes_zero(self) -> bool:
        """Zero is not a value."""
        return self.is_positive or self.is_negative


Operation = Callable[..., Range]

LINE = Range(-_INF, _INF, True, True)


def interval(lo: arb, hi: arb, lo_open: bool = False, hi_open: bool = False) -> Range:
    """Ends given as balls, rounded outwards; what overflowed or is not a number becomes infinite."""
    low = -_INF if lo.is_nan() else lo.lower()
    high = _INF if hi.is_nan() else hi.upper()
    low = _LARGE if low == _INF else low
    high = -_LARGE if high == -_INF else high
    return Range(low, high, lo_open or bool(low == -_INF), hi_open or bool(high == _INF))


def range_of_assumptions(symbol: sp.Symbol) -> Range:
    """All values that a parameter's assumptions admit."""
    if symbol.is_nonnegative:
        return Range(arb(0), _INF, bool(symbol.is_positive), True)
    if symbol.is_nonpositive:
        return Range(-_INF, arb(0), True, bool(symbol.is_negative))
    return LINE


class RangeProgram:
    """A formula compiled once for evaluation over many intervals.

    Args:
        expr: a smooth formula; Abs, sign, Max and Min may occur, of parameters.
        values: a range for every symbol but ``z``.
    """

    def __init__(self, expr: sp.Expr, values: Mapping[sp.Symbol, Range]) -> None:
        self._values = values
        self._places: dict[sp.Basic, int] = {z: 0}
        self._steps: list[tuple[Operation, tuple[int, ...]]] = []
        self._result = self._visit(expr)

    def __call__(self, box: Range = LINE) -> Range:
        """The range over ``z`` in ``box``, in the current ``flint.ctx`` precision.

        Raises:
            Undefined: a division by zero, a root or a logarithm of a negative number cannot be excluded.
        """
        held = [box]
        for operation, places in self._steps:
            held.append(operation(*[held[i] for i in places]))
        return held[self._result]

    def _visit(self, node: sp.Basic) -> int:
        if node not in self._places:
            self._places[node] = self._lower(node)
        return self._places[node]

    def _emit(self, operation: Operation, *places: int) -> int:
        self._steps.append((operation, places))
        return len(self._steps)

    def _lower(self, node: sp.Basic) -> int:
        if node in self._values:
            value = self._values[node]
            return self._emit(lambda: value)
        if isinstance(node, sp.Add | sp.Mul):
            total, *rest = map(self._visit, node.args)
            for place in rest:
                total = self._emit(_add if isinstance(node, sp.Add) else _multiply, total, place)
            sharper = self._polynomial(node) or self._quotient(node)
            return total if sharper is None else self._emit(_meet, total, self._emit(sharper, 0))
        if isinstance(node, sp.exp):
            return self._emit(FUNCTIONS["exp"], self._visit(node.exp))
        if isinstance(node, sp.Pow):
            return self._power(node.base, node.exp)
        if isinstance(node, sp.Max | sp.Min):  # of parameters: those of z are split off before
            first, *rest = map(self._visit, node.args)
            for place in rest:
                first = self._emit(_largest if isinstance(node, sp.Max) else _smallest, first, place)
            return first
        if type(node).__name__ in FUNCTIONS and len(node.args) == 1:
            return self._emit(FUNCTIONS[type(node).__name__], self._visit(node.args[0]))
        constant = _constant(node)
        if constant is None:
            raise Undefined(node)
        return self._emit(constant)

    def _power(self, base: sp.Expr, exponent: sp.Expr) -> int:
        place = self._visit(base)
        if exponent.is_Integer:
            power = int(exponent)
            if power >= 0:
                return self._emit(lambda x: _integer_power(x, power), place)
            return self._emit(lambda x: _reciprocal(_integer_power(x, -power)), place)
        if exponent.has(z) or exponent.free_symbols & set(self._values):
            product = self._emit(_multiply, self._visit(exponent), self._emit(FUNCTIONS["log"], place))
            return self._emit(FUNCTIONS["exp"], product)
        fixed = RangeProgram(exponent, {})
        return self._emit(lambda x: _real_power(x, fixed()), place)

    def _polynomial(self, node: sp.Expr) -> Operation | None:
        """Polynomials with rational coefficients are expanded around an end of the interval: sharp far outside."""
        if not isinstance(node, sp.Add) or node.free_symbols != {z} or not node.is_polynomial(z):
            return None
        coefficients = sp.Poly(node, z).all_coeffs()
        if sum(c != 0 for c in coefficients[:-1]) < 2 or not all(c.is_Rational for c in coefficients):
            return None
        return lambda x: _polynomial_range([fmpq(int(c.p), int(c.q)) for c in coefficients], x)

    def _quotient(self, node: sp.Expr) -> Operation | None:
        """A quotient of polynomials with rational coefficients: on a half-line, a function of ``1/z``."""
        if node.free_symbols != {z} or not node.is_rational_function(z) or node.is_polynomial(z):
            return None
        top, bottom = (sp.Poly(part, z).all_coeffs() for part in sp.together(node).as_numer_denom())
        if not all(c.is_Rational for c in (*top, *bottom)):
            return None
        above, below = ([fmpq(int(c.p), int(c.q)) for c in reversed(part)] for part in (top, bottom))
        return lambda x: _quotient_range(above, below, x)


def sign_of(expr: sp.Expr, point: sp.Expr | None = None) -> int | None:
    """The sign of an expression, for all admissible values of its parameters; None if undecided.

    A number that vanishes to 300 digits is taken for zero.

    Args:
        expr: free of ``z``, or without parameters if a point is given.
        point: the value of ``z``, a number.
    """
    if expr.is_Rational:
        return (expr.p > 0) - (expr.p < 0)
    parameters = expr.free_symbols - {z}
    try:
        program = RangeProgram(expr, {s: range_of_assumptions(s) for s in parameters})
        where = None if point is None else RangeProgram(point, {})
        for bits in (BITS, 256, 1100):
            with ctx.workprec(bits):
                value = program() if where is None else program(where())
                if value.is_positive:
                    return 1
                if value.is_negative:
                    return -1
                if parameters:
                    break
                if bits > 1000 and value.hi - value.lo < arb(2) ** -1000:
                    return 0
    except Undefined:
        pass
    if point is None:
        for test, answer in ((expr.is_zero, 0), (expr.is_positive, 1), (expr.is_negative, -1)):
            if test:
                return answer
    return None


def vanishes(expr: sp.Expr) -> bool:
    """Whether an expression without ``z`` is zero for all admissible values of its parameters.

    Decided by its expansion or, where that is not enough, by its value at five generic points to 300 digits.
    """
    if expr.is_Rational:
        return expr == 0
    signs = {sign_of(expr.xreplace(values)) for values in samples(sorted(expr.free_symbols, key=str))}
    if signs & {1, -1}:
        return False
    return signs == {0} or sp.expand(expr) == 0


_GENERIC = (sp.Integer(1), sp.Rational(5, 7), sp.Rational(19, 11), sp.Rational(1, 23), sp.Rational(37, 2))


def samples(parameters: Sequence[sp.Symbol]) -> Iterator[dict[sp.Symbol, sp.Rational]]:
    """Admissible values of parameters: a simple one, some generic ones, a small and a large one.

    Without parameters there is one empty sample.
    """
    for k in range(len(_GENERIC) if parameters else 1):
        yield {p: admissible(p, k + 2 * place) for place, p in enumerate(parameters)}


def admissible(parameter: sp.Symbol, k: int) -> sp.Rational:
    """The k-th of a few values that a parameter's assumptions admit."""
    value = sp.Integer(1 + k) if parameter.is_integer else _GENERIC[k % len(_GENERIC)]
    negative = parameter.is_nonpositive or (not parameter.is_nonnegative and k % 2)
    return -value if negative else value


# ------------------------------------------------------------------------------------------------ arithmetic
def _constant(node: sp.Basic) -> Operation | None:
    if isinstance(node, sp.Rational):
        ratio = fmpq(int(node.p), int(node.q))
        return lambda: interval(arb(ratio), arb(ratio))
    if node is sp.pi:
        return lambda: interval(arb.pi(), arb.pi())
    if node is sp.E:
        return lambda: interval(arb.const_e(), arb.const_e())
    return None


def _add(x: Range, y: Range) -> Range:
    return interval(x.lo + y.lo, x.hi + y.hi, x.lo_open or y.lo_open, x.hi_open or y.hi_open)


def _negative(x: Range) -> Range:
    return Range(-x.hi, -x.lo, x.hi_open, x.lo_open)


def _multiply(x: Range, y: Range) -> Range:
    corners = [
        (arb(0) if a == 0 or b == 0 else a * b, a_open or b_open)
        for a, a_open in ((x.lo, x.lo_open), (x.hi, x.hi_open))
        for b, b_open in ((y.lo, y.lo_open), (y.hi, y.hi_open))
    ]
    lows, highs = [(c.lower(), o) for c, o in corners], [(c.upper(), o) for c, o in corners]
    lo, hi = min(low for low, _ in lows), max(high for high, _ in highs)
    never_zero = x.excludes_zero and y.excludes_zero
    lo_open = never_zero if lo == 0 else all(o for low, o in lows if low == lo)
    hi_open = never_zero if hi == 0 else all(o for high, o in highs if high == hi)
    return interval(lo, hi, lo_open, hi_open)


def _meet(x: Range, y: Range) -> Range:
    """Two ranges of the same formula."""
    lo, hi = max(x.lo, y.lo), min(x.hi, y.hi)
    lo_open = (x.lo == lo and x.lo_open) or (y.lo == lo and y.lo_open)
    hi_open = (x.hi == hi and x.hi_open) or (y.hi == hi and y.hi_open)
    return Range(lo, hi, bool(lo_open), bool(hi_open))


def _absolute(x: Range) -> Range:
    if x.lo >= 0:
        return x
    if x.hi <= 0:
        return _negative(x)
    above = _negative(x) if -x.lo > x.hi else x
    return Range(arb(0), above.hi, False, above.hi_open)


def _largest(x: Range, y: Range) -> Range:
    return Range(max(x.lo, y.lo), max(x.hi, y.hi), x.lo_open and y.lo_open, x.hi_open and y.hi_open)


def _smallest(x: Range, y: Range) -> Range:
    return _negative(_largest(_negative(x), _negative(y)))


def _sign(x: Range) -> Range:
    low, high = (1 if x.is_positive else -1), (-1 if x.is_negative else 1)
    return Range(arb(low), arb(high))


def _integer_power(x: Range, power: int) -> Range:
    x = x if power % 2 else _absolute(x)
    return interval(x.lo**power, x.hi**power, x.lo_open, x.hi_open)


def _reciprocal(x: Range) -> Range:
    if x.is_negative:
        return _negative(_reciprocal(_negative(x)))
    if not x.is_positive:
        raise Undefined
    low = arb(0) if x.hi == _INF else 1 / x.hi
    high = _INF if x.lo == 0 else 1 / x.lo
    return interval(low, high, x.hi_open, x.lo_open)


def _real_power(x: Range, exponent: Range) -> Range:
    """A fixed exponent that is no integer."""
    if exponent.is_negative:
        return _reciprocal(_real_power(x, _negative(exponent)))
    if not x.is_nonnegative or not exponent.is_positive:
        raise Undefined
    e = exponent.lo.union(exponent.hi)
    low, high = (end if end == 0 or end == _INF else end**e for end in (x.lo, x.hi))
    return interval(low, high, x.lo_open, x.hi_open)


def _polynomial_range(coefficients: list[fmpq], x: Range) -> Range:
    """Horner's scheme around the end of the interval that is nearer to infinity."""
    if x.lo == -_INF and x.hi == _INF:
        return LINE
    if x.lo == -_INF:
        flipped = [c * (-1) ** k for k, c in enumerate(reversed(coefficients))][::-1]
        return _polynomial_range(flipped, _negative(x))
    shifted = [arb(c) for c in coefficients]
    for stop in range(len(shifted) - 1, 0, -1):
        for k in range(1, stop + 1):
            shifted[k] = shifted[k] + shifted[k - 1] * x.lo
    distance = Range(arb(0), _INF if x.hi == _INF else (x.hi - x.lo).upper(), x.lo_open, x.hi_open)
    total = interval(shifted[0], shifted[0])
    for c in shifted[1:]:
        total = _add(_multiply(total, distance), interval(c, c))
    return total._replace(lo_open=False, hi_open=False)


def _quotient_range(above: list[fmpq], below: list[fmpq], x: Range) -> Range:
    """``z**(p - q)`` times a quotient of polynomials in w = 1/z, whose coefficients are those of z in reverse."""
    if x.lo.is_finite() == x.hi.is_finite() or not x.excludes_zero:
        return LINE
    w = _reciprocal(x)
    try:
        quotient = _multiply(_polynomial_range(above, w), _reciprocal(_polynomial_range(below, w)))
    except Undefined:
        return LINE
    degree = len(above) - len(below)
    return _multiply(quotient, _integer_power(x if degree > 0 else w, abs(degree))) if degree else quotient


# ------------------------------------------------------------------------------------------------ functions
def _monotone(
    function: Callable[[arb], arb],
    left: Callable[[], arb],
    right: Callable[[], arb],
    domain: Callable[[Range], bool] = lambda x: True,
    start: arb = -_INF,
) -> Operation:
    """An increasing function with the limits ``left`` at ``start`` and ``right`` at infinity, which it never takes."""

    def operation(x: Range) -> Range:
        if not domain(x):
            raise Undefined
        bottom, top = left(), right()
        low = bottom if x.lo == start else function(x.lo)
        high = top if x.hi == _INF else function(x.hi)
        image = interval(low, high, x.lo_open, x.hi_open)
        if image.lo <= bottom.lower():
            image = image._replace(lo=bottom.lower(), lo_open=True)
        if image.hi >= top.upper():
            image = image._replace(hi=top.upper(), hi_open=True)
        return image

    return operation


def _oscillation(x: Range, function: Callable[[arb], arb]) -> Range:
    if not x.hi - x.lo < 4:
        return Range(arb(-1), arb(1))
    image = function(x.lo.union(x.hi))
    return Range(max(image.lower(), arb(-1)), min(image.upper(), arb(1)))


def _tangent(x: Range) -> Range:
    if not x.hi - x.lo < 4:
        raise Undefined
    branches = [(end / arb.pi() + arb(1) / 2).floor() for end in (x.lo, x.hi)]
    if not branches[0] == branches[1]:
        raise Undefined
    return interval(x.lo.tan(), x.hi.tan(), x.lo_open, x.hi_open)


def _arcsine(x: Range) -> Range:
    if x.lo < -1 or x.hi > 1:
        raise Undefined
    return interval(x.lo.asin(), x.hi.asin(), x.lo_open, x.hi_open)


def _quarter() -> arb:
    return arb.pi() / 2


def _flipped(operation: Operation, offset: Callable[[], arb]) -> Operation:
    """``offset - f(x)``."""
    return lambda x: _add(interval(offset(), offset()), _negative(operation(x)))


_ERFC = _monotone(lambda x: -x.erfc(), lambda: arb(-2), lambda: arb(0))

FUNCTIONS: Mapping[str, Operation] = {
    "exp": _monotone(arb.exp, lambda: arb(0), lambda: _INF),
    "log": _monotone(arb.log, lambda: -_INF, lambda: _INF, lambda x: x.is_positive, arb(0)),
    "sinh": _monotone(arb.sinh, lambda: -_INF, lambda: _INF),
    "cosh": lambda x: _monotone(arb.cosh, lambda: arb(1), lambda: _INF)(_absolute(x))._replace(lo_open=False),
    "tanh": _monotone(arb.tanh, lambda: arb(-1), lambda: arb(1)),
    "asinh": _monotone(arb.asinh, lambda: -_INF, lambda: _INF),
    "atan": _monotone(arb.atan, lambda: -_quarter(), _quarter),
    "erf": _monotone(arb.erf, lambda: arb(-1), lambda: arb(1)),
    "erfc": lambda x: _negative(_ERFC(x)),
    "sin": lambda x: _oscillation(x, arb.sin),
    "cos": lambda x: _oscillation(x, arb.cos),
    "tan": _tangent,
    "asin": _arcsine,
    "acos": _flipped(_arcsine, _quarter),
    "Abs": _absolute,
    "sign": _sign,
}
