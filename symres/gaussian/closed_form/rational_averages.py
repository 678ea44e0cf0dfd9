"""Averages of quotients of polynomials with poles off the real line, by partial fractions.

The law of -z is that of z, so that only the even part counts, a quotient of polynomials in z^2. Its parts are powers of
z^2 and of 1/(z^2 + s), s > 0. From 1/(z^2 + s) = int_0^oo exp(-(z^2 + s)*t) dt and <exp(-t*z^2)> = (1 + 2*K*t)^(-1/2)
follows the average of the simple fraction, and from that its derivatives in s are those of the powers.
"""

from __future__ import annotations

import sympy as sp

from ...activations.piecewise import PiecewiseFunction
from ...core.symbols import z
from ...functions.ranges import sign_of

_SQUARE, _SHIFT = sp.Dummy("z^2"), sp.Dummy("s", positive=True)

FRACTION = (
    "partial fractions in the square of the variable: each simple one is an integral over Gaussian factors, whose "
    "averages integrate to an erfc; powers of them are its derivatives in the pole"
)


def rational_average(function: PiecewiseFunction, variance: sp.Expr) -> sp.Expr | None:
    """The average of a quotient of polynomials.

    Args:
        function: of ``z``.
        variance: of ``z``, K.

    Returns:
        Its average; None if it is another function, or its even part has poles off the imaginary axis or of unknown
        place.
    """
    part = function.parts[0]
    if function.breaks or part.is_polynomial(z) or not part.is_rational_function(z):
        return None
    even = sp.cancel((part + part.xreplace({z: -z})) / 2)
    quotient = even.subs(z, sp.sqrt(_SQUARE))
    poles = sp.Poly(sp.denom(sp.together(quotient)), _SQUARE).factor_list()[1]
    if any(factor.degree() != 1 or sign_of(_shift(factor)) != 1 for factor, _ in poles):
        return None
    total = sp.Integer(0)
    for term in sp.Add.make_args(sp.apart(quotient, _SQUARE)):
        for piece in sp.Add.make_args(sp.expand(term) if term.is_polynomial(_SQUARE) else term):
            total += _of_part(piece, variance)
    return total


def _of_part(piece: sp.Expr, variance: sp.Expr) -> sp.Expr:
    """The average of a multiple of a power of z^2, or of 1/(z^2 + s)^m."""
    above, below = sp.fraction(piece)
    power = sp.degree(above, _SQUARE)
    if not below.has(_SQUARE):
        return piece.subs(_SQUARE, 1) * sp.factorial2(2 * power - 1) * variance**power
    ((factor, order),) = sp.Poly(below, _SQUARE).factor_list()[1]
    slope = sp.Poly(below, _SQUARE).LC() / factor.LC() ** order
    simple = sp.sqrt(sp.pi / (2 * _SHIFT * variance)) * sp.exp(_SHIFT / (2 * variance))
    simple *= sp.erfc(sp.sqrt(_SHIFT / (2 * variance)))
    raised = (-1) ** (order - 1) * simple.diff(_SHIFT, order - 1) / sp.factorial(order - 1)
    return above / (slope * factor.LC() ** order) * raised.subs(_SHIFT, _shift(factor))


def _shift(factor: sp.Poly) -> sp.Expr:
    """The s of a multiple of z^2 + s."""
    slope, constant = factor.all_coeffs()
    return constant / slope
