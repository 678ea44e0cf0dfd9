"""Formulas in kernels and parameters taken apart: as polynomials in parameters, as products, and by their angles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import chain, product

import sympy as sp

from ...core.symbols import K1, K2, C, K
from ...functions.balls import enclose
from ..stable.angles import angle_form
from ..stable.rounding_error import one_sign

_Polynomial = dict[sp.Expr, sp.Expr]  # monomial -> coefficient
_SEEN = [Fraction(10) ** n for n in (-8, -4, -2, 0, 2, 4)]  # kernels


def decompose(expr: sp.Expr, others: Iterable[sp.Symbol]) -> dict[sp.Expr, sp.Expr] | None:
    """Write an expression as a polynomial in ``others``: monomial -> coefficient; None if it is no polynomial.

    Only products and powers that contain ``others`` are multiplied out; coefficients keep their shape.
    """
    others = set(others)
    if not expr.free_symbols & others:
        return {sp.Integer(1): expr}
    if isinstance(expr, sp.Symbol):
        return {expr: sp.Integer(1)}
    if isinstance(expr, sp.Add | sp.Mul):
        parts = []
        for argument in expr.args:
            part = decompose(argument, others)
            if part is None:
                return None
            parts.append(part)
        return _summed(*parts) if expr.is_Add else reduce(_multiply, parts)
    if isinstance(expr, sp.Pow) and expr.exp.is_Integer and expr.exp > 0:
        base = decompose(expr.base, others)
        return None if base is None else reduce(_multiply, [base] * int(expr.exp))
    if isinstance(expr, sp.Pow) and isinstance(expr.base, sp.Symbol) and expr.base in others:
        return {expr: sp.Integer(1)}  # 1/gamma and the like
    return None


def of_angles(expr: sp.Expr) -> tuple[sp.Expr | None, sp.Expr]:
    """A function of two inputs as A/sqrt(K1*K2) + B: A written with angles, B free of kernels; (None, itself) if not.

    None too where the function is itself written with angles.
    """
    triple = (K1, C, K2)
    if angle_form(expr, triple) is not None:
        return None, expr
    constant, factor = expr.as_independent(*triple, as_Add=False)
    rest, varying = sp.expand(factor).as_independent(*triple, as_Add=True)
    times = constant * sp.Add(*(sp.sqrt(K1) * sp.sqrt(K2) * term for term in sp.Add.make_args(varying)))
    return (None, expr) if angle_form(times, triple) is None else (times, constant * rest)


def normalised_products(expr: sp.Expr) -> list[tuple[sp.Expr, ...]] | None:
    """The factors of products with roots of, or quotients by, sums, as behind a normalisation; None if there are none.

    Terms with the same roots and quotients are one product.
    """
    groups: dict[tuple[sp.Expr, ...], list[sp.Expr]] = {}
    for term in sp.Add.make_args(expr):
        powers = [f for f in sp.Mul.make_args(term) if isinstance(f, sp.Pow) and isinstance(f.base, sp.Add)]
        rest = sp.Mul(*(f for f in sp.Mul.make_args(term) if f not in powers))
        groups.setdefault(tuple(powers), []).append(rest)
    if not any(groups):
        return None
    return [(*powers, *sp.Mul.make_args(sp.Add(*rests))) for powers, rests in groups.items()]


def adds_up(parts: Mapping[sp.Expr, sp.Expr]) -> bool:
    """Whether the terms of a polynomial in parameters cannot cancel, by signs and by those at some kernels."""
    return len(parts) == 1 or one_sign(m * _sign_of(f) for m, f in parts.items())


@lru_cache(maxsize=256)
def _sign_of(function: sp.Expr) -> sp.Expr:
    """A number of the sign that a function of kernels has at some places; 0/0 if it changes."""
    if not function.free_symbols <= {K, K1, K2, C}:
        return sp.nan
    signs = set()
    for k, rho in product(_SEEN, (Fraction(-9, 10), Fraction(1, 100), Fraction(1))):
        ball = enclose(function, {K: k, K1: k, K2: k, C: k * rho}, 128)
        signs.add(1 if ball > 0 else -1 if ball < 0 else 0)
        if len(signs) > 1:
            return sp.nan
    return sp.Integer(signs.pop())


def _multiply(a: _Polynomial, b: _Polynomial) -> _Polynomial:
    return _summed(*({m * k: u * v} for (m, u), (k, v) in product(a.items(), b.items())))


def _summed(*polynomials: _Polynomial) -> _Polynomial:
    total: _Polynomial = {}
    for monomial, coefficient in chain.from_iterable(p.items() for p in polynomials):
        total[monomial] = total.get(monomial, sp.Integer(0)) + coefficient
    return total
