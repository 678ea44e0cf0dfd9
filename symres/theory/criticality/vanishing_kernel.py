"""Kernels that vanish or grow without bound: the maps are series in K around 0, and in 1/K.

At K* = 0 there may be critical points. Residual branches of weight 1 let kernels grow, but slower than exponentially:
``K' - K ~ rate*K**power`` with power < 1 gives ``K ~ ((1 - power) rate l)**(1/(1 - power))``; and with
``chi_perp - 1 ~ excess*K**-decay`` the logarithm of the Jacobian is a sum of ``l**-(decay/(1 - power))``: it converges,
or grows like log l (a power law), or like a power of l (a stretched exponential).
"""

from __future__ import annotations

import sympy as sp

from ...core.errors import NoClosedForm, SymresError
from ...core.symbols import C_W, C_b, K
from ...functions.balls import enclose
from ...functions.ranges import parameter_grid, samples
from ...functions.roots.bracketing import GRID
from ...gaussian.algebra.canonical import canonical
from ...gaussian.calculus.expectation import Expectation
from ...notation.shortest import tidy_factors
from ...results.critical_point import CriticalPoint, KernelGrowth, SearchResult
from ...results.quantity import Quantity
from ..quantities.expansion import terms_of, verified_terms
from .critical_conditions import expression_of, solved
from .parameter_signs import at_generic, at_reference, can_be_positive, sign_at_reference, signs_where

_NO_FIXED_POINT = "K* = 0 is not a fixed point: K' does not vanish with K"
_ORDERS = (3, 6, 12, 24, 48)  # the kernel map is expanded so far around K = 0, until a correction shows
_SQUARED_DISTANCES = (20, 40, 80)  # of a breakpoint, in variances: the Gaussian beyond is below 1e-5
_STABILITY = {-1: "stable", 1: "unstable", 0: "marginal"}
_INVERSE_ORDERS = (
    sp.Integer(2),
    sp.Rational(1, 2),
    sp.Integer(0),
)  # of the expansions in 1/K; algebraic tails know few terms
_STEP = 6  # of the grid of kernels at which K' > K is tested
_LEAST = sp.Rational(1, 10**20)  # a variance of biases: its part of K' - K hides no other
_BITS = (60, 240)  # the second where K' and K are nearly equal


def zero_points(kernel_map: Quantity, parallel: Quantity, perp: Quantity) -> SearchResult:
    """Around K = 0 the maps are series: K' must vanish with K and both susceptibilities tend to one value."""
    if not _vanishes_with_kernel(kernel_map):
        return SearchResult(remarks=(_NO_FIXED_POINT,))
    try:
        growth = verified_terms(without_bias(kernel_map), 1).terms
        limits = [verified_terms(without_bias(q), 0).terms for q in (parallel, perp)]
    except NoClosedForm as error:
        return SearchResult(remarks=(f"whether K* = 0 is critical is unknown: {error.found}",), complete=False)
    if any(power <= 0 for power in growth):
        return SearchResult(remarks=(_NO_FIXED_POINT,))
    one, other = (limit.get(sp.Integer(0), sp.Integer(0)) for limit in limits)
    if any(power < 0 for limit in limits for power in limit) or sp.expand(one - other) != 0:
        return SearchResult(remarks=("the susceptibilities differ at K = 0",))
    solutions = [tidy_factors(w) for w in solved(one - 1) if can_be_positive(w)]
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
    """How the kernel grows where it has no fixed point, whatever its parameters; None if it does not, or too fast.

    Args:
        kernel_map: K'(K).
        perp: chi_perp(K).
    """
    flow = _beyond(kernel_map, sp.Integer(-1))
    if flow is None or not _grows(kernel_map):
        return None
    chi = _beyond(perp, sp.Integer(0))
    return None if chi is None else KernelGrowth(flow[1], -flow[0], chi[1], chi[0])


def _beyond(quantity: Quantity, first: sp.Expr) -> tuple[sp.Expr, sp.Expr] | None:
    """The second term in powers of 1/K, exponent and coefficient; None if the first is not ``(1/K)**first``."""
    for order in _INVERSE_ORDERS:
        try:
            terms = terms_of(quantity, order, large=True)
        except NoClosedForm:
            continue
        rest = {e: c for e, c in terms.items() if e != first and c != 0}
        if sp.expand(terms.get(first, sp.Integer(0)) - 1) != 0 or any(e < first for e in rest):
            return None
        if rest or order == _INVERSE_ORDERS[0]:
            return min(rest.items(), default=(sp.oo, sp.Integer(0)))
    return None


def _grows(kernel_map: Quantity) -> bool:
    """Whether K' > K at kernels of all magnitudes, for next to no biases and all kinds of other parameters."""
    written = [e for e in (kernel_map.expr, kernel_map.defined) if e is not None]  # exp(2*K)*erfc(sqrt(2*K)) is lost
    increments = [at_reference((e - K).subs({C_W: 1, C_b: _LEAST})) for e in written]
    names = sorted(set().union(*(e.free_symbols for e in increments)) - {K}, key=str)
    return all(
        any(_positive(e.subs(numbers), k, bits) for e in increments for bits in _BITS)
        for numbers in parameter_grid(names)
        for k in GRID[::_STEP]
    )


def _positive(increment: sp.Expr, kernel: sp.Expr, bits: int) -> bool:
    try:
        return bool(enclose(increment, {K: kernel}, bits) > 0)
    except SymresError:
        return False
