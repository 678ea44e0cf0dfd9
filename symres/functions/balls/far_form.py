"""Formulas of error functions far out, written without the cancellation and the underflow that they have there.

Where u is large, ``erfc(u) = exp(-u**2)*(1 - D(u))/(sqrt(pi)*u)``. With it every sum becomes one over different
exponentials, of which the largest is taken out: 1 - erf(u), ``exp(-z**2/2)/Phi(z)`` and
``z*Phi(z) + exp(-z**2/2)/sqrt(2*pi)`` for z -> -oo have factors whose balls do not surround 0.

``D(u) = 1 - sqrt(pi)*u*exp(u**2)*erfc(u)``, here :class:`scaled_ierfc`, is the first integral of erfc beside
``exp(-u**2)/sqrt(pi)``. It falls from 1 at u = 0 and is ``1/(2*u**2) - 3/(4*u**4) + ...`` far out (DLMF 7.12.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache, reduce
from itertools import product
from typing import TypeAlias

import sympy as sp

from ...core.atoms import Opaque

FAR = 2  # an argument of erfc from which D, here .095, is small beside 1
_MOST_FACTORS = 4  # power up to which a sum is multiplied out, because its terms may cancel others
_Sum: TypeAlias = dict[tuple[sp.Expr, sp.Expr], sp.Expr]  # an exponent, a product of values of D: their coefficient
_ZERO, _ONE = sp.Integer(0), sp.Integer(1)


class scaled_ierfc(sp.Function):
    """``1 - sqrt(pi)*u*exp(u**2)*erfc(u)``, for u > 0."""


@lru_cache(maxsize=4096)
def error_arguments(node: sp.Basic) -> tuple[sp.Expr, ...]:
    """The arguments of the error functions of a formula, but for numbers."""
    arguments = {f.args[0] for f in node.atoms(sp.erf, sp.erfc) if f.free_symbols}
    return tuple(sorted(arguments, key=sp.default_sort_key))


@lru_cache(maxsize=4096)
def needs_far_form(node: sp.Basic) -> bool:
    """Whether it is a logarithm, a quotient or a root of error functions, or their product with exponentials."""
    if not isinstance(node, sp.log | sp.Mul | sp.Pow) or len(node.free_symbols) != 1 or node.has(sp.I, Opaque):
        return False
    if not all(u.is_polynomial(*node.free_symbols) for u in error_arguments(node)):
        return False
    if isinstance(node, sp.log):
        return bool(error_arguments(node))
    factors = [factor for factor in sp.Mul.make_args(node) if error_arguments(factor)]
    if any(f.is_Pow and not (f.exp.is_Integer and f.exp > 0) for f in factors):
        return True
    return bool(factors) and any(isinstance(factor, sp.exp) for factor in node.args)


def scaled_tail(node: sp.Mul) -> tuple[sp.Expr, sp.Expr] | None:
    """The u of a product with ``exp(u**2)*erfc(u)``, u > 0, and the product by D; None for any other.

    Flint's erfc has no digits where u is about a million, as in averages at K = 1e-12; D has fewer where u is small.
    """
    for tail in node.args:
        growth = sp.exp(tail.args[0] ** 2) if isinstance(tail, sp.erfc) and tail.args[0].is_positive else None
        if growth in node.args:
            (u,) = tail.args
            return u, node / (growth * tail) * (1 - scaled_ierfc(u)) / (sp.sqrt(sp.pi) * u)
    return None


def by_half_angle(node: sp.Expr) -> sp.Expr:
    """``acos(u)`` or ``asin(u)`` by ``sqrt((1 - u)/(1 + u))``: u comes near 1 without reaching it."""
    (u,) = node.args
    angle = 2 * sp.atan(sp.sqrt(1 - u) / sp.sqrt(1 + u))
    return angle if isinstance(node, sp.acos) else sp.pi / 2 - angle


@lru_cache(maxsize=1024)
def far_form(node: sp.Expr, sides: tuple[int, ...], direction: int) -> sp.Expr:
    """A formula where some arguments of its error functions are far out.

    Args:
        node: the formula, of one symbol.
        sides: for each of ``error_arguments(node)`` 1 where it is large, -1 where its negative is, else 0.
        direction: the sign of the symbol there; 0 if it has both.
    """
    return _FarForm(dict(zip(error_arguments(node), sides, strict=True)), direction).formula(node)


class _FarForm:
    """The sums over exponentials of all parts of one formula."""

    def __init__(self, sides: Mapping[sp.Expr, int], direction: int) -> None:
        self.sides, self.direction = sides, direction

    def formula(self, node: sp.Expr) -> sp.Expr:
        """The largest exponential times the sum beside it."""
        exponent, factor = self._leading(node)
        return sp.exp(exponent) * factor

    def _leading(self, node: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
        """The exponent of the largest exponential, and what stands beside it: of a product each factor by itself."""
        if isinstance(node, sp.Mul):
            exponents, factors = zip(*map(self._leading, node.args), strict=True)
            return sp.Add(*exponents), sp.Mul(*factors)
        if isinstance(node, sp.Pow) and node.exp.is_number:
            exponent, factor = self._leading(node.base)
            return _expanded(exponent * node.exp), factor**node.exp
        return self._largest(self._sum(node))

    def _sum(self, node: sp.Expr) -> _Sum:
        """A node as a sum over exponentials, by their exponents and the values of D beside them."""
        if not node.has(sp.exp, sp.erf, sp.erfc):
            return {(_ZERO, _ONE): node}
        if isinstance(node, sp.exp):
            return {(_expanded(self.formula(node.exp)), _ONE): _ONE}
        if isinstance(node, sp.erf | sp.erfc) and self.sides.get(node.args[0]):
            return self._error_function(node, self.sides[node.args[0]])
        if isinstance(node, sp.Add):
            return _added(map(self._sum, node.args))
        if isinstance(node, sp.Mul):
            return reduce(_multiplied, map(self._sum, node.args))
        if isinstance(node, sp.Pow) and node.exp.is_Integer and 0 < node.exp <= _MOST_FACTORS:
            return reduce(_multiplied, [self._sum(node.base)] * int(node.exp))
        if isinstance(node, sp.Pow) and node.exp.is_number:
            exponent, factor = self._leading(node)
            return {(exponent, _ONE): factor}
        if isinstance(node, sp.log):
            exponent, factor = self._leading(node.args[0])
            return {(_ZERO, _ONE): exponent + sp.log(factor)}
        return {(_ZERO, _ONE): node.func(*map(self.formula, node.args))}

    @staticmethod
    def _error_function(node: sp.Expr, side: int) -> _Sum:
        """An error function of a large argument: its limit, and ``exp(-u**2)`` with the first terms and D beside it."""
        u = side * node.args[0]
        limit, sign = (sp.Integer(side), -side) if isinstance(node, sp.erf) else (sp.Integer(1 - side), side)
        exponent, coefficient = sp.expand(-(u**2)), sign / (sp.sqrt(sp.pi) * u)
        return _added(
            [{(_ZERO, _ONE): limit, (exponent, _ONE): coefficient, (exponent, scaled_ierfc(u)): -coefficient}]
        )

    def _largest(self, terms: _Sum) -> tuple[sp.Expr, sp.Expr]:
        """The exponent of the largest exponential of a sum, and the sum beside it."""
        factors: dict[sp.Expr, sp.Expr] = {}
        for (exponent, values), coefficient in terms.items():
            factors[exponent] = factors.get(exponent, _ZERO) + coefficient * values
        largest = reduce(self._larger, factors)
        return largest, sp.Add(*(sp.exp(e - largest) * factor for e, factor in factors.items()))

    def _larger(self, one: sp.Expr, other: sp.Expr) -> sp.Expr:
        """The larger exponent far out; where that is not known any is right, though its balls may be wide."""
        difference = one - other
        symbols = tuple(difference.free_symbols)
        if not difference.is_polynomial(*symbols):
            return one
        polynomial = sp.Poly(difference, *symbols) if symbols else sp.Poly(difference, sp.Dummy())
        sign = polynomial.LC() * (self.direction if polynomial.total_degree() % 2 else 1)
        return other if sign.is_negative else one


def _expanded(exponent: sp.Expr) -> sp.Expr:
    """The exponent as a sum, in which equal terms cancel.

    Where it is not a polynomial only its outer product is multiplied out: inside of the terms it would only grow.
    """
    if exponent.is_polynomial(*exponent.free_symbols):
        return sp.expand(exponent)
    return sp.expand_mul(exponent, deep=False)


def _added(sums: Iterable[_Sum]) -> _Sum:
    """The sum of sums, coefficients in lowest terms; what vanishes is left out."""
    total: _Sum = {}
    for terms in sums:
        for term, coefficient in terms.items():
            total[term] = total.get(term, _ZERO) + coefficient
    coefficients = {term: sp.cancel(c) if c.is_Add and not c.has(scaled_ierfc) else c for term, c in total.items()}
    return {term: c for term, c in coefficients.items() if c != 0} or {(_ZERO, _ONE): _ZERO}


def _multiplied(one: _Sum, other: _Sum) -> _Sum:
    products = product(one.items(), other.items())
    return _added({(a + b, d * e): u * v} for ((a, d), u), ((b, e), v) in products)
