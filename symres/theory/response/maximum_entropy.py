"""The kernel at which activations use their whole range as evenly as Gaussian neurons allow.

Neurons ``h = phi^{-1}(y)`` of uniform y have the density ``phi'(h)/(phi(oo) - phi(-oo))``. Of all Gaussians of mean 0
that of variance K is nearest to it, in the divergence ``D(uniform | Gaussian) = log(K)/2 + <h^2>/(2 K) + const``, where
``K = <h^2>``: the second moment of that density.
"""

from __future__ import annotations

from itertools import pairwise

import mpmath as mp
import sympy as sp

from ...activations.atom import Phi
from ...activations.piecewise import PiecewiseFunction
from ...core.errors import NoClosedForm
from ...core.symbols import z

_DIGITS = 15
_PLACES = [sp.Rational(k, 8) for k in range(-80, 81)]


def maximum_entropy_kernel(phi: Phi) -> mp.mpf:
    """The second moment.

    Args:
        phi: a bounded activation without parameters that never falls.

    Raises:
        NoClosedForm: it is not bounded, falls somewhere, or comes near its bounds too slowly.
    """
    pieces = phi.pieces
    asked = f"the maximum entropy of {phi.formula.name}"
    remedy = "take a bounded, increasing activation such as erf or tanh"
    if pieces.free_symbols:
        raise NoClosedForm(asked, "it has parameters", "give them numbers")
    low, high = sp.limit(pieces.parts[0], z, -sp.oo), sp.limit(pieces.parts[-1], z, sp.oo)
    values = [sp.N(pieces.part_at(place).subs(z, place)) for place in _PLACES]
    falls = any(after < before for before, after in pairwise(values))
    if falls or not (low.is_finite and high.is_finite) or not pieces.is_continuous or low == high:
        raise NoClosedForm(asked, "its values are not those of a bounded, increasing function", remedy)
    with mp.workdps(_DIGITS + 10):
        moment = _second_moment(pieces.diff())
        if not mp.isfinite(moment) or moment > 1e6:
            raise NoClosedForm(asked, "it comes near its bounds so slowly that the second moment is infinite", remedy)
        return moment / mp.mpf(sp.N(high - low, _DIGITS + 10))


def _second_moment(slope: PiecewiseFunction) -> mp.mpf:
    edges = [-mp.inf, *(mp.mpf(sp.N(b, 30)) for b in slope.breaks), mp.inf]
    parts = zip(slope.parts, edges, edges[1:], strict=False)
    total = mp.mpf(0)
    for part, start, end in parts:
        inside = [mp.mpf(k) for k in (-10, -3, 0, 3, 10) if start < k < end]
        total += mp.quad(sp.lambdify(z, z**2 * part, "mpmath"), [start, *inside, end])
    return total
