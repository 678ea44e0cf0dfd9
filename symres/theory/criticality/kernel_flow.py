"""How kernels flow: around K = 0, without a fixed point, and towards a critical point, with the exponents of the depth.

Around 0 the maps are series in K, and there may be critical points at K* = 0. Residual branches of weight 1 let kernels
grow, but slower than exponentially: ``K' - K ~ rate*K**power`` with power < 1 gives
``K ~ ((1 - power) rate l)**(1/(1 - power))``; and with ``chi_perp - 1 ~ excess*K**-decay`` the logarithm of the
Jacobian is a sum of ``l**-(decay/(1 - power))``: it converges, or grows like log l (a power law), or like a power of l
(a stretched exponential).

Near a critical point ``d' = d + b*d**n`` for the distance d from K* has ``d ~ (-b (n - 1) l)**(-1/(n - 1))``; with
``chi_perp = 1 + e*d**p`` the logarithm of the Jacobian is a sum of ``l**-(p/(n - 1))``: a power law for p = n - 1, a
constant for larger p, a stretched exponential for smaller ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import sympy as sp

from ...core.errors import NoClosedForm, SymresError
from ...core.symbols import C_W, C_b, K
from ...functions.balls import enclose
from ...functions.ranges import parameter_grid, samples
from ...functions.roots.bracketing import GRID
from ...functions.roots.root import ImplicitNumber, SystemRoot, Value
from ...gaussian.algebra.canonical import canonical
from ...gaussian.calculus.expectation import Expectation
from ...notation.decimals import denested
from ...notation.shortest import tidy_factors
from ...results.critical_point import CriticalPoint, Exponents, KernelGrowth, NextOrder, SearchResult, Stretch
from ...results.quantity import Quantity
from ..quantities.closed_forms import closed
from ..quantities.expansion import terms_of, verified_terms
from .critical_conditions import Maps, expression_of, inner_law, solved
from .next_orders import Term, of_distance, of_growth
from .parameter_effects import (
    ONE,
    Unit,
    at_generic,
    at_reference,
    generic_sign,
    is_unit,
    sign_at,
    sign_at_reference,
    signs_where,
)

_NO_FIXED_POINT = "K* = 0 is not a fixed point: K' does not vanish with K"
_ORDERS = (3, 6, 12, 24, 48)  # the kernel map is expanded so far around K = 0, until a correction shows
_SQUARED_DISTANCES = (20, 40, 80)  # of a breakpoint, in variances: the Gaussian beyond is below 1e-5
_STABILITY = {-1: "stable", 1: "unstable", 0: "marginal"}
# of the expansions in 1/K; algebraic tails know few terms
_INVERSE_ORDERS = (sp.Integer(2), sp.Rational(1, 2), sp.Integer(0))
_STEP = 6  # of the grid of kernels at which K' > K is tested
_LEAST = sp.Rational(1, 10**20)  # a variance of biases: its part of K' - K hides no other
_SLOPE_ORDERS = (2, 4, 8, 16)  # of the series of chi_perp around K = 0
_DERIVATIVES = 6  # that may vanish at a fixed point before the search gives up
_INSIDE = sp.Dummy("S", positive=True)  # a variance, of which its value's roots and logarithms are put in at last


def zero_points(maps: Maps) -> SearchResult:
    """Around K = 0 the maps are series: K' must vanish with K and both susceptibilities tend to one value."""
    kernel_map = maps[0]
    if not _vanishes_with_kernel(kernel_map):
        return SearchResult(remarks=(_NO_FIXED_POINT,))
    try:
        growth = verified_terms(without_bias(kernel_map), 1).terms
        limits = [verified_terms(without_bias(q), 0).terms for q in maps[1:]]
    except NoClosedForm as error:
        return SearchResult(remarks=(f"whether K* = 0 is critical is unknown: {error.found}",), complete=False)
    if any(power <= 0 for power in growth):
        return SearchResult(remarks=(_NO_FIXED_POINT,))
    one, other = (limit.get(sp.Integer(0), sp.Integer(0)) for limit in limits)
    if any(power < 0 for limit in limits for power in limit) or sp.expand(one - other) != 0:
        return SearchResult(remarks=("the susceptibilities differ at K = 0",))
    solutions = [tidy_factors(w) for w in solved(one - 1) if generic_sign(w) > 0]
    if not solutions:
        return SearchResult(remarks=("at K = 0 no C_W > 0 makes the susceptibilities 1",))
    try:
        return SearchResult(tuple(_point(kernel_map, w) for w in solutions))
    except NoClosedForm as error:
        return SearchResult(remarks=(f"whether K* = 0 is critical is unknown: {error.found}",), complete=False)


def _vanishes_with_kernel(kernel_map: Quantity) -> bool:
    """Whether K' may vanish at K = 0: numbers at some parameters say no before a series is worked out."""
    limit = without_bias(kernel_map).defined.subs(K, 0)
    try:
        tried = samples(sorted(limit.free_symbols, key=str))
        return any(enclose(limit.subs(numbers), {}, 60).contains(0) for numbers in tried)
    except SymresError:
        return True


def without_bias(quantity: Quantity) -> Quantity:
    """A map of the layer without biases: with them K' does not vanish with K."""
    return quantity.at(C_b=0) if C_b in quantity.symbols else quantity


def _point(kernel_map: Quantity, weight: sp.Expr) -> CriticalPoint:
    """K* = 0 at its C_W: the kernel flows as the lowest power of K in K' - K says, or, without one, its value."""
    zero = sp.Integer(0)
    correction = _correction(kernel_map, weight)
    signs = signs_where(correction / K, weight) if correction else _flow_signs(kernel_map, weight)
    stability = _STABILITY[signs.pop()] if len(signs) == 1 else "marginal"
    return CriticalPoint(zero, weight, zero, stability, correction=correction)


def _correction(kernel_map: Quantity, weight: sp.Expr) -> sp.Expr:
    """The lowest power of K in K' - K, with its coefficient; 0 if there is none."""
    for order in _ORDERS:
        for power, factor in sorted(verified_terms(without_bias(kernel_map), order).terms.items()):
            coefficient = sp.expand((factor - 1 if power == 1 else factor).subs(C_W, weight))
            # zero to all digits: a linear coefficient cancels by the choice of C_W, whether or not sympy sees it
            if sign_at_reference(at_generic(coefficient)):
                return tidy_factors(canonical(coefficient)) * K**power
    return sp.Integer(0)


def _flow_signs(kernel_map: Quantity, weight: sp.Expr) -> set[int]:
    """The signs of K' - K at kernels where a Gaussian hardly reaches the nearest breakpoint.

    What is smaller than every power of K comes from the breakpoints, that of b like exp(-b^2/2K): the nearest decides.
    """
    averages = kernel_map.defined.atoms(Expectation)
    breaks = {abs(b) for e in averages for _, factors in e.terms for f in factors for b in f.breaks}
    nearest = min((b for b in breaks if b.is_positive and b.is_number), default=sp.Integer(1))
    increment = (expression_of(kernel_map) - K).subs({C_b: 0, C_W: weight})
    return set().union(*(signs_where(increment.subs(K, nearest**2 / k), weight) for k in _SQUARED_DISTANCES))


def growth(kernel_map: Quantity, perp: Quantity) -> KernelGrowth | None:
    """How the kernel grows where it has no fixed point, whatever its parameters; None if it does not, or too fast."""
    flow = _beyond(kernel_map, sp.Integer(-1))
    if not flow or not _grows(kernel_map):
        return None
    chi = _beyond(perp, sp.Integer(0))
    if not chi:
        return None
    first, *others = [(-power, coefficient) for power, coefficient in flow]
    (decay, excess), *_ = chi
    return KernelGrowth(first[1], first[0], excess, decay, of_growth(first, others[0] if others else None))


def _beyond(quantity: Quantity, first: sp.Expr) -> list[Term]:
    """The terms beyond the first in powers of 1/K; none if the first is not ``(1/K)**first``."""
    for order in _INVERSE_ORDERS:
        try:
            terms = terms_of(quantity, order, large=True)
        except NoClosedForm:
            continue
        corrections = {e: c for e, c in terms.items() if e != first and c != 0}
        if sp.expand(terms.get(first, sp.Integer(0)) - 1) != 0 or any(e < first for e in corrections):
            return []
        if corrections or order == _INVERSE_ORDERS[0]:
            return sorted(corrections.items()) or [(sp.oo, sp.Integer(0))]
    return []


def _grows(kernel_map: Quantity) -> bool:
    """Whether K' > K at kernels of all magnitudes, for next to no biases and all kinds of other parameters."""
    written = [e for e in (kernel_map.expr, kernel_map.defined) if e is not None]  # exp(2*K)*erfc(sqrt(2*K)) is lost
    increments = [at_reference((e - K).subs({C_W: 1, C_b: _LEAST})) for e in written]
    names = sorted(set().union(*(e.free_symbols for e in increments)) - {K}, key=str)
    return all(
        any(_is_positive(e.subs(numbers), k) for e in increments)
        for numbers in parameter_grid(names)
        for k in GRID[::_STEP]
    )


def _is_positive(increment: sp.Expr, kernel: sp.Expr) -> bool:
    """Whether an expression in K is positive at a kernel; False where balls have no number."""
    try:
        return sign_at(increment, {K: kernel}) > 0
    except SymresError:
        return False


def exponents_at(point: CriticalPoint, kernel_map: Quantity, perp: Quantity) -> Exponents:
    """The exponents at a critical point."""
    if point.stability == "neutral":
        return Exponents(sp.Integer(0), sp.Integer(0), sp.Integer(0))
    if point.K == 0:
        exponents = _exponents_at_zero(point, perp)
        return (
            exponents if exponents.kernel is None else replace(exponents, next_order=_next_at_zero(point, kernel_map))
        )
    drift = _taylor(kernel_map, point, first=2, degree=1)
    slope = _taylor(perp, point, first=1, degree=0)
    if drift is None:
        return Exponents(None, None, None, remark=f"the first {_DERIVATIVES} derivatives of K' - K vanish at K*")
    exponents = from_expansion(*drift, *(slope or (sp.oo, sp.Integer(0))))
    beyond = [(m, c) for m, c in _derivatives(kernel_map, point, 1) if drift[0] < m < 2 * drift[0]]
    return replace(exponents, next_order=_next_order(drift, beyond, exponents.amplitude))


def _next_order(first: Term, beyond: list[Term], amplitude: sp.Expr | None) -> NextOrder | None:
    """The correction to a law, its coefficient in short form; of terms beyond the first one the next counts."""
    if amplitude is None:
        return None
    second = next(((m, c) for m, c in beyond if c != 0), None)
    order = of_distance(first, second, amplitude)
    if order is None:
        return None
    terms = map(_simple, sp.Add.make_args(order.coefficient))  # one is a number, the other has the parameters
    return replace(order, coefficient=sp.Add(*terms))


def _next_at_zero(point: CriticalPoint, kernel_map: Quantity) -> NextOrder | None:
    """The correction at K* = 0, from the series of the kernel map; None where that has no further terms."""
    b, power = sp.sympify(point.correction).as_independent(K, as_Add=False)
    n = power.as_base_exp()[1]
    try:
        terms = terms_of(without_bias(kernel_map), 2 * n - 1, large=False)
    except NoClosedForm:
        return None
    beyond = [(m, canonical(c.subs(C_W, point.C_W))) for m, c in sorted(terms.items()) if m > n]
    return _next_order((n, b), beyond, _real_root(-1 / (b * (n - 1)), n - 1))


def from_expansion(n: sp.Expr, b: sp.Expr, p: sp.Expr, e: sp.Expr) -> Exponents:
    """The exponents of ``d' = d + b*d**n`` and ``chi_perp = 1 + e*d**p``; e = 0 for chi_perp = 1.

    Doshi et al. (72) and (78), with the amplitude's root, which is missing there for n > 2.
    """
    amplitude = _real_root(-1 / (b * (n - 1)), n - 1)
    kernel, order = 1 / (n - 1), p / (n - 1)
    if e == 0 or order > 1:
        return Exponents(kernel, sp.Integer(0), amplitude)
    if order == 1:
        return Exponents(kernel, _simple(e / (b * (n - 1))), amplitude)
    return Exponents(kernel, None, amplitude, Stretch(1 - order, _simple(e * amplitude**p / (1 - order))))


def _exponents_at_zero(point: CriticalPoint, perp: Quantity) -> Exponents:
    """The exponents at K* = 0: from the correction of the kernel map, and the first term of chi_perp beside it."""
    if not point.correction:
        flat = "K' - K is smaller than every power of K: the kernel falls more slowly than any power of the depth"
        return Exponents(None, None, None, remark=flat)
    b, power = point.correction.as_independent(K, as_Add=False)
    n = power.as_base_exp()[1]
    for order in _SLOPE_ORDERS:
        try:
            terms = terms_of(without_bias(perp), order, large=False)
        except NoClosedForm as error:
            remark = f"chi_perp has no series around K = 0: {error.found}"
            return Exponents(1 / (n - 1), None, _real_root(-1 / (b * (n - 1)), n - 1), remark=remark)
        slopes = {p: canonical(c.subs(C_W, point.C_W)) for p, c in terms.items() if p > 0}
        if p := min((p for p, c in slopes.items() if c != 0), default=None):
            return from_expansion(n, b, p, slopes[p])
    return from_expansion(n, b, sp.oo, sp.Integer(0))


def _taylor(quantity: Quantity, point: CriticalPoint, first: int, degree: int) -> Term | None:
    """The first term around K* that does not vanish, from an order on, if its sign is clear."""
    for order, coefficient in _derivatives(quantity, point, degree):
        if order >= first and coefficient != 0 and (sign := generic_sign(coefficient.subs(K, 1))):
            return order, sign * Value(sign * coefficient) if coefficient.has(SystemRoot) else coefficient
    return None


def _derivatives(quantity: Quantity, point: CriticalPoint, degree: int) -> Iterator[Term]:
    """The terms of a series around K*, from the first order on.

    Args:
        quantity: a function of K.
        point: K*, with C_W and C_b.
        degree: the power of the unit of kernels that the quantity is measured in: 1 of a kernel, 0 of a number.
    """
    law, unit = inner_law(quantity.defined), _unit(point)
    # with averages inside, parameters cancel in the variance; and of a line, K is the parameter
    derivative = expression_of(quantity) if law is None else quantity.defined
    derivative = unit.removed(derivative)
    values = {s: unit.removed(e) for s, e in ((K, point.K), (C_W, point.C_W), (C_b, point.C_b))}
    for order in range(1, _DERIVATIVES + 1):
        derivative = derivative.diff(K)
        if law is None:
            value = derivative.subs(values)
        else:
            variance = point.inside
            if variance is None:
                variance = sp.Add(*map(tidy_factors, sp.Add.make_args(law.subs(values))))
            value = closed(derivative.xreplace({law: _INSIDE})).subs(values).subs(_INSIDE, variance)
        if point.exact and not value.has(ImplicitNumber):
            value = canonical(value)
        yield sp.Integer(order), unit.kernel ** (degree - order) * value / sp.factorial(order)


def _unit(point: CriticalPoint) -> Unit:
    """The power of a parameter in which K* is a number, ``beta**-2`` of swish; 1 where K* is another expression.

    The critical conditions have such a solution only where the parameter sets the scale of all maps: at K* they are
    powers of it times the maps of the layer in which it is 1.
    """
    base, power = point.K.as_independent(*point.K.free_symbols, as_Add=False)[1].as_base_exp()
    measured = point.inside is None and point.along is None and base.is_Symbol and power.is_Integer
    return Unit(base, int(power)) if measured and is_unit(base, int(power)) else ONE


def _real_root(value: sp.Expr, degree: sp.Expr) -> sp.Expr:
    """The root of a number's size, with its sign."""
    if degree == 1:
        return _simple(value)
    signs = signs_where(value.subs(K, 1), sp.Integer(1))
    if len(signs) > 1 or 0 in signs:
        return sp.sign(value) * sp.Abs(value) ** (1 / degree)
    (sign,) = signs
    return sign * _simple(sign * value) ** (1 / degree)


def _simple(value: sp.Expr) -> sp.Expr:
    """In canonical form; roots and averages are names in it, so that parameters cancel; what roots make is a number."""
    # the canonical form orders symbols by their names: without names, the order of a set would decide on a sign
    nodes = sorted(value.atoms(ImplicitNumber, Expectation), key=str)
    names = {e: sp.Dummy(f"number{k}", positive=True) for k, e in enumerate(nodes)}
    tidy = tidy_factors(canonical(value.xreplace(names))).xreplace({name: e for e, name in names.items()})
    front, of_parameters = tidy.as_independent(*tidy.free_symbols, as_Add=False)
    if isinstance(front, ImplicitNumber):
        return tidy
    if not front.has(ImplicitNumber):
        return denested(front) * of_parameters
    sign = generic_sign(front)
    return sign * Value(sign * front) * of_parameters if sign else tidy
