"""Averages with delta functions: densities of one input, or of both, at the breakpoints of functions."""

from __future__ import annotations

import sympy as sp

from ..averages.integrands import PiecewiseIntegrand, is_polynomial
from .correlation_path import correlation, largest, roots, side, sine
from .exponential_law import ExponentialPieces
from .fixed_sum import node as p
from .piecewise_law import density, piecewise_average


def average_at(b: sp.Expr, root: sp.Expr, other: sp.Expr, g: PiecewiseIntegrand) -> sp.Expr | None:
    """The density of one input at b times the average of a function of the other one there, in p.

    Args:
        b: where the one input is.
        root: its standard deviation.
        other: that of the other input.
        g: the function; None is returned for functions whose average is not elementary.
    """
    u = b / root
    if is_polynomial(g):

        def standard(c: sp.Expr) -> sp.Expr:
            return side * ((side * c / other - u) * (1 + p**2) + 2 * u * p**2) / (2 * p)

        return density(u) / root * piecewise_average(g, correlation * other * u, other * sine, standard)
    pieces = ExponentialPieces.of(g)
    return None if pieces is None or b != 0 else density(u) / root * pieces.average(other * sine)


def exponent_of_both(u: sp.Expr, v: sp.Expr) -> sp.Expr:
    """Minus that of the density of both inputs at standardised places, the second one times the side."""
    return difference(u, v) ** 2 * (1 + p**2) ** 2 / (8 * p**2) + u * v * (1 + p**2) / 2


def density_of_both(b: sp.Expr, c: sp.Expr) -> sp.Expr:
    """<delta(z1 - b) delta(z2 - c)>."""
    exponent = exponent_of_both(b / roots[0], side * c / roots[1])
    return sp.exp(-exponent) / (2 * sp.pi * largest * sine)


def difference(u: sp.Expr, v: sp.Expr) -> sp.Expr:
    """Of u - v and v - u the one without a minus sign: even functions of it are written once."""
    return -(u - v) if (u - v).could_extract_minus_sign() else u - v
