"""Formulas in kernels and parameters taken apart: as polynomials in parameters, as products, by angles, by scales."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import chain, product

import sympy as sp
from flint import arb

from ...core.errors import SymresError
from ...core.symbols import K1, K2, C, K, Theta
from ...functions.balls import enclose
from ..averages.average_code import averages
from ..stable.angles import angle_form
from ..stable.primitives import determinant
from ..stable.rewrites import bottom_up
from ..stable.rounding_error import one_sign

PAIR = frozenset({K1, K2, C, Theta, determinant})
_Polynomial = dict[sp.Expr, sp.Expr]  # monomial -> coefficient
_SEEN = [Fraction(10) ** n for n in (-8, -4, -2, 0, 2, 4)]  # kernels
_STEPS = (sp.Integer(2), sp.Rational(3, 5), sp.Rational(7, 4))  # values of a parameter at which a scaling is tested
_FACTORS = (sp.Rational(4, 7), sp.Rational(9, 5), sp.Rational(2, 9))  # of the kernels there
_SHAPE = (sp.Integer(1), sp.Rational(5, 3), sp.Rational(-2, 3))  # K1, K2, C


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
        place = {K: k, K1: k, K2: k, C: k * rho}
        ball = next((b for b in (enclose(function, place, bits) for bits in (53, 128)) if b != 0), arb(0))
        signs.add(1 if ball > 0 else -1 if ball < 0 else 0)
        if len(signs) > 1:
            return sp.nan
    return sp.Integer(signs.pop())


def with_common_factors(expr: sp.Expr) -> sp.Expr:
    """Polynomials of two inputs with common factors in front, within a rounding or two: fewer operations for each pair.

    They are gathered of terms of both inputs, and of terms with the determinant.
    """

    def gathered(e: sp.Expr) -> sp.Expr:
        if not isinstance(e, sp.Add) or len(e.args) < 4 or not e.is_polynomial(*PAIR):
            return e
        both = [t for t in e.args if t.has(K1) and t.has(K2)]
        determined = [t for t in e.args if t not in both and t.has(determinant)]
        others = [t for t in e.args if t not in both and t not in determined]
        return sp.Add(*others, *(sp.gcd_terms(sp.Add(*terms)) for terms in (both, determined) if terms))

    return bottom_up(expr, gathered)


def scaling(expr: sp.Expr, kernels: Sequence[sp.Symbol], parameter: sp.Symbol) -> tuple[int, int] | None:
    """(m, s) such that f(kernels, p) = p**m * f(p**s * kernels, 1), s = 2 or -2; None if there is no such law.

    celu's alpha and swish's beta are of this kind, and so a fit in one variable serves every value of them.
    The law is found and tested at three points: in 25 digits, or in 10 where the average of two inputs is open.
    """
    if expr.free_symbols - set(kernels) != {parameter} or not parameter.is_positive:
        return None
    bits, tolerance = (60, 1e-10) if len(kernels) > 1 and averages(expr) else (120, 1e-25)

    def exponent(p: sp.Rational, factor: sp.Rational, s: int) -> arb:
        """The logarithm of f(kernels, p) / f(p**s * kernels, 1) in base p."""
        values = []
        for value, scale in ((p, sp.Integer(1)), (sp.Integer(1), p**s)):
            point = {k: scale * factor * x for k, x in zip(kernels, _SHAPE, strict=False)}
            values.append(enclose(expr.xreplace({parameter: value, **point}), {}, bits))
        return (values[0] / values[1]).log() / enclose(p, {}, bits).log()

    for s in (2, -2):
        exponents = (exponent(p, factor, s) for p, factor in zip(_STEPS, _FACTORS, strict=True))
        try:
            first = next(exponents)
            m = round(float(first.mid())) if first.is_finite() else 99
            if abs(m) <= 8 and all(abs(float((e - m).mid())) < tolerance for e in chain([first], exponents)):
                return m, s
        except SymresError:
            return None
    return None


def _multiply(a: _Polynomial, b: _Polynomial) -> _Polynomial:
    return _summed(*({m * k: u * v} for (m, u), (k, v) in product(a.items(), b.items())))


def _summed(*polynomials: _Polynomial) -> _Polynomial:
    total: _Polynomial = {}
    for monomial, coefficient in chain.from_iterable(p.items() for p in polynomials):
        total[monomial] = total.get(monomial, sp.Integer(0)) + coefficient
    return total
