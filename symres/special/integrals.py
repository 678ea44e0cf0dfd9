"""The special functions as balls: Plackett's identities, integrated rigorously over a correlation.

``d<sgn sgn>/dr`` of two signs is elementary, so the function is an integral over an angle t with ``r = sin(t)``, from a
correlation where the value is known. Where the ends of an interval are balls they are mapped to 0 and 1.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

from flint import acb, arb, arb_mat, ctx

from ..errors import DeclarationError
from .pairs import PAIRS, given_pair

Correlations = tuple[Any, ...]


def two_signs(h: arb, k: arb, r: arb) -> arb:
    """``<sgn(h + x) sgn(k + y)>``: from independent variables to correlation r.

    Args:
        h: shift of the first.
        k: shift of the second.
        r: correlation; the part of the ball inside [-1, 1] is meant.
    """
    angle = _angle(r)
    if h.is_zero() and k.is_zero():
        return 2 * angle / arb.pi()
    root = arb(2).sqrt()
    independent = (h / root).erf() * (k / root).erf()
    correlated = -_along(h, -k, arb(0), -angle) if angle.mid() < 0 else _along(h, k, arb(0), angle)
    return independent + 2 / arb.pi() * correlated


def two_tails(h: arb, k: arb, r: arb) -> arb:
    """``P(x > h, y > k)``, with the relative accuracy of the balls in the tails.

    For ``h + k >= 0`` it vanishes at correlation -1 and only grows from there. Else one threshold is negative, and
    what the other one cuts off has both signs.
    """
    if (h + k).lower() >= 0:
        return _along(h, k, -arb.pi() / 2, _angle(r)) / (2 * arb.pi())
    if k.mid() < h.mid():
        h, k = k, h
    root = arb(2).sqrt()
    if (k - h).lower() >= 0:  # P(y > k) - P(x < h, y > k)
        return (k / root).erfc() / 2 - _along(-h, k, -arb.pi() / 2, _angle(-r)) / (2 * arb.pi())
    return (1 - (h / root).erf() - (k / root).erf() + two_signs(h, k, r)) / 4


def four_signs(r: Correlations) -> arb:
    """``<sgn(x1) sgn(x2) sgn(x3) sgn(x4)>`` for the correlations ``r12, r13, r14, r23, r24, r34``.

    Along the path t*r from independent variables every pair adds ``(2/pi)**2`` times the integral, over the angle
    ``asin(t*r_ij)``, of the arcsine of the correlation that the others have given that pair.
    """
    _check_correlations(r)
    known: dict[Any, arb] = {}
    total = arb(0)
    for place, entry in enumerate(r):
        key = _neighbours(r, place)
        if entry.is_zero():
            continue
        if key not in known:
            known[key] = _of_pair(r, place)
        total += known[key]
    return 4 / arb.pi() ** 2 * total


def _of_pair(r: Correlations, place: int) -> arb:
    fixed = r[place]
    symmetric = all(entry is fixed for entry in r)

    def angle_of_the_others(w: acb, analytic: bool) -> acb:
        sine = w.sin()
        if symmetric:
            return _asin(sine / (1 + 2 * sine), analytic)
        covariance, variances = given_pair(tuple(sine if e is fixed else sine * (e / fixed) for e in r), place)
        return _asin(covariance / variances.sqrt(analytic), analytic)

    return _integral(angle_of_the_others, arb(0), _angle(fixed))


def _neighbours(r: Correlations, place: int) -> tuple[Any, ...]:
    """What the contribution of a pair depends on: equal for pairs that are related by a symmetry."""
    i, j = PAIRS[place]
    k, m = (v for v in range(4) if v not in (i, j))

    def entry(a: int, b: int) -> int:
        return id(r[PAIRS.index((min(a, b), max(a, b)))])

    around = (
        (entry(a, c), entry(a, d), entry(b, c), entry(b, d)) for a, b in ((i, j), (j, i)) for c, d in ((k, m), (m, k))
    )
    return id(r[place]), entry(k, m), min(around)


def _along(h: arb, k: arb, start: arb, end: arb) -> arb:
    """The integral of ``exp(-E(t))``, ``E = (h**2 - 2*h*k*sin(t) + k**2)/(2*cos(t)**2)``, from start to end.

    E falls up to ``sin(t) = h/k`` for ``|h| < |k|`` and rises from there, towards a pole at +-pi/2 unless h = +-k: what
    lies where exp(-E) is negligible, and the poles with it, is bounded by its value at the border.
    """
    if abs(h).mid() > abs(k).mid():
        h, k = k, h
    decay = -k * k / 2

    def weight(t: acb, analytic: bool) -> acb:
        across, distance = t.cos(), h - k * t.sin()
        square = across * across
        if not square.contains(0):
            return (decay - distance * distance / (2 * square)).exp()
        if analytic or not t.imag.is_zero():
            return acb(arb.nan())
        return acb(decay.exp() * arb(0).union(1))

    left, right = _window(h, k, start, end)
    rest = arb(0)
    for near, far in ((left, start), (right, end)):
        if near is not far:
            rest += (near - far).abs_upper() * weight(acb(near), False).real
    return _integral(weight, left, right) + arb(0, 1) * rest


def _window(h: arb, k: arb, start: arb, end: arb) -> tuple[arb, arb]:
    """The part of an interval outside which ``exp(-E)`` is negligible, for |h| <= |k|."""
    bits = ctx.prec
    with ctx.workprec(53):
        low, high = start.mid(), end.mid()
        ratio = _inside((h / k).mid()) if k.mid() else arb(0)
        peak = min(max(ratio.asin().mid(), low), high)

        def excess(t: arb) -> arb:
            """E less k**2/2."""
            return ((h.mid() - k.mid() * t.sin()) / t.cos()) ** 2 / 2

        limit = excess(peak).mid() + (bits + 16) * arb(2).log()

        def border(place: arb, given: arb) -> arb:
            if excess(place) < limit:
                return given
            inner, outer = peak, place
            for _ in range(40):
                middle = ((inner + outer) / 2).mid()
                inner, outer = (middle, outer) if excess(middle) < limit else (inner, middle)
            return outer

        return border(low, start), border(high, end)


def _integral(function: Callable[[acb, bool], acb], start: arb, end: arb) -> arb:
    """The integral of a function, relative to its own size in the current precision."""
    length, bits = end - start, ctx.prec
    size = _rough(function, start, length)
    if size.is_zero():
        size = arb(2) ** -(1 << 40)
    result = acb.integral(
        lambda u, analytic: function(start + length * u, analytic),
        0,
        1,
        rel_tol=arb(2) ** -bits,
        abs_tol=size * arb(2) ** -bits,
        eval_limit=1000 * bits,
        depth_limit=64 * bits,
    )
    return result.real * length


def _rough(function: Callable[[acb, bool], acb], start: arb, length: arb) -> arb:
    """A lower estimate of the largest value on the way."""
    values = (abs(function(acb((start + length * u / 8).mid()), False)).mid() for u in range(9))
    return max((v for v in values if v.is_finite()), default=arb(1)) / 64


def _angle(r: arb) -> arb:
    """asin, of the part of a ball inside [-1, 1]."""
    angle = r.asin()
    if angle.is_finite():
        return angle
    if abs(r) > 1:
        raise DeclarationError("an average of signs", f"the correlation {r.str(5)}", "pass one between -1 and 1")
    return _inside(r.lower()).asin().union(_inside(r.upper()).asin())


def _check_correlations(r: Correlations) -> None:
    """Refuse what is certainly no correlation matrix."""
    matrix = [[arb(1)] * 4 for _ in range(4)]
    for (i, j), entry in zip(PAIRS, r, strict=True):
        matrix[i][j] = matrix[j][i] = entry
    for size in (2, 3, 4):
        for rows in combinations(range(4), size):
            if arb_mat([[matrix[i][j] for j in rows] for i in rows]).det() < 0:
                found = ", ".join(entry.str(5) for entry in r)
                raise DeclarationError(
                    "an average of four signs", f"{found} are no correlations", "pass those of some law"
                )


def _inside(x: arb) -> arb:
    return min(max(x, arb(-1)), arb(1))


def _asin(x: acb, analytic: bool) -> acb:
    if analytic and not abs(x.real) < 1 and x.imag.contains(0):
        return acb(arb.nan())
    if x.imag.is_zero() and x.real.is_finite():
        return acb(_inside(x.real.lower()).asin().union(_inside(x.real.upper()).asin()))
    return x.asin()
