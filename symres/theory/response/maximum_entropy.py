"""The kernel at which activations use their whole range as evenly as Gaussian neurons allow.

Neurons ``h = phi^{-1}(y)`` of uniform y have the density ``phi'(h)/(phi(oo) - phi(-oo))``. Of all Gaussians of mean 0
that of variance K is nearest to it, in the divergence ``D(uniform | Gaussian) = log(K)/2 + <h^2>/(2 K) + const``, where
``K = <h^2>``: the second moment of that density.
"""

from __future__ import annotations

from itertools import pairwise

import mpmath as mp
import sympy as sp
from flint import acb, arb, ctx

from ...activations.atom import Phi
from ...activations.piecewise import PiecewiseFunction
from ...core.errors import NoClosedForm
from ...core.symbols import z
from ...functions.balls import CompiledExpression, compile_ball, enclose, value_and_radius
from ...functions.ranges import vanishes
from ...functions.tails import tail

_DIGITS = 15
_BITS = 240  # of all values: a slope far out is a small difference of terms
_GOAL = 64  # bits of an integral
_PLACES = [sp.Rational(k, 8) for k in range(-80, 81)]
_REMEDY = "take a bounded, increasing activation such as erf or tanh"
_DOUBLINGS = 200  # of the range, until the second moment is taken for infinite
_FAR = 40  # doublings after which a moment that still grows is infinite
_NEGLIGIBLE = 1e-60  # of the range of phi, that is nothing


def maximum_entropy_kernel(phi: Phi) -> mp.mpf:
    """The second moment, of a bounded activation without parameters that never falls.

    Raises:
        NoClosedForm: it is not bounded, falls somewhere, or comes near its bounds too slowly.
    """
    pieces = phi.pieces
    asked = f"the maximum entropy of {phi.formula.name}"
    if pieces.free_symbols:
        raise NoClosedForm(asked, "it has parameters", "give them numbers")
    halves = [pieces, pieces.mirrored().map(lambda u: -u)]  # the right of each: both rise to their limit
    limits = [tail(half.parts[-1]).limit for half in halves]
    if None in limits or vanishes(sp.Add(*limits)):
        raise NoClosedForm(asked, "its limits at -oo and oo are not shown to be finite and different", _REMEDY)
    if not pieces.is_continuous:
        raise NoClosedForm(asked, "it jumps, so that it does not take all values between its limits", _REMEDY)
    values = [enclose(pieces.part_at(place).subs(z, place), {}, _BITS) for place in _PLACES]
    if any(after < before for before, after in pairwise(values)):  # balls: beyond doubt, not by rounding
        raise _no_increase(asked)
    size = enclose(sp.Add(*limits), {}, _BITS)
    with ctx.workprec(_BITS):
        total = sum((_beyond_zero(*half, size, asked) for half in zip(halves, limits, strict=True)), arb(0))
    with mp.workdps(_DIGITS + 10):
        return +value_and_radius(total)[0]


def _beyond_zero(pieces: PiecewiseFunction, limit: sp.Expr, size: arb, asked: str) -> arb:
    """The part of ``<z^2>`` right of 0, in the current precision, of a function that takes values in a range of a size.

    It goes from dyadic panel to dyadic panel, as long as the function is not at its limit.
    """
    missing = compile_ball(pieces.parts[-1] - limit, (z,))
    breaks = [enclose(b, {}, _BITS) for b in pieces.breaks]
    slopes = [compile_ball(part.diff(z), (z,)) for part in pieces.parts]
    total, before, edge = arb(0), arb(0), arb(0)
    for doubling in range(_DOUBLINGS):
        far, added = arb(2) ** doubling, arb(0)
        for start, stop, slope in zip([-arb.pos_inf(), *breaks], [*breaks, arb.pos_inf()], slopes, strict=True):
            left, right = arb.max(edge, start), arb.min(far, stop)
            if left < right:
                added += _panel(slope, left, right, asked) / size
        total, edge = total + added, far
        if doubling > _FAR and added > before * 0.99 > 0:
            break
        beyond = all(b < far for b in breaks) and abs(missing([far])) <= _NEGLIGIBLE * size
        if beyond and not added > total * arb(10) ** -(_DIGITS + 4):
            return total
        before = added
    found = "it approaches its limits so slowly that the second moment is infinite or too large"
    raise NoClosedForm(asked, found, _REMEDY)


def _panel(slope: CompiledExpression, left: arb, right: arb, asked: str) -> arb:
    """``integral z^2 phi'(z) dz`` between two places, from phi'."""
    falls = False

    def integrand(u: acb, analytic: bool) -> acb:
        nonlocal falls
        height = acb(slope([u], analytic))
        falls = falls or (u.imag.is_zero() and height.real < 0)
        return height * u * u

    value = acb.integral(integrand, left, right, rel_tol=arb(2) ** -_GOAL, abs_tol=arb(2) ** -_BITS).real
    if falls:
        raise _no_increase(asked)
    if not value.is_finite():
        raise NoClosedForm(asked, f"quadrature fails between {left.str(9)} and {right.str(9)}", _REMEDY)
    return value


def _no_increase(asked: str) -> NoClosedForm:
    return NoClosedForm(asked, "it is not increasing everywhere", _REMEDY)
