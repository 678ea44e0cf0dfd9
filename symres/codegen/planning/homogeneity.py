"""Parameters that only set a scale: f(K, p) = p**m * f(p**s * K, 1) leaves functions of kernels alone.

celu's alpha and swish's beta are of this kind, and so a fit in one variable serves every value of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import sympy as sp
from flint import arb

from ...core.errors import SymresError
from ...functions.balls import enclose
from ..averages.average_code import averages

_STEPS = (sp.Integer(2), sp.Rational(3, 5), sp.Rational(7, 4))  # values of the parameter at which it is tested
_PLACES = (sp.Rational(4, 7), sp.Rational(9, 5), sp.Rational(2, 9))  # factors of the kernels
_SHAPE = (sp.Integer(1), sp.Rational(5, 3), sp.Rational(-2, 3))  # K1, K2, C


def scaling(expr: sp.Expr, kernels: Sequence[sp.Symbol], parameter: sp.Symbol) -> tuple[int, int] | None:
    """(m, s) such that f(kernels, p) = p**m * f(p**s * kernels, 1), s = 2 or -2; None if there is no such law.

    The law is found and tested at three points: in 25 digits, or in 10 where the average of two inputs is open.
    """
    free = expr.free_symbols - set(kernels)
    if free != {parameter} or not parameter.is_positive:
        return None
    bits, tolerance = (60, 1e-10) if len(kernels) > 1 and averages(expr) else (120, 1e-25)
    for s in (2, -2):
        powers = (_power(expr, kernels, parameter, p, at, s, bits) for p, at in zip(_STEPS, _PLACES, strict=True))
        try:
            first = next(powers)
            m = round(float(first.mid())) if first.is_finite() else 99
            if abs(m) <= 8 and all(abs(float((p - m).mid())) < tolerance for p in chain([first], powers)):
                return m, s
        except SymresError:
            return None
    return None


def _power(
    expr: sp.Expr,
    kernels: Sequence[sp.Symbol],
    parameter: sp.Symbol,
    p: sp.Rational,
    at: sp.Rational,
    s: int,
    bits: int,
) -> arb:
    """The logarithm of f(kernels, p) / f(p**s * kernels, 1) in base p."""
    shape = [at * x for x in _SHAPE[: len(kernels)]]
    values = []
    for number, factor in ((p, sp.Integer(1)), (sp.Integer(1), p**s)):
        point = {parameter: number, **{k: factor * x for k, x in zip(kernels, shape, strict=True)}}
        values.append(enclose(expr.xreplace(point), {}, bits))
    return (values[0] / values[1]).log() / enclose(p, {}, bits).log()
