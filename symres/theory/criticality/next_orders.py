"""Corrections to the laws of the depth, as far as they do not depend on the first kernel.

The distance d from K* with ``d' = d + b*d**n + c*d**m`` has ``u = d**-p``, p = n - 1, with

    u' = u - p*b - p*c*d**(m - n) + p*(p + 1)/2*b**2/u + ...,

so u grows by ``U = -p*b`` a layer and by corrections that fall like powers of the depth. Their sum over the layers is a
power of l, or log(l) where they fall like 1/l. For large kernels ``K' = K + r*K**q + s*K**t`` it is the same with
``v = K**(1 - q)`` and

    v' = v + (1 - q)*r + (1 - q)*s*K**(t - q) - (1 - q)*q/2*r**2/v + ...
"""

from __future__ import annotations

from collections.abc import Mapping

import sympy as sp

from ...results.critical_point import NextOrder

Term = tuple[sp.Expr, sp.Expr]  # a power and its coefficient


def of_distance(first: Term, second: Term | None, amplitude: sp.Expr) -> NextOrder | None:
    """Of ``d ~ amplitude*l**(-1/(n - 1))``, from the first two terms of d' - d; None for no second one."""
    n, b = first
    p = n - 1
    corrections = {sp.Integer(1): -(p + 1) / (2 * p**2)}
    if second is not None:
        m, c = second
        sigma = (m - n) / p
        corrections[sigma] = corrections.get(sigma, sp.Integer(0)) - c * amplitude ** (m - n) / (p * b)
    return _summed(corrections)


def of_growth(first: Term, second: Term | None) -> NextOrder | None:
    """Of ``K ~ ((1 - q)*r*l)**(1/(1 - q))``, from the first two terms of K' - K; None for no second one."""
    q, r = first
    corrections = {sp.Integer(1): -q / (2 * (1 - q) ** 2)}
    if second is not None:
        t, s = second
        sigma = (q - t) / (1 - q)
        corrections[sigma] = corrections.get(sigma, sp.Integer(0)) + s * ((1 - q) * r) ** (-sigma - 1)
    return _summed(corrections)


def _summed(corrections: Mapping[sp.Expr, sp.Expr]) -> NextOrder | None:
    """The largest term of a sum over layers of ``coefficient*l**-sigma``, in units of l; of none the start decides."""
    for sigma, coefficient in sorted(corrections.items()):
        if coefficient != 0 and sigma < 1:
            return NextOrder(coefficient / (1 - sigma), sigma)
        if coefficient != 0 and sigma == 1:
            return NextOrder(coefficient, sigma, logarithmic=True)
    return None
