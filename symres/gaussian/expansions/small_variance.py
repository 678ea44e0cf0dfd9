"""The exact small-variance series of an average, from the Taylor coefficients of the function on both sides of zero.

``<f>_K ~ sum_p K**(p/2) E|x|**p (r_p + l_p)/2`` with ``r_p``, ``l_p`` the coefficients of ``t**p`` in ``f(t)`` and
``f(-t)``, t > 0, and ``E|x|**p = 2**(p/2) Gamma((p+1)/2)/sqrt(pi)``. The powers p are integers, or fractions where f
has roots of what vanishes at 0: these are Taylor's in ``t**(1/q)``. Breakpoints elsewhere add less than any power of K.
The series is asymptotic: it converges only for entire functions of small growth.

Taylor coefficients are polynomials, with rational coefficients, in the constants that occur (log(2), sqrt(2), pi**-1/2,
parameters). Sums, products, powers, exp, log, sin and cos of power series have rules; another function is replaced by
its definition, or integrated from its slope.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import reduce

import sympy as sp
from flint import fmpq

from ...activations.piecewise import PiecewiseFunction
from ...activations.symmetries import even_part
from ...core.errors import NoClosedForm
from ...core.symbols import z
from ...functions.balls import enclose
from ...functions.function_record import record_of
from ..algebra.canonical import canonical
from ..closed_form.absolute_moments import absolute_moment

Constant = dict[tuple[tuple[sp.Expr, int], ...], fmpq]  # monomial -> coefficient; a monomial is ((base, exponent), ...)
Series = list[Constant]  # Taylor coefficients 0..n

_ONE: Constant = {(): fmpq(1)}
_MAX_RAMIFICATION = 32  # denominator of the powers of a function at 0: series have as many terms for every power of K
_MAX_COEFFICIENT_TERMS = 300  # a longer coefficient is unreadable, and products take minutes


def small_variance(factor: PiecewiseFunction, order: int) -> tuple[tuple[sp.Rational, sp.Expr], ...]:
    """The asymptotic series of ``<f>_K`` for K -> 0.

    Args:
        factor: the function f; it may contain parameters.
        order: the highest power of K wanted.

    Returns:
        (exponent of K, exact coefficient) for every term that does not vanish, in increasing order.

    Raises:
        NoClosedForm: f has no Taylor series on one side of zero.
    """
    left, right = _sides(even_part(factor))
    halves = (right, left.xreplace({z: -z}))
    root = math.lcm(*map(_ramification, halves))
    if root > _MAX_RAMIFICATION:
        raise NoClosedForm("a small-variance series", f"its powers have the denominator {root}", "use evalf instead")
    terms = []
    for n, (one, other) in enumerate(zip(*(_taylor(half, 2 * order * root, root) for half in halves), strict=True)):
        power = sp.Rational(n, root)
        coefficient = _expression(_product(_scaled(_added(one, other), fmpq(1, 2)), _constant(absolute_moment(power))))
        if coefficient != 0 and not _vanishes(coefficient):
            terms.append((power / 2, coefficient))
    return tuple(terms)


def _sides(factor: PiecewiseFunction) -> tuple[sp.Expr, sp.Expr]:
    """The formulas that hold just left and just right of zero."""
    left = right = factor.parts[0]
    for b, part in zip(factor.breaks, factor.parts[1:], strict=True):
        if b.is_zero:
            right = part
        elif b.is_negative or (b.is_positive is None and b.is_number and enclose(b, {}, 64) < 0):
            left = right = part
        elif not (b.is_positive or b.is_number):
            found = f"the sign of the breakpoint {b} is unknown"
            raise NoClosedForm("a small-variance series", found, "declare its parameters' signs")
    return left, right


# ------------------------------------------------------------------------------------------------------- constants
def _constant(expr: sp.Expr) -> Constant:
    """A number or a parameter expression as a polynomial in its irreducible parts."""
    total: Constant = {}
    for term in sp.Add.make_args(sp.expand(expr)):
        number = fmpq(1)
        powers: dict[sp.Expr, int] = {}
        for factor in sp.Mul.make_args(term):
            if factor.is_Rational:
                number *= fmpq(int(factor.p), int(factor.q))
                continue
            base, exponent = factor.as_base_exp()
            if isinstance(factor, sp.exp) or not exponent.is_Integer:
                base, exponent = factor, sp.Integer(1)
            powers[base] = powers.get(base, 0) + int(exponent)
        total = _added(total, {_monomial(powers): number})
    return total


def _monomial(powers: Mapping[sp.Expr, int]) -> tuple[tuple[sp.Expr, int], ...]:
    return tuple(sorted(((b, e) for b, e in powers.items() if e), key=lambda item: sp.default_sort_key(item[0])))


def _expression(constant: Constant) -> sp.Expr:
    return sp.Add(
        *(
            sp.Rational(int(number.p), int(number.q)) * sp.Mul(*(base**exponent for base, exponent in monomial))
            for monomial, number in constant.items()
        )
    )


def _added(a: Constant, b: Constant) -> Constant:
    total = dict(a)
    for monomial, number in b.items():
        number += total.pop(monomial, fmpq(0))
        if number != 0:
            total[monomial] = number
    return total


def _scaled(a: Constant, number: fmpq) -> Constant:
    return {monomial: number * value for monomial, value in a.items()} if number != 0 else {}


def _product(a: Constant, b: Constant) -> Constant:
    total: Constant = {}
    for one, x in a.items():
        for other, y in b.items():
            if one and other:
                powers = dict(one)
                for base, exponent in other:
                    powers[base] = powers.get(base, 0) + exponent
                monomial = _monomial(powers)
            else:
                monomial = one or other
            number = x * y + total.pop(monomial, fmpq(0))
            if number != 0:
                total[monomial] = number
    if len(total) > _MAX_COEFFICIENT_TERMS:
        found = f"a coefficient has more than {_MAX_COEFFICIENT_TERMS} terms"
        raise NoClosedForm("a small-variance series", found, "use evalf instead")
    return total


def _vanishes(expr: sp.Expr) -> bool:
    """Whether a constant is zero: certainly not if a ball says so, else by its canonical form."""
    if expr.is_zero is not None:
        return bool(expr.is_zero)
    if not expr.free_symbols and not enclose(expr, {}, 200).contains(0):
        return False
    return canonical(expr) == 0


# ---------------------------------------------------------------------------------------------------- power series
def _ramification(expr: sp.Expr) -> int:
    """A number q for which the formula has a Taylor series in ``z**(1/q)`` for z > 0, as far as its roots go."""
    inner = math.lcm(*map(_ramification, expr.args))
    if not (expr.is_Pow and expr.exp.is_Rational and not expr.exp.is_Integer and expr.base.has(z)):
        return inner
    start = expr.base.subs(z, 0)
    regular = start.has(sp.nan) or start.is_finite is False or not _vanishes(start)
    return inner if regular else inner * int(expr.exp.q)


def _taylor(expr: sp.Expr, n: int, root: int) -> Series:
    """Taylor coefficients 0..n in ``z**(1/root)``, z > 0."""
    for extra in (0, root, 4 * root, 16 * root):  # roots use up what is known of their bases
        series = _expanded(expr, n + extra, root)
        if len(series) > n:
            return series[: n + 1]
    raise _no_series(expr)


def _expanded(expr: sp.Expr, n: int, root: int) -> Series:
    """Taylor coefficients 0..n in ``z**(1/root)``; fewer where a root uses up coefficients of its base."""
    memo: dict[sp.Expr, Series] = {}

    def visit(node: sp.Expr) -> Series:
        if node not in memo:
            memo[node] = lowered(node)
        return memo[node]

    def lowered(node: sp.Expr) -> Series:
        if not node.has(z):
            return [_constant(node), *({} for _ in range(n))]
        if node == z:
            return [_ONE if k == root else {} for k in range(n + 1)]
        if isinstance(node, sp.Add):
            return [reduce(_added, column) for column in zip(*map(visit, node.args), strict=False)]
        if isinstance(node, sp.Mul):
            return reduce(_times, map(visit, node.args))
        if isinstance(node, sp.Pow) and not node.exp.has(z):
            return _power(visit(node.base), node.exp, node)
        if isinstance(node, sp.exp):
            return _exp(visit(node.args[0]))
        if isinstance(node, sp.log):
            return _log(visit(node.args[0]), node)
        if isinstance(node, sp.sin | sp.cos):
            sine, cosine = _sin_cos(visit(node.args[0]))
            return sine if isinstance(node, sp.sin) else cosine
        if isinstance(node, sp.Pow):
            return visit(sp.exp(node.exp * sp.log(node.base)))
        record = record_of(node)
        if record is None:
            raise _no_series(node)
        if record.definition is not None:
            return visit(record.definition(*node.args))
        slope = node.fdiff()
        if slope.has(node.func):
            raise _no_series(node)
        u = visit(node.args[0])
        return _integrated(node.func(_expression(u[0])), _times(_derivative(u), visit(slope)))

    return visit(expr)


_LARGEST_EXPONENT = 2**40  # sympy takes exponentials of larger numbers for integers that fit into no memory


def _no_series(node: sp.Expr) -> NoClosedForm:
    return NoClosedForm("a small-variance series", f"symres knows no Taylor series of {node} at 0", "use evalf instead")


def _convolved(u: Series, v: Series, weights: list[fmpq]) -> Constant:
    """sum_j weights[j] u_j v_{k-j} with k + 1 weights."""
    total: Constant = {}
    for j, weight in enumerate(weights):
        if u[j] and weight != 0:
            total = _added(total, _scaled(_product(u[j], v[len(weights) - 1 - j]), weight))
    return total


def _times(u: Series, v: Series) -> Series:
    return [_convolved(u, v, [fmpq(1)] * (k + 1)) for k in range(min(len(u), len(v)))]


def _derivative(u: Series) -> Series:
    return [_scaled(u[k], fmpq(k)) for k in range(1, len(u))]


def _integrated(start: sp.Expr, slope: Series) -> Series:
    return [_constant(start), *(_scaled(c, fmpq(1, k + 1)) for k, c in enumerate(slope))]


def _rationalised(number: sp.Expr) -> sp.Expr:
    """A number without roots below a fraction; without any, sympy would ask for digits of powers that have none."""
    roots = (power for power in number.atoms(sp.Pow) if power.exp.is_Rational and not power.exp.is_Integer)
    return number if next(roots, None) is None else sp.radsimp(number)


def _exp(u: Series) -> Series:
    """By y' = u' y."""
    start = _expression(u[0])
    if start.is_number and abs(sp.N(start, 5)) > _LARGEST_EXPONENT:
        reason = f"exp({start}) is too large or too small"
        raise NoClosedForm("a small-variance series", reason, "use evalf instead")
    y = [_constant(sp.exp(start))]
    for k in range(1, len(u)):
        y.append(_convolved(u, [*y, {}], [fmpq(j, k) for j in range(k + 1)]))
    return y


def _sin_cos(u: Series) -> tuple[Series, Series]:
    """By s' = u' c, c' = -u' s."""
    start = _expression(u[0])
    sine, cosine = [_constant(sp.sin(start))], [_constant(sp.cos(start))]
    for k in range(1, len(u)):
        weights = [fmpq(j, k) for j in range(k + 1)]
        more = _convolved(u, [*cosine, {}], weights), _convolved(u, [*sine, {}], weights)
        sine.append(more[0])
        cosine.append(_scaled(more[1], fmpq(-1)))
    return sine, cosine


def _log(u: Series, node: sp.Expr) -> Series:
    start = sp.expand_log(sp.log(_expression(u[0])), factor=True)
    return _integrated(start, _times(_derivative(u), _power(u, sp.Integer(-1), node)))


def _power(u: Series, exponent: sp.Expr, node: sp.Expr) -> Series:
    """By u y' = exponent u' y for a constant exponent."""
    start = _expression(u[0])
    if exponent.is_Integer and exponent.is_nonnegative:
        return reduce(_times, [u] * int(exponent), [_ONE, *({} for _ in u[1:])])
    if _vanishes(start):
        return _power_of_vanishing(u, exponent, node)
    if not exponent.is_Rational:
        return _exp([_product(_constant(exponent), c) for c in _log(u, node)])
    inverse, ratio = _constant(_rationalised(1 / start)), fmpq(int(exponent.p), int(exponent.q))
    y = [_constant(_rationalised(start**exponent))]
    for k in range(1, len(u)):
        weights = [fmpq(0), *((ratio * j - (k - j)) / k for j in range(1, k + 1))]
        y.append(_product(_convolved(u, [*y, {}], weights), inverse))
    return y


def _power_of_vanishing(u: Series, exponent: sp.Expr, node: sp.Expr) -> Series:
    """A power of a series that vanishes at 0: the leading term is factored out first."""
    if not (exponent.is_Rational and exponent > 0):
        raise _no_series(node)
    lead = next((k for k, c in enumerate(u) if not _vanishes(_expression(c))), len(u))
    if lead == len(u):
        return [{} for _ in range(int(sp.ceiling(lead * exponent)))]
    front = lead * exponent
    if not front.is_Integer:
        raise _no_series(node)
    return [*({} for _ in range(int(front))), *_power(u[lead:], exponent, node)]
