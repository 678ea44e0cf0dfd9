"""Averages of powers of ``|z|`` whose exponents are not whole, on each half line: values of the gamma function."""

from __future__ import annotations

from collections.abc import Iterator

import sympy as sp

from ...activations.piecewise import PiecewiseFunction
from ...core.symbols import z

_SIZE = sp.Dummy("u", positive=True)  # |z|

MOMENT = "E[z^q; z > 0] = 2^(q/2)*Gamma((q + 1)/2)*K^(q/2)/(2*sqrt(pi)), and for z < 0 of -z"


def half_line_moments(function: PiecewiseFunction, variance: sp.Expr) -> sp.Expr | None:
    """The average of a function that is a sum of powers of ``|z|`` on each side of 0.

    Args:
        function: of ``z``.
        variance: of ``z``, K.

    Returns:
        Its average; None if it is no such function, or all exponents are whole numbers, or one may be -1 or less.
    """
    if function.breaks != (0,):
        return None
    sides = (part.subs(z, side * _SIZE) for part, side in zip(function.parts, (-1, 1), strict=True))
    powers = [power for side in sides for power in _powers(side)]
    if all(q.is_integer for _, q in powers) or not all((q + 1).is_positive for _, q in powers):
        return None
    return sp.Add(*(c * absolute_moment(q) * variance ** (q / 2) / 2 for c, q in powers))


def _powers(side: sp.Expr) -> Iterator[tuple[sp.Expr, sp.Expr]]:
    """Coefficients and exponents of a sum of powers; nan as the exponent of what is no power."""
    for term in sp.Add.make_args(sp.expand(side)):
        if term == 0:
            continue
        coefficient, power = term.as_independent(_SIZE, as_Add=False)
        base, exponent = sp.powsimp(power, combine="exp").as_base_exp() if power != 1 else (_SIZE, sp.Integer(0))
        yield coefficient, exponent if base == _SIZE and not exponent.has(_SIZE) else sp.nan


def absolute_moment(p: sp.Expr | int) -> sp.Expr:
    """E|x|**p for a standard Gaussian x."""
    power = sp.sympify(p)
    if power.is_odd and power.is_number:  # the roots of 2 and pi as one
        n = (power - 1) / 2
        return sp.sqrt(2 / sp.pi) * 2**n * sp.factorial(n)
    return 2 ** (power / 2) * sp.expand_func(sp.gamma((power + 1) / 2)) / sp.sqrt(sp.pi)  # gammas of 0 to 1
