"""The overlap of two softmax vectors with Gaussian scores, and its derivatives, in double precision and as balls.

``B(S1, S2, k; T) = E sum_b A_b A'_b`` with ``A = softmax(t)``, ``A' = softmax(t')`` over T keys, and pairs (t_b, t'_b)
that are independent over keys, centred, with variances S1 and S2 and covariance k.

Each denominator is an integral, ``1/Z = int exp(-u*Z) du`` with ``u = exp(x)``, after which the keys separate:

    B = T iint P_xy P**(T-1) dx dy,    P(x, y) = E exp(-exp(x + t) - exp(y + t'))

with indices for derivatives. P obeys heat equations, ``dP/dk = P_xy`` and ``dP/dS1 = P_xx/2``, so that every derivative
of B is a sum of integrals ``T*(T-1)*...*(T-m+1) iint P**(T-m) P_a P_b ...`` with m derivatives of P. Further keys that
the second vector alone has are factors ``P(-oo, y)``.

All integrals are trapezoid sums, also those over scores ``t = a1*xi + b1*eta``, ``t' = a2*xi + b2*eta'`` with
independent standard normal xi, eta, eta'. Their errors are proved. A sum with step h of a function that is analytic for
``|Im| < d`` misses at most ``2*M/(exp(2*pi*d/h) - 1)`` of its integral, where M is the largest integral of its size
along a line in the strip. Moving x, or one t_b, by ``i*d`` leaves ``exp(-exp(x)*Z)`` below ``exp(-cos(d)*exp(x)*Z)`` in
size, so that a term with n powers of ``exp(x)`` grows by ``cos(d)**-n`` at most; and every term is an integral of
products of softmax weights, whose sums are at most 1. Sums over the scores are averages over a law of t as well: they
may take the place of the integrals key by key.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from itertools import product
from typing import Any, TypeAlias

from flint import arb, arb_mat, ctx

from ..core.errors import DeclarationError, NoClosedForm
from .ball_functions import half_integer_power, integer_power
from .deferred_numpy import Array, NDArray, np

Orders: TypeAlias = tuple[int, int, int]  # of derivatives in S1, S2 and k
Partial: TypeAlias = tuple[int, int]  # of a derivative of P in x and y
Whole: TypeAlias = "NDArray[np.intp]"
Terms: TypeAlias = Mapping[tuple[Partial, ...], Fraction]

_HEAT = (((2, 0), Fraction(1, 2)), ((0, 2), Fraction(1, 2)), ((1, 1), Fraction(1)))  # dP/dS1, dP/dS2, dP/dk
_WIDEST, _NARROWER = 0.5, 0.97  # step from which on narrower ones are tried, and their ratio
_ANGLES = (0.7, 1.0, 1.2, 1.3, 1.4, 1.45, 1.5)  # of exp(x) in the plane, below pi/2; the best is near pi/2 - step
_MOST = 4000  # nodes of x: beyond, sums take minutes
_PRECISION = 60  # up to which sums run in double precision
_FLOAT_BITS = 53  # to which they are carried then
_GUARD = 24  # bits that are lost by rounding in a sum of balls
_ROUNDING = 1e-14  # of sums in double precision, in units of their value and 1/T: measured 4e-15
_VANISHED = 1000  # bits of what is nothing in double precision
_LESS = -1  # in the place of the order of a derivative: 1 less the value
_SPARSE = 8  # places of a range for each that is used, from which on sorting is faster
_WEAK, _TERMS = 1e-3, 3  # scores that a Taylor polynomial of this degree is tried for
_SLACK = 1e-12  # by which a correlation of scores exceeds 1, if it was computed in double precision


@cache
def terms_of(orders: Orders) -> Terms:
    """{derivatives of P: coefficient} of a derivative of B; m of them stand for ``T*...*(T-m+1) P**(T-m)`` too."""
    terms: Terms = {((1, 1),): Fraction(1)}
    for (shift, factor), order in zip(_HEAT, orders, strict=True):
        for _ in range(order):
            moved: defaultdict[tuple[Partial, ...], Fraction] = defaultdict(Fraction)
            for partials, coefficient in terms.items():
                moved[tuple(sorted((*partials, shift)))] += factor * coefficient  # the slope of P**(T-m)
                for n, (p, q) in enumerate(partials):
                    raised = (*partials[:n], (p + shift[0], q + shift[1]), *partials[n + 1 :])
                    moved[tuple(sorted(raised))] += factor * coefficient
            terms = moved
    return terms


@cache
def stirling(order: int) -> tuple[int, ...]:
    """c_m in ``(d/dw)**order exp(-exp(w)) = sum_m c_m exp(m*w) exp(-exp(w))``, from m = 0 on."""
    row: tuple[int, ...] = (1,)
    for _ in range(order):
        row = tuple(m * c - d for m, (c, d) in enumerate(zip((*row, 0), (0, *row), strict=True)))
    return row


@cache
def _largest(orders: Orders, growth: float) -> float:
    """A bound of a derivative of B in which each power of exp(x) and of exp(y) is as much larger."""
    total = 0.0
    for partials, coefficient in terms_of(orders).items():
        rows = [list(map(abs, stirling(order))) for partial in partials for order in partial]
        for powers in product(*(range(len(row)) for row in rows)):
            if size := math.prod(row[m] for row, m in zip(rows, powers, strict=True)):
                x, y = sum(powers[::2]), sum(powers[1::2])  # int exp(n*x - exp(x)*Z) dx = (n-1)!/Z**n
                size *= math.factorial(x - 1) * math.factorial(y - 1)
                total += float(coefficient) * size * growth ** (x + y)
    return total


def _missed(orders: Orders, step: float, scale: float) -> float:
    """A bound of what a trapezoid sum misses: over x; or over a normal variable that scores contain ``scale`` times."""
    best = math.inf
    for angle in _ANGLES:
        shift = min(angle / scale, 2 * math.pi / step) if scale else angle
        growth = 1 / math.cos(shift * scale if scale else shift)
        density = math.exp(shift**2 / 2) if scale else 1.0
        best = min(best, 2 * _largest(orders, growth) * density / math.expm1(2 * math.pi * shift / step))
    return best


@lru_cache(maxsize=1024)
def _step(orders: Orders, error: float, scale: float = 0.0) -> float:
    """A step that is proved to miss no more than an error."""
    step = _WIDEST
    while _missed(orders, step, scale) > error:
        step *= _NARROWER
    return step


@dataclass(frozen=True)
class _Side:
    """Nodes of one of the two softmax vectors: x, a*xi and b*eta are whole numbers of one unit, and first for x.

    Args:
        first: the smallest x.
        unit: in which steps are counted where a = 0; else it is the step of a*xi over abs(xi).
        count: of x.
        x: units from one x to the next.
        xi: units from one a*xi to the next; 0 where a = 0, negative where a is.
        eta: units from one b*eta to the next.
        half: number of positive eta.
    """

    first: float
    unit: float
    count: int
    x: int
    xi: int
    eta: int
    half: int


@dataclass(frozen=True)
class _Grid:
    """All nodes: ``step*j`` for xi, with abs(j) <= half, and those of both sides."""

    step: float
    half: int
    sides: tuple[_Side, _Side]


def _grid(variances: Sequence[float], k: float, keys: int, orders: Orders, bits: int) -> _Grid:
    """Nodes of sums that miss at most ``2**-bits/keys``: an eighth of it each over x, y, and all xi, eta and eta'.

    Raises:
        NoClosedForm: the scores are too large.
    """
    error = 2.0**-bits / keys / 8
    smallness = math.log(_largest(orders, 1.0) / error)
    reach = math.sqrt(2 * (smallness + math.log(3 * keys)))  # P(abs(xi) > reach) < exp(-reach**2/2)
    widest = _step(orders, error)
    scales = _scales(variances, k, _float_root)

    def widest_part(scale: float) -> float:
        """The widest step of a*xi or b*eta."""
        return min(scale * _step(orders, error / keys, scale), widest)

    step, sides = min((widest_part(a) / a for a, _ in scales if a), default=1.0), []
    for variance, (a, b), direction in zip(variances, scales, (1, -1 if k < 0 else 1), strict=True):
        first = -math.log(keys) - smallness - min(variance / 2, reach * (a + b))  # <exp(x + t)> is as small before
        last = math.log(2 * smallness) + reach * (a + b)  # exp(-exp(x + t)) is smaller behind
        of_xi, of_eta = a * step, widest_part(b)
        xi = math.ceil(of_xi / of_eta) if b else int(a > 0)
        unit = of_xi / xi if a else of_eta if b else widest
        eta = max(int(of_eta / unit), 1)
        x = max(xi, eta) * int(widest / (max(xi, eta) * unit))
        count = math.ceil((last - first) / (x * unit))
        if count > _MOST:
            raise NoClosedForm(
                f"the softmax overlap for scores of variance {max(variances):.4g}",
                f"it needs {count} nodes along an axis, where {_MOST} can be done",
                "take weaker queries and keys (C_Q, C_K), or put a normaliser in front of the attention",
            )
        half = math.ceil(reach * b / (eta * unit))
        sides.append(_Side(first, unit, count, x, direction * xi, eta, half))
    return _Grid(step, math.ceil(reach / step) if k else 0, (sides[0], sides[1]))


def _scales(variances: Sequence[Any], k: Any, root: Callable[[Any], Any]) -> list[tuple[Any, Any]]:
    """(abs(a), b) of both sides, in any numbers."""
    one, other = variances
    correlation = 0 if k == 0 else 1 if abs(k) == one == other else abs(k) / root(one * other)
    return [(root(S * correlation), root(S * (1 - correlation))) for S in variances]


@dataclass(frozen=True)
class _Sums:
    """The sums over a grid, in double precision or in balls: arrays of them know the functions of NumPy used here.

    Args:
        grid: the nodes.
        scales: (abs(a), b) of both sides, numbers of the kind.
        lift: an array of floats as one of numbers of the kind.
        product: of two matrices.
        power: ``(1 - Q)**n`` of an array Q.
        bits: ``exp(-exp(w))`` is replaced by a number below ``2**-bits`` where it is smaller.
    """

    grid: _Grid
    scales: Sequence[tuple[Any, Any]]
    lift: Callable[[Array], Array]
    product: Callable[[Array, Array], Array]
    power: Callable[[Array, int], Array]
    bits: int

    def total(self, keys: int, orders: Orders, more: int = 0) -> Any:
        """The derivative of B, with so many more keys of the second vector."""
        needed = {partial for partials in terms_of(orders) for partial in partials}
        one, other = (self._factors(side, {partial[side] for partial in needed}) for side in (0, 1))
        half = self.grid.half
        masses = self._masses(self.grid.step * self.lift(np.arange(-half, half + 1.0)))
        constant = self.lift(np.ones(other[_LESS].shape))
        less = self.product(one[_LESS] * masses, constant.T) + self.product(one[0] * masses, other[_LESS].T)  # 1 - P
        beyond = self.power(self.product(other[_LESS] * masses, constant[:1].T)[:, 0], more)
        derivatives = {(p, q): self.product(one[p] * masses, other[q].T) for p, q in needed}
        total = 0
        for partials, coefficient in terms_of(orders).items():
            if (power := keys - len(partials)) >= 0:
                values = math.prod(derivatives[partial] for partial in partials) * self.power(less, power) * beyond
                number = coefficient * math.perm(keys, len(partials))
                total = total + values.sum() * number.numerator / number.denominator
        return total * math.prod(side.x * self._unit(n) for n, side in enumerate(self.grid.sides))

    def _masses(self, nodes: Array) -> Array:
        """The probabilities of nodes of a standard normal variable."""
        masses = np.exp(-nodes * nodes / 2)
        return masses / masses.sum()

    def _unit(self, number: int) -> Any:
        side, (a, _) = self.grid.sides[number], self.scales[number]
        return a * self.grid.step / abs(side.xi) if side.xi else side.unit

    def _factors(self, number: int, orders: set[int]) -> dict[int, Array]:
        """Averages over eta of derivatives of ``exp(-exp(x + a*xi + b*eta))`` for every x and xi; 1 less its value."""
        side, (_, b), unit = self.grid.sides[number], self.scales[number], self._unit(number)
        inner, at_xi = _union(side.x * np.arange(side.count), side.xi * np.arange(-self.grid.half, self.grid.half + 1))
        steps = side.eta * np.arange(-side.half, side.half + 1)
        places, at_eta = _union(inner, steps)
        masses = self._masses(self.lift(steps.astype(float)) * (unit / b) if side.half else self.lift(np.zeros(1)))
        exponent = self.lift(places.astype(float)) * unit + side.first
        size = np.exp(np.minimum(exponent, self.lift(np.array(math.log(self.bits)))))
        values = {p: sum(c * size**m * np.exp(-size) for m, c in enumerate(stirling(p)) if c) for p in orders | {0}}
        values[_LESS] = -np.expm1(-size)
        return {p: self.product(row[at_eta], masses[:, None])[:, 0][at_xi] for p, row in values.items()}


def _union(places: Whole, shifts: Whole) -> tuple[Whole, Whole]:
    """All sums of two places, without repetition, and the index of each sum among them."""
    every = places[:, None] + shifts
    least, most = int(every.min()), int(every.max())
    if most - least > _SPARSE * every.size:
        sums, index = np.unique(every, return_inverse=True)
        return sums, index.reshape(every.shape)
    present = np.zeros(most - least + 1, dtype=bool)  # without sorting
    present[every - least] = True
    return np.flatnonzero(present) + least, (np.cumsum(present) - 1)[every - least]


def overlap_ball(S1: arb, S2: arb, k: arb, keys: int, orders: Orders = (0, 0, 0), more: int = 0) -> arb:
    """The overlap, or a derivative of it, in the current precision.

    Up to 60 bits sums run in double precision. Their rounding is measured, not proved: their large terms are positive.

    Args:
        S1: variance of the first score of a key.
        S2: variance of the second.
        k: their covariance.
        keys: T.
        orders: of derivatives in S1, S2 and k.
        more: further keys of the second vector alone.

    Raises:
        DeclarationError: no keys have these scores.
        NoClosedForm: the scores are too large for sums.
    """
    middles = [_inside(S1), _inside(S2), k.mid()]
    edge = (middles[0] * middles[1]).sqrt().upper()
    if keys < 1 or middles[0] < 0 or middles[1] < 0 or abs(middles[2]) > edge * (1 + _SLACK):
        found = f"variances {S1.str(5)} and {S2.str(5)} have no covariance {k.str(5)}"
        remedy = "pass variances that are not negative, and a covariance of at most sqrt(S1*S2)"
        raise DeclarationError(f"the overlap of softmax vectors of {keys} keys", found, remedy)
    if keys == 1 or (k.is_zero() and orders[2] == 0):  # a vector that is 1, or independent ones: the mean of the second
        return arb(orders == (0, 0, 0)) / (keys + more)
    slopes = [_largest(tuple(n + (i == j) for j, n in enumerate(orders)), 1.0) for i in range(3)]
    moved = sum(slope * (ball - middle) for slope, ball, middle in zip(slopes, (S1, S2, k), middles, strict=True))
    return _at(middles, keys, orders, more) + arb(0, 1) * abs(moved).upper()


def _inside(variance: arb) -> arb:
    """The middle of a ball, or 0 if that is negative and the ball contains 0."""
    middle = variance.mid()
    return arb(0) if middle < 0 and variance.contains(0) else middle


def _at(numbers: Sequence[arb], keys: int, orders: Orders, more: int) -> arb:
    """The same at exact numbers."""
    S1, S2, k = map(float, numbers)
    k = math.copysign(min(abs(k), math.sqrt(S1 * S2)), k)
    if ctx.prec <= _PRECISION:
        is_weak = not more and S1 + S2 < _WEAK and _series_misses(S1 + S2, orders) < 2.0**-_FLOAT_BITS / keys
        value = _series(S1, S2, k, keys, orders) if is_weak else _in_floats(S1, S2, k, keys, orders, more)
        return arb(value, (abs(value) + 1 / keys) * _ROUNDING + 2.0**-_FLOAT_BITS / keys)
    every = keys + more
    bits = ctx.prec + every.bit_length() + _GUARD
    with ctx.workprec(2 * bits):  # half of the digits of 1 - correlation are left by the root
        scales = _scales(numbers[:2], numbers[2], half_integer_power(1)[0])
    grid, error = _grid((S1, S2), k, every, orders, ctx.prec), arb(0, 1) * arb(2) ** -ctx.prec / every
    with ctx.workprec(bits):
        value = _Sums(grid, scales, _balls, _ball_product, _ball_power, bits).total(keys, orders, more)
    return value + error


def _series(S1: float, S2: float, k: float, keys: int, orders: Orders) -> float:
    """The Taylor polynomial at scores that vanish."""
    return sum(
        _in_floats(0.0, 0.0, 0.0, keys, tuple(map(sum, zip(orders, powers, strict=True))), 0)
        * math.prod(x**n / math.factorial(n) for x, n in zip((S1, S2, k), powers, strict=True))
        for powers in _powers(_TERMS)
    )


def _series_misses(size: float, orders: Orders) -> float:
    """A bound of what the Taylor polynomial misses, for ``S1 + S2`` of a size: of the derivatives of the next order."""
    return sum(
        _largest(tuple(map(sum, zip(orders, powers, strict=True))), 1.0)
        * math.prod(size**n / math.factorial(n) for n in powers)
        for powers in _powers(_TERMS + 1)
        if sum(powers) == _TERMS + 1
    )


@cache
def _powers(most: int) -> list[Orders]:
    """All powers of S1, S2 and k of a total degree."""
    return [(a, b, c) for a, b, c in product(range(most + 1), repeat=3) if a + b + c <= most]


@lru_cache(maxsize=4096)
def _in_floats(S1: float, S2: float, k: float, keys: int, orders: Orders, more: int) -> float:
    """The sums in double precision."""
    grid, scales = _grid((S1, S2), k, keys + more, orders, _FLOAT_BITS), _scales((S1, S2), k, _float_root)
    with np.errstate(divide="ignore", under="ignore"):
        return float(_Sums(grid, scales, np.asarray, np.matmul, _float_power, _VANISHED).total(keys, orders, more))


def _float_root(square: float) -> float:
    return math.sqrt(max(square, 0.0))


def _float_power(less: Array, power: int) -> Array:
    return np.exp(power * np.log1p(-np.minimum(less, 1.0))) if power else np.ones_like(less)


def _balls(numbers: Array) -> Array:
    """An array of floats as one of balls."""
    return np.vectorize(arb, otypes=[object])(numbers)


def _ball_power(less: Array, power: int) -> Array:
    return np.vectorize(integer_power(power)[0], otypes=[object])(1 - less)


def _ball_product(one: Array, other: Array) -> Array:
    """The product of two matrices of balls."""
    product = arb_mat(one.tolist()) * arb_mat(other.tolist())
    return np.array(product.entries(), dtype=object).reshape(len(one), -1)
