"""Averages over two variables, one of them in closed form: piecewise polynomials plus decaying exponentials.

Under a normal law of mean m and deviation s, ``exp(c*z)`` on the side of a breakpoint where it decays has an average in
erfcx, without overflow. Where c*s is so small that it cancels against the polynomials, Taylor's series at every
breakpoint makes the function a piecewise polynomial (conditional_polynomial.py) beside its smooth pieces.

One quadrature over z1 remains, on intervals between the points where its integrand changes: kinks of f, the places
where the mean of z2 crosses a kink of g, with the deviation of z2 on both sides, and the ends of exponentials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import sympy as sp

from ...core.symbols import z
from ..emission.emitter import Dialect, Emitter, Source, defined, literal, variable
from .conditional_polynomial import closed_average_code, has_closed_average
from .features import vanishes
from .integrands import PiecewiseIntegrand

ORDER = 9  # of Taylor's series
STEEPEST, FLATTEST = 100, sp.Rational(1, 100)  # rates of exponentials


@dataclass(frozen=True)
class Tilt:
    """A function in two parts.

    Args:
        polynomials: the part in pieces that are polynomials.
        exponentials: (side, rate, k, height): height*exp(side*rate*(z - b_k)) on that side of the k-th breakpoint on
            which it decays, the left one for side = 1.
    """

    polynomials: PiecewiseIntegrand
    exponentials: tuple[tuple[int, sp.Expr, int, sp.Expr], ...]


@cache
def tilt(factor: PiecewiseIntegrand) -> Tilt | None:
    """The parts of a function, or None if it is not of this kind."""
    if not factor.breaks or vanishes(factor):
        return None
    last, parts, found = len(factor.parts) - 1, [], []
    for place, part in enumerate(factor.parts):
        rest = sp.Integer(0)
        for term in sp.Add.make_args(sp.expand(part)):
            if term.is_polynomial(z):
                rest += term
                continue
            height, exponential = term.as_independent(z, as_Add=False)
            rate = sp.diff(exponential.args[0], z) if isinstance(exponential, sp.exp) else sp.nan
            if not rate.is_number or not rate.is_real or place not in (0, last):
                return None
            side = 1 if place == 0 else -1
            k = 0 if place == 0 else last - 1
            if not FLATTEST <= side * rate <= STEEPEST:
                return None
            found.append((side, side * rate, k, height * exponential.subs(z, factor.breaks[k])))
        parts.append(rest)
    polynomials = replace(factor, parts=tuple(parts))
    return Tilt(polynomials, tuple(found)) if has_closed_average(polynomials) else None


def split_code(factor: PiecewiseIntegrand, name: str, parameters: Sequence[sp.Symbol], dialect: Dialect) -> Source:
    """The code of both parts, and of Taylor's series: its line is what stands for them in calls.

    Args:
        factor: the function.
        name: prefix of the functions in the code.
        parameters: their last arguments.
        dialect: of an array library.
    """
    found = tilt(factor)
    assert found is not None
    polynomial = closed_average_code(found.polynomials, f"{name}_flat", parameters, dialect)
    (flat,), preamble, texts = polynomial.lines, list(polynomial.preamble), []
    listed = ", ".join(variable(p) for p in parameters)
    names = {p: variable(p) for p in parameters}
    for n, (side, rate, k, height) in enumerate(found.exponentials, 1):
        lines = Emitter(dialect, names).function([("return", height)])
        preamble.append(defined(f"{name}_height_{n}({listed})", lines))
        texts.append(f"({side}, {literal(rate)!r}, {k}, {name}_height_{n}), ")
    if not texts:
        return replace(polynomial, lines=(f"((), 0.0, {flat}, {flat})",))
    largest = max(literal(rate) for _, rate, _, _ in found.exponentials)
    series = closed_average_code(factor, f"{name}_series", parameters, dialect, ORDER)
    text = f"(({''.join(texts).strip()}), {largest!r}, {flat}, {series.lines[0]})"
    return Source((text,), (*polynomial.tables, *series.tables), (*preamble, *series.preamble))
