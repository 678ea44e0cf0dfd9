"""Puiseux series: sums of powers with rational exponents, complete up to one of them, and formulas as such sums.

``(1 - cos(z))/z`` and ``sqrt(z + z**2)`` have one for z -> 0, z > 0, and so has ``atan(1/z)``: every formula near 0 and
every algebraic one far out. Sums, products, powers, exponentials and logarithms of series have rules; sine and cosine
are composed; another function is replaced by its definition, or integrated from its slope.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from operator import add, mul

import sympy as sp

from ...core.errors import NoClosedForm
from ...core.symbols import z
from ...functions.function_record import record_of
from ...functions.ranges import sign_of, vanishes

_LARGEST_EXPONENT = 2**40  # sympy takes exponentials of larger numbers for integers that fit into no memory
_MOST_TERMS = 1000  # of a series: products take seconds
_MAX_COEFFICIENT_TERMS = 300  # a longer coefficient is unreadable, and products take minutes
_AHEAD = (0, 1, 4, 16)  # powers of z beyond the last one wanted: roots and quotients make the sum shorter


@dataclass(frozen=True)
class PuiseuxSeries:
    """``sum of coefficient*t**exponent`` for a small t > 0, and terms beyond ``t**complete_to``.

    Args:
        terms: the coefficient, without t, of each exponent.
        complete_to: every term up to this exponent is there; infinite for a sum that ends.
    """

    terms: Mapping[sp.Expr, sp.Expr]
    complete_to: sp.Expr = sp.oo

    @cached_property
    def low(self) -> sp.Expr:
        """The lowest exponent that it may have."""
        return min(self.terms, default=self.complete_to)

    @property
    def limit(self) -> sp.Expr:
        """The coefficient of the power 0."""
        return self.terms.get(sp.Integer(0), sp.Integer(0))

    @property
    def beside_limit(self) -> PuiseuxSeries:
        """All other terms."""
        return PuiseuxSeries({e: value for e, value in self.terms.items() if e != 0}, self.complete_to)

    def __add__(self, other: PuiseuxSeries) -> PuiseuxSeries:
        total = dict(self.terms)
        for exponent, value in other.terms.items():
            total[exponent] = total.get(exponent, sp.Integer(0)) + value
        return _cut(total, min(self.complete_to, other.complete_to))

    def __mul__(self, other: PuiseuxSeries) -> PuiseuxSeries:
        if sp.oo in (self.low, other.low):  # exactly 0
            return ZERO
        end = min(self.complete_to + other.low, other.complete_to + self.low)
        total: dict[sp.Expr, list[sp.Expr]] = {}
        for one, a in self.terms.items():
            for two, b in other.terms.items():
                if one + two <= end:
                    total.setdefault(one + two, []).append(multiplied_out(a, b))
        return _cut({e: sp.Add(*values) for e, values in total.items()}, end)

    @cached_property
    def without_zeros(self) -> PuiseuxSeries:
        """Without coefficients that are 0 in disguise, in increasing order."""
        return PuiseuxSeries(
            {e: value for e, value in sorted(self.terms.items()) if not vanishes(value)}, self.complete_to
        )

    def power(self, exponent: sp.Expr, wanted: sp.Expr) -> PuiseuxSeries:
        """The sum to a constant power, infinite series up to t**wanted: by ``u y' = exponent u' y``.

        Raises:
            NoClosedForm: a negative power of what vanishes, or a power that is not rational of what vanishes at t = 0.
        """
        if exponent.is_Integer and exponent >= 0:
            return reduce(mul, [self] * int(exponent), ONE)
        law = self.without_zeros
        if not law.terms and exponent.is_positive and exponent.is_Rational:
            return PuiseuxSeries({}, law.complete_to * exponent)
        if not law.terms or not (exponent.is_Rational or law.low == 0):
            raise NoClosedForm(f"a power {exponent} in a series", "its base vanishes", "use evalf")
        first, low = law.terms[law.low], law.low * exponent
        inverse = _rationalised(1 / first)
        others = {e - law.low: multiplied_out(value, inverse) for e, value in law.terms.items() if e != law.low}
        ratio = PuiseuxSeries(others, law.complete_to - law.low)
        front = PuiseuxSeries({low: _rationalised(first**exponent)})
        return front * _recurrent(ratio, lambda d, e: (exponent * d - (e - d)) / e, wanted - low)

    def exponential(self, wanted: sp.Expr) -> PuiseuxSeries:
        """The exponential of the sum, up to t**wanted, by ``y' = u' y``; what decays faster than every power is 0.

        Raises:
            NoClosedForm: it grows faster than every power, or that depends on parameters.
        """
        u = self.without_zeros
        if u.low < 0:
            first = u.terms.get(u.low, sp.nan)  # without terms nothing says whether it grows
            if first.is_negative:
                return ZERO
            asked = f"a series of exp({first}*K**{u.low})"
            raise NoClosedForm(asked, "it is not a sum of powers of K", "declare the signs of its parameters")
        front = PuiseuxSeries({sp.Integer(0): sp.exp(u.limit)})
        return front * _recurrent(u.beside_limit, lambda d, e: d / e, wanted)

    def diff(self) -> PuiseuxSeries:
        """The derivative in t."""
        return PuiseuxSeries({e - 1: e * value for e, value in self.terms.items() if e != 0}, self.complete_to - 1)

    def integrated(self, start: sp.Expr) -> PuiseuxSeries:
        """The integral with a value at t = 0.

        Raises:
            NoClosedForm: it is a logarithm, or infinite at t = 0.
        """
        integral = {e + 1: value / (e + 1) for e, value in self.terms.items() if e > -1}
        if len(integral) < len(self.terms):
            raise NoClosedForm("a series", "its derivative is too large at 0 to be integrated", "use evalf")
        return PuiseuxSeries({sp.Integer(0): start}) + PuiseuxSeries(integral, self.complete_to + 1)


ZERO, ONE = PuiseuxSeries({}), PuiseuxSeries({sp.Integer(0): sp.Integer(1)})


def composed(coefficient: Callable[[int], sp.Expr], inner: PuiseuxSeries, wanted: sp.Expr) -> PuiseuxSeries:
    """``sum of coefficient(n)*inner**n`` up to t**wanted, for a sum that vanishes with t."""
    if not inner.terms:
        return PuiseuxSeries({sp.Integer(0): coefficient(0)}, inner.complete_to)
    total, power = ZERO, ONE
    for n in range(max(int(sp.floor(wanted / inner.low)), 0) + 1):
        total, power = total + power * PuiseuxSeries({sp.Integer(0): coefficient(n)}), power * inner
    return _cut(total.terms, min(total.complete_to, wanted))


def _recurrent(u: PuiseuxSeries, weight: Callable[[sp.Expr, sp.Expr], sp.Expr], wanted: sp.Expr) -> PuiseuxSeries:
    """The series with ``y_0 = 1`` and ``y_e = sum_d weight(d, e) u_d y_(e-d)``, for a u that vanishes with t."""
    end = min(u.complete_to, wanted) if u.terms else u.complete_to
    exponents, reached = {sp.Integer(0)}, {sp.Integer(0)}
    while reached:
        reached = {e + d for e in reached for d in u.terms if e + d <= end} - exponents
        exponents |= reached
        if len(exponents) > _MOST_TERMS:
            raise NoClosedForm("a series", f"it has more than {_MOST_TERMS} terms", "use evalf instead")
    y = {sp.Integer(0): sp.Integer(1)}
    for e in sorted(exponents - {0}):
        values = (multiplied_out(weight(d, e), value, y[e - d]) for d, value in u.terms.items() if e - d in y)
        y[e] = sp.Add(*values)
    return _cut(y, end)


def _cut(terms: Mapping[sp.Expr, sp.Expr], end: sp.Expr) -> PuiseuxSeries:
    """The series of the terms up to ``t**end``, which are complete, without those that are 0."""
    return PuiseuxSeries({e: value for e, value in terms.items() if e <= end and value != 0}, end)


def multiplied_out(*sums: sp.Expr) -> sp.Expr:
    """A product of sums as a sum of products; sums below fractions and roots stay as they are."""
    return sp.Add(*(sp.Mul(*terms) for terms in product(*map(sp.Add.make_args, sums))))


def _rationalised(number: sp.Expr) -> sp.Expr:
    """A number without roots below a fraction; without any, sympy would ask for digits of powers that have none."""
    roots = (power for power in number.atoms(sp.Pow) if power.exp.is_Rational and not power.exp.is_Integer)
    return number if next(roots, None) is None else sp.radsimp(number)


# -------------------------------------------------------------------------------------------------------- formulas
def puiseux_series(formula: sp.Expr, order: sp.Expr | int) -> PuiseuxSeries:
    """The series of a formula for z -> 0, z > 0, with all terms up to ``z**order``.

    Args:
        formula: of z and parameters, without switches.
        order: the highest exponent wanted.

    Raises:
        NoClosedForm: it has no such series, or coefficients that are too long.
    """

    def coefficient(node: sp.Expr) -> PuiseuxSeries | None:
        return None if node.has(z) else _cut({sp.Integer(0): sp.expand(node)}, sp.oo)

    for ahead in _AHEAD:
        series = expanded(formula, z, sp.Integer(order + ahead), coefficient)
        if series.complete_to >= order:
            return _cut(series.terms, sp.Integer(order))
    raise no_series(formula)


def no_series(node: sp.Expr) -> NoClosedForm:
    """That a formula is not a sum of powers of z at 0."""
    return NoClosedForm("a small-variance series", f"symres knows no Taylor series of {node} at 0", "use evalf instead")


def expanded(
    formula: sp.Expr, variable: sp.Symbol, wanted: sp.Expr, leaf: Callable[[sp.Expr], PuiseuxSeries | None]
) -> PuiseuxSeries:
    """The series of a formula in powers of a variable t -> 0, t > 0; infinite ones up to ``t**wanted``.

    Args:
        formula: sums, products, powers and functions with a record.
        variable: t.
        wanted: the highest exponent wanted.
        leaf: the series of a part with a rule of its own, such as one without t; None for other parts.

    Raises:
        NoClosedForm: it has no such series, or coefficients that are too long.
    """
    memo: dict[sp.Expr, PuiseuxSeries] = {variable: PuiseuxSeries({sp.Integer(1): sp.Integer(1)})}

    def visit(node: sp.Expr) -> PuiseuxSeries:
        if node not in memo:
            own_rule = leaf(node)
            memo[node] = lowered(node) if own_rule is None else own_rule
            if any(value.is_Add and len(value.args) > _MAX_COEFFICIENT_TERMS for value in memo[node].terms.values()):
                found = f"a coefficient has more than {_MAX_COEFFICIENT_TERMS} terms"
                raise NoClosedForm("a small-variance series", found, "use evalf instead")
        return memo[node]

    def lowered(node: sp.Expr) -> PuiseuxSeries:
        if isinstance(node, sp.Add | sp.Mul):
            return reduce(add if node.is_Add else mul, map(visit, node.args))
        if isinstance(node, sp.exp):
            u = visit(node.exp)
            if u.limit.is_number and abs(sp.N(u.limit, 5)) > _LARGEST_EXPONENT:
                reason = f"exp({u.limit}) is too large or too small"
                raise NoClosedForm("a small-variance series", reason, "use evalf instead")
            return u.exponential(wanted)
        if isinstance(node, sp.Pow):
            if node.exp.has(variable):
                return visit(sp.exp(node.exp * sp.log(node.base)))
            return visit(node.base).power(node.exp, wanted)
        record = record_of(node)
        if record is not None and record.definition is not None:
            return visit(record.definition(*node.args))
        if record is None or len(node.args) > 1:
            raise no_series(node)
        u = visit(node.args[0]).without_zeros
        if isinstance(node, sp.log):
            if u.low != 0:
                raise no_series(node)
            start = sp.expand_log(sp.log(u.limit), factor=True)
            return (u.diff() * u.power(sp.Integer(-1), wanted)).integrated(start)
        if isinstance(node, sp.sin | sp.cos) and u.low >= 0:
            derivative = lambda n: node.func(u.limit + n * sp.pi / 2) / sp.factorial(n)  # noqa: E731
            return composed(derivative, u.beside_limit, wanted)
        slope, start = node.fdiff(), node.func(u.limit)
        if slope.has(node.func):
            raise no_series(node)
        if u.low < 0:  # far out
            sign = sign_of(u.terms[u.low]) if u.terms else None  # without terms nothing says where it goes
            if record.limits is None or not sign:
                raise no_series(node)
            start = record.limits[sign > 0]
        return (u.diff() * visit(slope)).integrated(start)

    return visit(formula)
