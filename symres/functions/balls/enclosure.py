"""From an expression and numbers to a ball, or to a number with a radius."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import TypeAlias

import mpmath
import sympy as sp
from flint import acb, arb, ctx
from mpmath.libmp import from_man_exp

from ...core.errors import DeclarationError, SymresError
from ...core.words import abbreviated
from ...numerics.ball_functions import Ball
from .compiler import compile_ball, constant_ball, from_binary_float, symbols_of

Number: TypeAlias = arb | acb | int | Fraction | float | str | mpmath.mpf | sp.Expr

GUARD_BITS = 16  # bits beyond the digits asked for, spent on ordinary rounding
_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,18})?)(?:/(\d+))?")

DOUBLINGS = 5  # precisions that evaluate() tries, each twice the last


def enclose(expr: sp.Expr, values: Mapping[sp.Symbol, Number], bits: int) -> arb:
    """Evaluate a real expression in ball arithmetic.

    Args:
        expr: the expression; ``Enclosable`` nodes are asked for their own enclosure, opaque ones of their
            ``_ball_arguments``.
        values: a number for every free symbol. Floats are exact binary numbers, strings exact decimals or ratios.
        bits: working precision.

    Returns:
        A ball that contains the exact value; it may be infinite or nan where the function is.

    Raises:
        DeclarationError: a symbol without a value, a value that is no number, or a function unknown here.
    """
    expr = sp.sympify(expr)
    symbols = tuple(sorted(symbols_of(expr), key=str))
    missing = [str(s) for s in symbols if s not in values]
    if missing:
        remedy = "pass " + ", ".join(f"{name}=..." for name in missing)
        found = f"no number for {', '.join(missing)}"
        raise DeclarationError(f"the value of {abbreviated(expr, 80)}", found, remedy)
    with ctx.workprec(bits):
        result = compile_ball(expr, symbols)([to_ball(values[s], bits) for s in symbols])
    if not isinstance(result, acb):
        return result
    if result.imag.contains(0):  # the formula is real, its pieces (sin x step: erf of a complex number) are not
        return result.real
    remedy = "use the formula inside its real domain"
    raise DeclarationError(f"the value of {abbreviated(expr, 80)}", "it is not real", remedy)


def evaluate(expr: sp.Expr, values: Mapping[sp.Symbol, Number], digits: int = 15) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Evaluate to a relative accuracy, raising the working precision as far as needed.

    Args:
        expr: the expression.
        values: a number for every free symbol.
        digits: decimal digits asked for.

    Returns:
        (value, radius): the exact value lies within ``value +/- radius`` and ``radius <= 10**-digits * abs(value)``.
        A value that stays indistinguishable from zero is returned as 0 with the radius reached.

    Raises:
        SymresError: the value is not finite, or the accuracy was out of reach.
    """
    first = int(digits * 3.3219281) + 1 + GUARD_BITS
    for attempt in range(DOUBLINGS):
        bits = first << attempt
        ball = enclose(expr, values, bits)
        if ball.is_finite():
            value, radius = value_and_radius(ball)
            if radius <= abs(value) / mpmath.mpf(10) ** digits:
                return value, radius
    # 1 - erf(30) is no zero, but vanishes to 400 digits: only a value below 2**(-bits/2) is taken for zero
    if ball.is_finite() and ball.contains(0) and ball.abs_upper() < arb(2) ** (-bits // 2):
        return mpmath.mpf(0), _mpf(ball.abs_upper())
    asked = f"{digits} digits of {abbreviated(expr, 80)}"
    if not ball.is_finite():
        raise SymresError(asked, "it is not finite", "check the values: it may be 0/0 or infinite there")
    raise SymresError(asked, f"{bits} bits only give {ball.str(5)}", "ask for fewer digits or check the values")


def as_float(node: sp.Expr, precision: int) -> sp.Float | None:
    """The value of a node for ``_eval_evalf``: a float of so many bits, or None while the node has symbols.

    Raises:
        SymresError: as of :func:`evaluate`.
    """
    if node.free_symbols:
        return None
    value, _ = evaluate(node, {}, int(precision / 3.32) + 2)
    return sp.Float(value, precision=precision)


def as_mpf(number: sp.Rational) -> mpmath.mpf:
    """A rational number in the current precision of mpmath."""
    return mpmath.mpf(int(number.p)) / int(number.q)


def value_and_radius(ball: arb) -> tuple[mpmath.mpf, mpmath.mpf]:
    """The middle of a ball and its radius; 0 and infinity for a ball that is not finite."""
    return (_mpf(ball.mid()), _mpf(ball.rad())) if ball.is_finite() else (mpmath.mpf(0), mpmath.inf)


def exact_middle(ball: arb) -> sp.Rational:
    """The middle of a ball, exactly."""
    mantissa, exponent = ball.mid().man_exp()
    return sp.Integer(int(mantissa)) * sp.Integer(2) ** int(exponent)


def to_ball(value: Number, bits: int) -> Ball:
    """A ball around a number: floats are exact binary numbers, strings exact decimals or ratios.

    Raises:
        DeclarationError: the value is no finite real number.
    """
    with ctx.workprec(bits):
        if isinstance(value, arb | acb):
            return value
        if isinstance(value, bool):
            raise DeclarationError(f"the value {value}", "it is a truth value", "pass a number")
        if isinstance(value, str):
            match = _NUMBER.fullmatch(value.strip())
            if match is None or (match[2] and not int(match[2])):
                remedy = "write a decimal such as 0.1 or a ratio such as 1/3"
                raise DeclarationError(f"the value {value!r}", "it is not a number", remedy)
            return arb(match[1]) / arb(match[2] or 1)  # flint's parser: 1e-999999999 must not fill the memory
        if isinstance(value, int):
            return arb(value)
        if isinstance(value, float):
            value = mpmath.mpf(value)
        if isinstance(value, mpmath.mpf) and mpmath.isfinite(value):
            return from_binary_float(value._mpf_)
        try:
            value = sp.sympify(value)
        except (TypeError, ValueError, sp.SympifyError):
            value = sp.nan
        if not isinstance(value, sp.Expr) or value.free_symbols or value.has(sp.nan, sp.zoo, sp.oo, -sp.oo):
            raise DeclarationError(f"the value {value!r}", "it is not a finite number", "pass a number")
        ball = constant_ball(value)
        return enclose(value, {}, bits) if ball is None else ball()


def _mpf(ball: arb) -> mpmath.mpf:
    mantissa, exponent = ball.man_exp()
    return mpmath.mp.make_mpf(from_man_exp(int(mantissa), int(exponent)))
