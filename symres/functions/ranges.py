"""Ranges of formulas over intervals; from them the signs and zeros of constants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial, reduce
from itertools import product

import sympy as sp
from flint import arb, ctx, fmpq

from ..core.atoms import Opaque
from ..core.symbols import z
from ..core.work_budget import spend
from ..numerics import interval_arithmetic as arithmetic
from .balls.compiler import compile_ball, constant_ball
from .balls.far_form import FAR, error_arguments, far_form
from .function_record import RECORDS, FunctionRecord, record_of

BITS = 64


def range_of_assumptions(symbol: sp.Symbol) -> arithmetic.Range:
    """All values that a parameter's assumptions admit."""
    if symbol.is_nonnegative:
        return arithmetic.Range(arb(0), arithmetic.LINE.hi, bool(symbol.is_positive), True)
    if symbol.is_nonpositive:
        return arithmetic.Range(arithmetic.LINE.lo, arb(0), True, bool(symbol.is_negative))
    return arithmetic.LINE


class RangeProgram:
    """A formula compiled once for evaluation over many intervals.

    Args:
        expr: a smooth formula; Abs, sign, Max and Min may occur, of parameters.
        values: a range for every symbol but ``z``.
    """

    def __init__(self, expr: sp.Expr, values: Mapping[sp.Symbol, arithmetic.Range]) -> None:
        self._expr, self._values = expr, values
        self._error_arguments = [] if values else [RangeProgram(u, {}) for u in error_arguments(expr)]
        self._far_programs: dict[tuple[int, ...], RangeProgram] = {}
        self._places: dict[sp.Basic, int] = {z: 0}
        self._steps: list[tuple[arithmetic.Operation, tuple[int, ...]]] = []
        self._result = self._visit(expr)

    def __call__(self, box: arithmetic.Range = arithmetic.LINE) -> arithmetic.Range:
        """The range over ``z`` in ``box``, in the current ``flint.ctx`` precision.

        Raises:
            Undefined: a division by zero, a root or a logarithm of a negative number cannot be excluded.
        """
        spend(len(self._steps))
        if self._error_arguments:
            ranges = [program(box) for program in self._error_arguments]
            sides = tuple(bool(u.lo > FAR) - bool(u.hi < -FAR) for u in ranges)
            if all(sides):  # all error functions are far out: the formula is written without their cancellation
                if sides not in self._far_programs:
                    form = far_form(self._expr, sides, box.is_positive - box.is_negative)
                    self._far_programs[sides] = RangeProgram(form, {})
                return self._far_programs[sides](box)
        registers = [box]
        for operation, places in self._steps:
            registers.append(operation(*[registers[i] for i in places]))
        return registers[self._result]

    def _visit(self, node: sp.Basic) -> int:
        if node not in self._places:
            self._places[node] = self._lower(node)
        return self._places[node]

    def _emit(self, operation: arithmetic.Operation, *places: int) -> int:
        self._steps.append((operation, places))
        return len(self._steps)

    def _fold(self, operation: arithmetic.Operation, nodes: Sequence[sp.Basic]) -> int:
        return reduce(partial(self._emit, operation), map(self._visit, nodes))

    def _lower(self, node: sp.Basic) -> int:
        """The register of a node that has none yet; polynomials and their quotients have a second, sharper range."""
        if node in self._values:
            value = self._values[node]
            return self._emit(lambda: value)
        if isinstance(node, sp.Add | sp.Mul):
            total = self._fold(arithmetic.add if isinstance(node, sp.Add) else arithmetic.multiply, node.args)
            sharper = self._polynomial(node) or self._quotient(node)
            return total if sharper is None else self._emit(arithmetic.intersection, total, self._emit(sharper, 0))
        if isinstance(node, sp.Pow):
            return self._power(node.base, node.exp)
        record = record_of(node)
        if record is not None and (record.range is not None or record.limits is not None):
            if isinstance(node, sp.Max | sp.Min):  # of parameters: those of z are split off before
                return self._fold(_rule(record), node.args)
            return self._emit(_rule(record), self._visit(node.args[0]))
        if record is not None and record.definition is not None:
            return self._visit(record.definition(*node.args))
        constant = constant_ball(node) if node.is_Rational or node in (sp.pi, sp.E) else None
        if isinstance(node, Opaque) and not node._ball_arguments:  # a number, such as the root of an equation
            constant = partial(compile_ball(node, ()), ())
        if constant is None:
            raise arithmetic.Undefined(node)
        return self._emit(lambda: arithmetic.interval(constant(), constant()))

    def _power(self, base: sp.Expr, exponent: sp.Expr) -> int:
        """A power by its exponent: an integer, one that varies, or a fixed number."""
        place = self._visit(base)
        if exponent.is_Integer:
            power = int(exponent)
            if power >= 0:
                return self._emit(lambda x: arithmetic.integer_power(x, power), place)
            return self._emit(lambda x: arithmetic.reciprocal(arithmetic.integer_power(x, -power)), place)
        if exponent.has(z) or exponent.free_symbols & set(self._values):
            product = self._fold(arithmetic.multiply, (exponent, sp.log(base, evaluate=False)))
            return self._emit(_rule(RECORDS[sp.exp]), product)
        fixed = RangeProgram(exponent, {})
        return self._emit(lambda x: arithmetic.real_power(x, fixed()), place)

    def _polynomial(self, node: sp.Expr) -> arithmetic.Operation | None:
        """Polynomials with rational coefficients are expanded around an end of the interval: sharp far outside."""
        if not isinstance(node, sp.Add) or node.free_symbols != {z} or not node.is_polynomial(z):
            return None
        coefficients = sp.Poly(node, z).all_coeffs()
        if sum(c != 0 for c in coefficients[:-1]) < 2 or not all(c.is_Rational for c in coefficients):
            return None
        return lambda x: arithmetic.polynomial_range([fmpq(int(c.p), int(c.q)) for c in coefficients], x)

    def _quotient(self, node: sp.Expr) -> arithmetic.Operation | None:
        """A quotient of polynomials with rational coefficients: on a half-line, a function of ``1/z``."""
        if node.free_symbols != {z} or not node.is_rational_function(z) or node.is_polynomial(z):
            return None
        top, bottom = (sp.Poly(part, z).all_coeffs() for part in sp.together(node).as_numer_denom())
        if not all(c.is_Rational for c in (*top, *bottom)):
            return None
        above, below = ([fmpq(int(c.p), int(c.q)) for c in reversed(part)] for part in (top, bottom))
        return lambda x: arithmetic.quotient_range(above, below, x)


@cache
def _rule(record: FunctionRecord) -> arithmetic.Operation:
    """The range of a function over an interval: that of its record or, if it is monotone, by its values and limits."""
    if record.range is not None:
        return record.range
    low, high = (compile_ball(limit, ()) for limit in record.limits or ())
    program = compile_ball(record.kind(z), (z,))
    limits = lambda: (low(()), high(()))  # noqa: E731, in the precision of the caller
    return arithmetic.monotone(lambda x: program((x,)), limits, record.domain, not record.is_increasing)


def is_bounded(record: FunctionRecord) -> bool:
    """Whether a function is known to be bounded on its domain."""
    if record.range is None and record.limits is None:
        return False
    return _rule(record)(record.domain).is_finite


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
    except arithmetic.Undefined:
        pass
    if point is None:
        for test, answer in ((expr.is_zero, 0), (expr.is_positive, 1), (expr.is_negative, -1)):
            if test:
                return answer
    return None


def vanishes(expr: sp.Expr) -> bool:
    """Whether an expression without ``z`` is zero for all admissible values of its parameters.

    Decided by its expansion or, where that is not enough, by its value at a handful of points to 300 digits.
    """
    if expr.is_Rational:
        return expr == 0
    signs = {sign_of(expr.xreplace(values)) for values in samples(sorted(expr.free_symbols, key=str))}
    if signs & {1, -1}:
        return False
    return signs == {0} or sp.expand(expr) == 0


_MAX_COMBINED = 3  # parameters whose signs are combined in all ways
_SIZES = {
    0: (),
    1: tuple(sp.Rational(11, 10) * sp.Integer(10) ** k for k in range(-6, 7)),
    2: (sp.Rational(1, 900), sp.Rational(1, 31), sp.Rational(11, 10), sp.Integer(33), sp.Integer(1100)),
    3: (sp.Rational(1, 31), sp.Integer(33)),
}  # by the number of parameters: fewer sizes where there are more combinations
_GENERIC = (sp.Integer(1), sp.Rational(5, 7), sp.Rational(19, 11), sp.Rational(1, 23), sp.Rational(37, 2))


def samples(parameters: Sequence[sp.Symbol]) -> Iterator[dict[sp.Symbol, sp.Rational]]:
    """Admissible values of parameters: a simple one, some generic ones, a small and a large one, zero if it may be.

    Two parameters (of the first few) have the same sign in some of them, and opposite ones in others. Without
    parameters there is one empty sample.
    """
    for k in range(len(_GENERIC) if parameters else 1):
        negative = [bool(k >> i & 1) for i in range(_MAX_COMBINED)]
        yield {p: admissible(p, k + 2 * i, negative[i % _MAX_COMBINED]) for i, p in enumerate(parameters)}
    if any(p.is_nonzero is None for p in parameters):
        yield {p: sp.Integer(0) if p.is_nonzero is None else admissible(p, 1, True) for p in parameters}


def admissible(parameter: sp.Symbol, k: int, negative: bool) -> sp.Rational:
    """The k-th of a few values that a parameter's assumptions admit, negative if that may be."""
    value = sp.Integer(1 + k) if parameter.is_integer else _GENERIC[k % len(_GENERIC)]
    return of_size(parameter, -value if negative else value)


def parameter_grid(parameters: Sequence[sp.Symbol]) -> Iterator[dict[sp.Symbol, sp.Rational]]:
    """Admissible values of parameters over many decades, in all combinations of sizes and signs; each at zero too.

    What depends on parameters differently somewhere is seen here, unless that is a narrow range of values: with three
    parameters or more (those after the third go with them) there are two sizes only.
    """
    count = min(len(parameters), _MAX_COMBINED)
    for sizes in product(_SIZES[count], repeat=count):
        yield from signed_sizes(parameters, [sizes[i % _MAX_COMBINED] for i in range(len(parameters))])
    for absent in (p for p in parameters if p.is_nonzero is None):
        yield {p: sp.Integer(0) if p == absent else admissible(p, 1, True) for p in parameters}


def of_size(parameter: sp.Symbol, size: sp.Rational) -> sp.Rational:
    """The number of a size (the next integer) that a parameter's assumptions admit, with its sign if they do."""
    value = sp.ceiling(abs(size)) if parameter.is_integer else abs(size)
    return -value if parameter.is_nonpositive or (size < 0 and not parameter.is_nonnegative) else value


def admits(parameter: sp.Symbol, value: sp.Rational) -> bool:
    """Whether a number may stand for a parameter."""
    return of_size(parameter, value) == value if value else parameter.is_nonzero is None


def signed_sizes(parameters: Sequence[sp.Symbol], sizes: Sequence[sp.Rational]) -> list[dict[sp.Symbol, sp.Rational]]:
    """Numbers of given sizes for parameters, with all admissible combinations of signs of the first three."""
    combinations: list[dict[sp.Symbol, sp.Rational]] = []
    for signs in product((1, -1), repeat=min(len(parameters), _MAX_COMBINED)):
        pairs = enumerate(zip(parameters, sizes, strict=True))
        numbers = {s: of_size(s, signs[i % _MAX_COMBINED] * size) for i, (s, size) in pairs}
        if numbers not in combinations:
            combinations.append(numbers)
    return combinations
