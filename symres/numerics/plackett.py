"""The special functions as balls: Plackett's identities, integrated rigorously over a correlation.

``d<sgn sgn>/dr`` of two signs is elementary, so the function is an integral over an angle t with ``r = sin(t)``, from a
correlation where the value is known. Where the ends of an interval are balls they are mapped to 0 and 1.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from itertools import combinations
from typing import Any, TypeAlias

from flint import acb, acb_poly, arb, arb_mat, arb_poly, ctx

from ..core.errors import DeclarationError
from .ball_functions import complex_asin, restricted

Correlations: TypeAlias = tuple[arb, ...]
Numbers: TypeAlias = tuple[Any, ...]  # balls or formulas

PAIRS = tuple(combinations(range(4), 2))  # the order of the six correlations of four variables: 12, 13, ... 34

_real_asin = restricted(arb.asin, -1, 1)
_FROM_THE_END = arb_poly([1, -1])  # t = 1 - (1 - t)

_MAX_EVALUATIONS = 200  # of an integrand for each bit: beyond, the arguments are too wide for the precision


def two_signs(h: arb, k: arb, r: arb) -> arb:
    """``<sgn(h + x) sgn(k + y)>``: from independent variables to correlation r.

    Args:
        h: shift of the first.
        k: shift of the second.
        r: correlation; the part of the ball inside [-1, 1] is meant.
    """
    if h.is_zero() and k.is_zero():
        return 2 * _angle(r) / arb.pi()
    root, quarter, end = arb(2).sqrt(), arb.pi() / 4, _half_angle(r)
    independent = (h / root).erf() * (k / root).erf()
    sign, low, high = (1, end, quarter) if end.mid() < quarter.mid() else (-1, quarter, end)
    bound = (_largest(*_poles(h, k), low, high).upper() * (high - low)).upper()
    if bound < abs(independent).lower() * arb(2) ** -(ctx.prec + 8):
        return independent + arb(0, 2 * bound)
    return independent + sign * 2 / arb.pi() * _plackett_integral(h, k, low, high)


def two_tails(h: arb, k: arb, r: arb) -> arb:
    """``P(x > h, y > k)``, with the relative accuracy of the balls in the tails.

    For ``h + k >= 0`` it vanishes at correlation -1 and only grows from there. Else one threshold is negative, and
    what the other one cuts off has both signs.
    """
    half = arb.pi() / 2
    if (h + k).lower() >= 0:
        return _plackett_integral(h, k, _half_angle(r), half) / (2 * arb.pi())
    if k.mid() < h.mid():
        h, k = k, h
    root = arb(2).sqrt()
    if (k - h).lower() >= 0:  # P(y > k) - P(x < h, y > k)
        return (k / root).erfc() / 2 - _plackett_integral(-h, k, _half_angle(-r), half) / (2 * arb.pi())
    return (1 - (h / root).erf() - (k / root).erf() + two_signs(h, k, r)) / 4


def four_signs(r: Correlations) -> arb:
    """``<sgn(x1) sgn(x2) sgn(x3) sgn(x4)>`` for the correlations ``r12, r13, r14, r23, r24, r34``.

    Along the path t*r from independent variables every pair adds ``(2/pi)**2`` times the integral, over the angle
    ``asin(t*r_ij)``, of the arcsine of the correlation that the others have given that pair.
    """
    _check_correlations(r)
    contributions: dict[Hashable, arb] = {}
    total = arb(0)
    for pair, entry in enumerate(r):
        if not entry.is_zero():
            key = _neighbours(r, pair)
            if key not in contributions:
                contributions[key] = _of_pair(r, pair)
            total += contributions[key]
    return 4 / arb.pi() ** 2 * total


def entry_of(r: Sequence[Any], a: int, b: int) -> Any:
    """The correlation of two variables, in any order."""
    return r[PAIRS.index((min(a, b), max(a, b)))]


def conditional_on_pair(r: Numbers, pair: int) -> tuple[Numbers, Numbers, Numbers]:
    """Covariance and variances of two variables given the two others, for the correlations ``t*r``.

    Args:
        r: the six correlations.
        pair: position in ``PAIRS`` of the two variables that are given.

    Returns:
        The coefficients of polynomials in t, constant term first: the covariance of the two others and their variances,
        all times ``1 - (t*r_ij)**2``.
    """
    i, j = PAIRS[pair]
    k, m = (v for v in range(4) if v not in (i, j))
    fixed, entry = r[pair], partial(entry_of, r)

    def variance(a: int) -> Numbers:
        return 1, 0, -(fixed**2) - entry(a, i) ** 2 - entry(a, j) ** 2, 2 * fixed * entry(a, i) * entry(a, j)

    crossed = entry(k, i) * entry(m, j) + entry(k, j) * entry(m, i)
    parallel = entry(k, i) * entry(m, i) + entry(k, j) * entry(m, j)
    covariance = 0, entry(k, m), -parallel, fixed * crossed - entry(k, m) * fixed**2
    return covariance, variance(k), variance(m)


def _of_pair(r: Correlations, pair: int) -> arb:
    """The integral, over ``asin(t*r_ij)``, of the angle whose sine is the others' correlation given the pair.

    Nearly dependent variables make the variances and the determinant nearly vanish at t = 1: all are polynomials in
    ``1 - t``, and the integral runs over the distance from the end.
    """
    fixed = r[pair]
    end = _angle(fixed)
    if all(entry is fixed for entry in r):
        return _integral(lambda w, analytic: _asin(w.sin() / (1 + 2 * w.sin()), analytic), arb(0), end)
    cross, one, other = (arb_poly(list(c)) for c in conditional_on_pair(r, pair))
    covariance = cross(_FROM_THE_END)
    variances = one(_FROM_THE_END) * other(_FROM_THE_END)
    determinant = variances - covariance * covariance

    def angle_of_the_others(y: acb, analytic: bool) -> acb:
        half = y / 2
        rest = 2 * (end - half).cos() * half.sin() / fixed  # 1 - t
        c, v, d = (acb_poly(p)(rest) for p in (covariance, variances, determinant))
        if y.imag.is_zero() and not analytic and not (v.real > 0 and d.real > 0):
            return acb(arb(0, 1) * arb.pi() / 2)  # an angle, whatever the balls say
        turned = (d.sqrt(analytic) + acb(0, 1) * c).log(analytic) - v.log(analytic) / 2
        return -acb(0, 1) * turned

    return _integral(angle_of_the_others, arb(0), end)


def _neighbours(r: Correlations, pair: int) -> Hashable:
    """A key for the contribution of a pair: equal for pairs that are related by a symmetry."""
    i, j = PAIRS[pair]
    k, m = (v for v in range(4) if v not in (i, j))

    entry = partial(entry_of, tuple(map(id, r)))
    around = (
        (entry(a, c), entry(a, d), entry(b, c), entry(b, d)) for a, b in ((i, j), (j, i)) for c, d in ((k, m), (m, k))
    )
    return id(r[pair]), entry(k, m), min(around)


def _plackett_integral(h: arb, k: arb, low: arb, high: arb) -> arb:
    """The integral of ``exp(-(h**2 - 2*h*k*r + k**2)/(2*(1 - r**2)))`` over asin(r), ``r = cos(2*t)``.

    t goes from low to high. The exponent is ``-(u/sin(t)**2 + v/cos(t)**2)`` with ``u = (h - k)**2/8`` and
    ``v = (h + k)**2/8``, largest between its poles at 0 and pi/2. What lies where the integrand is negligible is
    bounded by its value at the border.
    """
    u, v = _poles(h, k)
    largest = _largest(u, v, low, high)
    if largest.rel_accuracy_bits() < 1:  # the exponent has no digit after the point: no more can be known
        return 2 * (largest.upper() * (high - low)).union(0)
    left, right = _window(u, v, low, high)
    missed = arb(0)
    for kept_end, whole_end in ((left, low), (right, high)):
        if kept_end is not whole_end:
            missed += abs(kept_end - whole_end).upper() * _weight(u, v, acb(kept_end), False).real.upper()
    # a pole that has next to no effect is left out: 1 - exp(-x) < x, and 1/sin**2 has the integral -cot
    beside = [_weight(p, q, acb(t), False).real.upper() for p, q, t in ((arb(0), v, left), (u, arb(0), right))]
    u, missed = _without_pole(u, left.mid(), missed, beside[0])
    v, missed = _without_pole(v, arb.pi() / 2 - right.mid(), missed, beside[1])
    if v.is_zero() or not right < arb.pi() / 2:
        inside = _integral(partial(_weight, u, v), left, right)
    else:
        first, last = left.tan(), right.tan()
        with ctx.workprec(ctx.prec + int(float(last)).bit_length()):  # of places near 1, which are parts of the whole
            inside = (-u - v).exp() * _integral(partial(_weight_of_tangent, u, v), first, last)
    return 2 * (inside + arb(0, 1) * missed)


def _poles(h: arb, k: arb) -> tuple[arb, arb]:
    """The residues (h - k)**2/8 at 0 and (h + k)**2/8 at pi/2."""
    apart, along = h - k, h + k
    return apart * apart / 8, along * along / 8  # flint's square of a ball around 0 is nan


def _largest(u: arb, v: arb, low: arb, high: arb) -> arb:
    """The largest value of the weight on an interval: at an end, or between its poles."""
    peak = arb.atan2(_root(u).sqrt(), _root(v).sqrt())
    for end, beyond in ((low, low > peak), (high, high < peak)):
        if beyond:
            return _weight(u, v, acb(end), False).real
    total = _root(u) + _root(v)
    return (-total * total).exp()


def _weight(u: arb, v: arb, t: acb, analytic: bool) -> acb:
    """``exp(-u/sin(t)**2 - v/cos(t)**2)``."""
    exponent = acb(0)
    sine, cosine = t.sin_cos()
    for residue, leg in ((u, sine), (v, cosine)):
        if residue.is_zero():
            continue
        square = leg * leg
        if square.contains(0):
            return acb(arb.nan()) if analytic or not t.imag.is_zero() else acb((-u - v).exp() * arb(0).union(1))
        exponent += residue / square
    return (-exponent).exp()


def _weight_of_tangent(u: arb, v: arb, x: acb, analytic: bool) -> acb:
    """``exp(-u/x**2 - v*x**2)/(1 + x**2)``, the weight over ``exp(-u - v)`` in ``x = tan(t)``: a third of its work."""
    square = x * x
    exponent = v * square if u.is_zero() else v * square + u / square
    return (-exponent).exp() / (1 + square)


def _without_pole(residue: arb, distance: arb, missed: arb, bound: arb) -> tuple[arb, arb]:
    """The residue of a pole, 0 if leaving it out changes next to nothing or if it is not known to be none.

    And what is missed then: ``bound`` is the largest value of the rest of the integrand on the interval, at a distance
    from the pole.
    """
    largest = residue.abs_upper()
    effect = arb.pi() * largest.sqrt()  # the integral of min(1, residue/sin(t)**2)
    if distance > 0:
        effect = min(effect, largest / distance.tan())
    if residue.contains(0) or effect < arb(2) ** -(ctx.prec + 8):
        return arb(0), missed + effect.upper() * bound
    return residue, missed


def _window(u: arb, v: arb, low: arb, high: arb) -> tuple[arb, arb]:
    """The part of an interval outside which the integrand is negligible beside its largest value."""
    u, v, first, last = u.mid(), v.mid(), low.mid(), high.mid()

    def exponent(t: arb) -> arb:
        return sum((p / leg**2 for p, leg in ((u, t.sin()), (v, t.cos())) if not p.is_zero()), arb(0))

    peak = first if u.is_zero() else arb.atan2(u.sqrt().sqrt(), v.sqrt().sqrt()).mid()
    peak = min(max(peak, first), last)
    fall = (ctx.prec + 16) * arb(2).log()
    limit = exponent(peak).mid() + fall

    def border(place: arb, end_ball: arb) -> arb:
        """Where the integrand becomes negligible on the way from its peak to an end; the end itself if nowhere.

        It is not much less there, by an eighth of the exponent's way: near a pole, where it vanishes fast, an integral
        takes long.
        """
        if exponent(place) < limit:
            return end_ball
        inner, outer = peak, place
        while not exponent(outer) < limit + fall / 8 and abs(outer - inner) > abs(peak) * arb(2) ** -ctx.prec:
            middle = ((inner + outer) / 2).mid()
            inner, outer = (middle, outer) if exponent(middle) < limit else (inner, middle)
        return outer

    return border(first, low), border(last, high)


def _integral(function: Callable[[acb, bool], acb], start: arb, end: arb) -> arb:
    """The integral of a bounded function, relative to its own size in the current precision.

    Ends that are balls are moved to their middles, at the cost of what lies between.
    """
    bits, moved = ctx.prec, arb(0)
    for border in (start, end):
        if not border.is_exact():
            moved += border.rad() * abs(function(acb(border), False).real).upper()
    start, end = start.mid(), end.mid()
    length = end - start
    # a lower estimate of the largest value on the way
    sizes = (abs(function(acb((start + length * u / 8).mid()), False)).mid() for u in range(9))
    size = max((v for v in sizes if v.is_finite()), default=arb(1)) / 64
    result = acb.integral(
        lambda u, analytic: function(start + length * u, analytic),
        0,
        1,
        rel_tol=arb(2) ** -bits,
        abs_tol=(size + moved) * arb(2) ** -bits,
        eval_limit=_MAX_EVALUATIONS * bits,
        depth_limit=8 * bits,
    )
    return result.real * length + arb(0, 1) * moved


def _half_angle(r: arb) -> arb:
    """acos(r)/2, of the part of a ball inside [-1, 1]."""
    _check_correlation(r)
    return arb.atan2(_root(1 - r), _root(1 + r))


def _root(x: arb) -> arb:
    return x.sqrt() if x > 0 else arb(0).union(max(x.upper(), arb(0)).sqrt())


def _angle(r: arb) -> arb:
    """asin, of the part of a ball inside [-1, 1]."""
    _check_correlation(r)
    return _real_asin(r)


def _check_correlation(r: arb) -> None:
    if abs(r) > 1:
        raise DeclarationError("an average of signs", f"{r.str(5)} is not a correlation", "pass one between -1 and 1")


def _check_correlations(r: Correlations) -> None:
    """Refuse correlations of which some minor is certainly negative."""
    matrix = [[arb(1)] * 4 for _ in range(4)]
    for (i, j), entry in zip(PAIRS, r, strict=True):
        matrix[i][j] = matrix[j][i] = entry
    for size in (2, 3, 4):
        for rows in combinations(range(4), size):
            if arb_mat([[matrix[i][j] for j in rows] for i in rows]).det() < 0:
                found = ", ".join(entry.str(5) for entry in r)
                raise DeclarationError(
                    "an average of four signs", f"no Gaussian law has the correlations {found}", "change them"
                )


def _asin(x: acb, analytic: bool) -> acb:
    """The arcsine; of a real ball that of its part inside [-1, 1]."""
    if analytic or not x.imag.is_zero():
        return complex_asin(analytic, x)
    return acb(_real_asin(x.real))
