"""Critical exponents: how kernel and Jacobian go with the depth, from the expansion of the maps around a point.

``d' = d + b*d**n`` for the distance d from K* has ``d ~ (-b (n - 1) l)**(-1/(n - 1))``; with ``chi_perp = 1 + e*d**p``
the logarithm of the Jacobian is a sum of ``l**-(p/(n - 1))``: a power law for p = n - 1, a constant for larger p, a
stretched exponential for smaller ones.
"""

from __future__ import annotations

import sympy as sp

from ...core.errors import NoClosedForm
from ...core.symbols import C_W, C_b, K
from ...functions.roots.root import ImplicitNumber, SystemRoot, Value
from ...gaussian.algebra.canonical import canonical
from ...gaussian.calculus.expectation import Expectation
from ...notation.decimals import denested
from ...notation.shortest import tidy_factors
from ...results.critical_point import CriticalPoint, Exponents, Stretch
from ...results.quantity import Quantity
from ..quantities.closed_forms import closed
from ..quantities.expansion import terms_of
from .critical_conditions import expression_of, inner_law
from .parameter_signs import generic_sign, signs_where
from .scaling_symmetry import ONE, Unit
from .vanishing_kernel import without_bias

_ORDERS = (2, 4, 8, 16)  # of the series of chi_perp around K = 0
_DERIVATIVES = 6  # that may vanish at a fixed point before the search gives up
_INSIDE = sp.Dummy("S", positive=True)  # a variance, of which its value's roots and logarithms are put in at last


SCALE_INVARIANT = Exponents(sp.Integer(0), sp.Integer(0), sp.Integer(0))


def exponents_at(point: CriticalPoint, kernel_map: Quantity, perp: Quantity) -> Exponents:
    """The exponents at a critical point.

    Args:
        point: with C_W and C_b.
        kernel_map: K'(K).
        perp: chi_perp(K).
    """
    if point.stability == "neutral":
        return SCALE_INVARIANT
    if point.K == 0:
        return _at_zero(point, perp)
    drift = _taylor(kernel_map, point, first=2, degree=1)
    slope = _taylor(perp, point, first=1, degree=0)
    if drift is None:
        return Exponents(None, None, None, remark=f"the first {_DERIVATIVES} derivatives of K' - K vanish at K*")
    return from_expansion(*drift, *(slope or (sp.oo, sp.Integer(0))))


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


def _at_zero(point: CriticalPoint, perp: Quantity) -> Exponents:
    if not point.correction:
        flat = "K' - K is smaller than every power of K: the kernel falls more slowly than any power of the depth"
        return Exponents(None, None, None, remark=flat)
    b, n = _coefficient_and_power(point.correction)
    for order in _ORDERS:
        try:
            terms = terms_of(without_bias(perp), order, large=False)
        except NoClosedForm as error:
            found = f"chi_perp has no series around K = 0: {error.found}"
            return Exponents(1 / (n - 1), None, _real_root(-1 / (b * (n - 1)), n - 1), remark=found)
        slopes = {p: canonical(c.subs(C_W, point.C_W)) for p, c in terms.items() if p > 0}
        if p := min((p for p, c in slopes.items() if c != 0), default=None):
            return from_expansion(n, b, p, slopes[p])
    return from_expansion(n, b, sp.oo, sp.Integer(0))


def _coefficient_and_power(correction: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    coefficient, power = correction.as_independent(K, as_Add=False)
    return coefficient, power.as_base_exp()[1]


def _taylor(quantity: Quantity, point: CriticalPoint, first: int, degree: int) -> tuple[sp.Expr, sp.Expr] | None:
    """The order and the coefficient of the first term around K* that does not vanish, from an order on.

    Args:
        quantity: a function of K.
        point: K*, with C_W and C_b.
        first: the least order.
        degree: the power of the unit of kernels that the quantity is measured in: 1 of a kernel, 0 of a number.
    """
    law, unit = inner_law(quantity.defined), _unit(point)
    # with averages inside, parameters cancel in the variance; and of a line, K is the parameter
    derivative = expression_of(quantity) if law is None else quantity.defined
    derivative = unit.removed(derivative)
    place = {s: unit.removed(e) for s, e in ((K, point.K), (C_W, point.C_W), (C_b, point.C_b))}
    for order in range(1, _DERIVATIVES + 1):
        derivative = derivative.diff(K)
        if order < first:
            continue
        if law is None:
            value = derivative.subs(place)
        else:
            variance = (
                sp.Add(*map(tidy_factors, sp.Add.make_args(law.subs(place)))) if point.inside is None else point.inside
            )
            value = closed(derivative.xreplace({law: _INSIDE})).subs(place).subs(_INSIDE, variance)
        if point.exact and not value.has(ImplicitNumber):
            value = canonical(value)
        if value != 0 and (sign := generic_sign(value.subs(K, 1))):
            if value.has(SystemRoot):
                value = sign * Value(sign * value)
            return sp.Integer(order), unit.kernel ** (degree - order) * value / sp.factorial(order)
    return None


def _unit(point: CriticalPoint) -> Unit:
    """The power of a parameter in which K* is a number, ``beta**-2`` of swish; 1 where K* is another expression.

    The critical conditions have such a solution only where the parameter sets the scale of all maps: at K* they are
    powers of it times the maps of the layer in which it is 1.
    """
    base, power = point.K.as_independent(*point.K.free_symbols, as_Add=False)[1].as_base_exp()
    measured = point.inside is None and point.along is None and base.is_Symbol and base.is_positive
    return Unit(base, int(power)) if measured and power.is_Integer else ONE


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
    found = tidy_factors(canonical(value.xreplace(names))).xreplace({name: e for e, name in names.items()})
    front, rest = found.as_independent(*found.free_symbols, as_Add=False)
    if isinstance(front, ImplicitNumber):
        return found
    if not front.has(ImplicitNumber):
        return denested(front) * rest
    sign = generic_sign(front)
    return sign * Value(sign * front) * rest if sign else found
