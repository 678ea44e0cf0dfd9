"""The kernel at which activations use their whole range as evenly as Gaussian neurons allow.

Neurons ``h = phi^{-1}(y)`` of uniform y have the density ``phi'(h)/(phi(oo) - phi(-oo))``. Of all Gaussians of mean 0
that of variance K is nearest to it, in the divergence ``D(uniform | Gaussian) = log(K)/2 + <h^2>/(2 K) + const``, where
``K = <h^2>``: the second moment of that density.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import mpmath as mp
import sympy as sp
from sympy.integrals.quadrature import gauss_legendre

from ...activations.atom import Phi
from ...activations.piecewise import PiecewiseFunction
from ...activations.tails import tail
from ...core.errors import NoClosedForm
from ...core.symbols import z
from ...numerics.balls import enclose
from ...numerics.intervals.evaluation import vanishes

_DIGITS = 15
_WORKING = 70  # digits: a slope far out is a small difference of terms
_BITS = 160  # of the values by which a function is seen to fall
_PLACES = [sp.Rational(k, 8) for k in range(-80, 81)]
_REMEDY = "take a bounded, increasing activation such as erf or tanh"
_POINTS = 24  # of a panel
_HALVINGS = 60  # of a panel, until its end is taken for singular
_DOUBLINGS = 200  # of the range, until the second moment is taken for infinite
_FAR = 40  # doublings after which a moment that still grows is infinite


def maximum_entropy_kernel(phi: Phi) -> mp.mpf:
    """The second moment.

    Args:
        phi: a bounded activation without parameters that never falls.

    Raises:
        NoClosedForm: it is not bounded, falls somewhere, or comes near its bounds too slowly.
    """
    pieces = phi.pieces
    asked = f"the maximum entropy of {phi.formula.name}"
    if pieces.free_symbols:
        raise NoClosedForm(asked, "it has parameters", "give them numbers")
    low, high = tail(pieces.parts[0].xreplace({z: -z})).limit, tail(pieces.parts[-1]).limit
    if low is None or high is None or vanishes(high - low):
        raise NoClosedForm(asked, "it is not known to have two different finite limits", _REMEDY)
    if not pieces.is_continuous:
        raise NoClosedForm(asked, "it jumps: the values in between are never taken", _REMEDY)
    values = [enclose(pieces.part_at(place).subs(z, place), {}, _BITS) for place in _PLACES]
    if any(after < before for before, after in pairwise(values)):  # balls: beyond doubt, not by rounding
        raise _no_increase(asked)
    with mp.workdps(_WORKING):
        bounds = mp.mpf(sp.N(low, _WORKING)), mp.mpf(sp.N(high, _WORKING))
        moment = _SecondMoment(pieces, bounds, asked)
        found = moment.beyond_zero(1) + moment.beyond_zero(-1)
    with mp.workdps(_DIGITS + 10):
        return +found


@dataclass(frozen=True)
class _SecondMoment:
    """``<z^2>`` of the density ``phi'/(phi(oo) - phi(-oo))``, whose integral over any panel is known: that of phi.

    Args:
        pieces: phi.
        bounds: its limits at both sides.
        asked: for messages.
    """

    pieces: PiecewiseFunction
    bounds: tuple[mp.mpf, mp.mpf]
    asked: str

    @property
    def _breaks(self) -> list[mp.mpf]:
        return [mp.mpf(sp.N(b, 40)) for b in self.pieces.breaks]

    def beyond_zero(self, side: int) -> mp.mpf:
        """The part of one side: from dyadic panel to dyadic panel, as long as there is some of phi beyond."""
        bound, size = self.bounds[side > 0], self.bounds[1] - self.bounds[0]
        functions = [sp.lambdify(z, part, "mpmath") for part in self.pieces.parts]
        end = functions[-1] if side > 0 else functions[0]
        total, before, edge = mp.mpf(0), mp.mpf(0), mp.mpf(0)
        for doubling in range(_DOUBLINGS):
            far = mp.mpf(2) ** doubling
            own = self._between(*sorted((side * edge, side * far))) / size
            total, edge = total + own, far
            if doubling > _FAR and own > mp.mpf("0.99") * before > 0:
                break
            beyond = all(abs(b) < far for b in self._breaks) and abs(end(side * far) - bound) <= mp.eps * 1e3 * size
            if beyond and own <= mp.mpf(10) ** -(_DIGITS + 4) * total:
                return total
            before = own
        found = "it comes near its bounds so slowly that the second moment is infinite or out of reach"
        raise NoClosedForm(self.asked, found, _REMEDY)

    def _between(self, low: mp.mpf, high: mp.mpf) -> mp.mpf:
        """``integral z^2 phi'(z) dz``."""
        edges = [low, *(b for b in self._breaks if low < b < high), high]
        total = mp.mpf(0)
        for start, stop in pairwise(edges):
            part = self.pieces.part_at(sp.Rational(str((start + stop) / 2)))
            function, slope = (sp.lambdify(z, f, "mpmath") for f in (part, part.diff(z)))
            panels = [(start, function(start), stop, function(stop), 0)]
            while panels:
                a, left, b, right, depth = panels.pop()
                rise, moment, fall = _panel(slope, a, b)
                if min(fall, right - left) < -self._close:
                    raise _no_increase(self.asked)
                if abs(rise - (right - left)) <= self._close:
                    total += moment
                elif depth < _HALVINGS:
                    middle = (a + b) / 2
                    value = function(middle)
                    panels += [(a, left, middle, value, depth + 1), (middle, value, b, right, depth + 1)]
                else:
                    raise NoClosedForm(
                        self.asked, f"quadrature fails between {mp.nstr(a, 9)} and {mp.nstr(b, 9)}", _REMEDY
                    )
        return total

    @property
    def _close(self) -> mp.mpf:
        """A difference of values of phi that is none."""
        return mp.mpf(10) ** -(_DIGITS + 4) * (self.bounds[1] - self.bounds[0])


def _panel(slope: Callable[[mp.mpf], mp.mpf], a: mp.mpf, b: mp.mpf) -> tuple[mp.mpf, mp.mpf, mp.mpf]:
    """The integrals of the slope and of z^2 times it over a panel; its most negative value times the width, or 0."""
    rise, moment, least = mp.mpf(0), mp.mpf(0), mp.mpf(0)
    for node, weight in _nodes():
        place = a + (b - a) * (1 + node) / 2
        height = slope(place)
        least = min(least, height)
        rise += weight * height
        moment += weight * height * place**2
    half = (b - a) / 2
    return half * rise, half * moment, least * (b - a)


@lru_cache(maxsize=1)
def _nodes() -> Sequence[tuple[mp.mpf, mp.mpf]]:
    """Places and weights of Gauss and Legendre on [-1, 1]."""
    with mp.workdps(_DIGITS + 20):
        places, weights = gauss_legendre(_POINTS, _DIGITS + 20)
        return [(mp.mpf(p._mpf_), mp.mpf(w._mpf_)) for p, w in zip(places, weights, strict=True)]


def _no_increase(asked: str) -> NoClosedForm:
    return NoClosedForm(asked, "it falls somewhere", _REMEDY)
