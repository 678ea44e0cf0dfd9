"""Averages over two variables, one of them in closed form: piecewise polynomials of z2 given z1.

Given z1, the other variable is normal with mean m and deviation s. The average of a piecewise polynomial g is that of
the polynomial which holds at m, plus a correction for each breakpoint: the average of what g has there instead of that
polynomial, c_k (z - b)**k on the far side of b. The corrections are tails of the normal law, so nothing cancels, and
one quadrature over z1 remains.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from ...symbols import z

GIVEN = '''
def _given(f, g, K1, K2, C, parameters):
    """<f(z1) g(z2)> for a piecewise polynomial g: its average over z2 given z1, then quadrature over z1."""
    first = np.sqrt(np.clip(K1, 1e-280, None))
    spread = np.clip(np.sqrt(_determinant(K1, K2, C))/first, 1e-280, None)
    slope = C/first  # of the mean of z2, per standard deviation of z1
    steep = np.where(C < 0.0, -1.0, 1.0)*np.clip(np.abs(slope), 1e-140, None)
    width = np.clip(np.minimum(spread/np.abs(steep), f[3]/first), 1e-10, 1e8)
    x, mass = _panels([p/first for p in f[2]] + [b/steep for b in g[1]], width, 2.5, _REACH, max(f[4], g[4]))
    inner = _averaged(g, slope[..., None]*x, spread[..., None] + 0.0*x, parameters)
    return (_whole(f[0], f[1], first[..., None]*x, parameters)*inner*mass).sum(-1)


def _averaged(g, mean, spread, parameters):
    """<g(mean + spread*y)> of a piecewise polynomial over a standard normal y."""
    means, jumps = g[5]
    parameters = [_wide(p, mean) for p in parameters]
    square = spread*spread
    value = means[0](mean, square, *parameters) + 0.0*mean
    for k, edge in enumerate(g[1]):
        value = np.where(mean >= _wide(edge, mean), means[k + 1](mean, square, *parameters), value)
    for jump, edge in zip(jumps, g[1]):
        distance = _wide(edge, mean) - mean
        side = np.where(distance > 0.0, 1.0, -1.0)
        t = np.clip(np.abs(distance)/spread, None, 40.0)
        before, tail = 0.3989422804014327*np.exp(-0.5*t*t), 0.5*special.erfc(0.7071067811865476*t)
        scale = side
        for k, height in enumerate(jump(*parameters)):  # the tail is the average of (y - t)**k over y > t
            if k:
                before, tail = tail, max(k - 1, 1)*before - t*tail
                scale = scale*side*spread
            value = value + height*scale*tail
    return value
'''


GIVEN_THE_SECOND = '''
def _given_the_second(f, g, K1, K2, C, parameters):
    """<f(z1) g(z2)> for a piecewise polynomial f."""
    return _given(g, f, K2, K1, C, parameters)
'''


def is_polynomial(factor: Any) -> bool:
    """Whether a function is a polynomial on each of its pieces."""
    return all(p.is_polynomial(z) for p in factor.parts)


def vanishes(factor: Any) -> bool:
    """Whether a function is known to vanish around 0."""
    edges = (-sp.oo, *factor.breaks, sp.oo)
    pieces = zip(edges[:-1], edges[1:], factor.parts, strict=True)
    return any(part == 0 and left.is_extended_negative and right.is_extended_positive for left, right, part in pieces)


def means(factor: Any, square: sp.Symbol) -> list[sp.Expr]:
    """The average of each polynomial around a mean z, for a normal law of variance ``square``."""
    out = []
    for part in factor.parts:
        term, total, n = sp.expand(part), sp.Integer(0), 0
        while term != 0:
            total += term * (square / 2) ** n / sp.factorial(n)
            term, n = sp.expand(term.diff(z, 2)), n + 1
        out.append(total)
    return out


def jumps(factor: Any) -> list[list[sp.Expr]]:
    """The Taylor coefficients, at each breakpoint, of the difference of the polynomials on its two sides."""
    out = []
    for before, after, b in zip(factor.parts, factor.parts[1:], factor.breaks, strict=False):
        difference = sp.Poly(sp.expand((after - before).subs(z, z + b)), z)
        out.append(difference.all_coeffs()[::-1])
    return out
