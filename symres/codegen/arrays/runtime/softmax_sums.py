"""The overlap of two softmax vectors with Gaussian scores, and its derivatives, as trapezoid sums.

``B(S1, S2, k; T) = T iint P_xy P**(T-1)`` with ``P(x, y) = E exp(-exp(x + t) - exp(y + t'))`` for scores t and t' of
variances S1 and S2 and covariance k. Scores are ``t = a1*xi + b1*eta``, ``t' = a2*xi + b2*eta'``: averages over eta and
eta' are tables of x + a1*xi and of y + a2*xi, that over xi is a product of matrices. P obeys heat equations, so the
Taylor coefficients of P in (S1, S2, k) are its derivatives in x and y, and a derivative of B is a coefficient of a
product of such series. Equal scores, S1 = S2 = k, leave one integral over log(exp(x) + exp(y)).

Steps are such that what a sum misses is below rounding: its integrand is analytic up to pi/2 from the real axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as xp

from .array_types import Bools, Floats
from .entries import _integers
from .stable_functions import _as_table

Orders: TypeAlias = tuple[int, ...]  # of derivatives in S1, S2 and k
Row: TypeAlias = Sequence  # what one entry has: numbers

_STRIP = 1.45  # how far from the real axis integrands are used: exp(-exp(x)) is bounded up to pi/2
_TAYLOR_TERMS = 16  # of Taylor series of averages over scores
_MOST_NODES = 1024  # of a sum over x, and over scores


def _softmax_overlap(S1: Floats, S2: Floats, k: Floats, T: Floats, *orders: int) -> Floats:
    """The overlap of two softmax vectors of T keys, or a derivative of it in S1, S2 and k; equal entries once."""
    given = xp.broadcast_arrays(*(xp.asarray(a, dtype=xp.float64) for a in (S1, S2, k, T)))
    columns, places = xp.unique(xp.stack([a.reshape(-1) for a in given]), axis=1, return_inverse=True)
    with xp.errstate(all="ignore"):
        values = xp.array(_overlaps(orders, 1e-12, *columns), dtype=xp.float64)
    return values[places.reshape(-1)].reshape(given[0].shape)


def _overlaps(orders: Orders, slack: float, *columns: Floats) -> list[Floats | float]:
    """The values at entries, one after the other; nan where there is none, by more than a slack."""
    possible, sizes, numbers = _overlap_grid(orders, slack, *columns)
    rows = zip(possible.tolist(), sizes.T.tolist(), numbers.T.tolist())
    return [
        _overlap_at(orders, [int(n) for n in size], row, columns[0]) if valid else math.nan for valid, size, row in rows
    ]


def _widest_step(scale: Floats | float, lost: float) -> Floats | float:
    """The widest step over a standard normal variable that scores contain so many times; exp(-lost) is missed."""
    shift = _STRIP / xp.clip(scale, 0.19, None)
    return 6.283185307179586 * shift / (lost + 0.5 * shift * shift)


def _overlap_grid(
    orders: Orders, slack: float, S1: Floats, S2: Floats, k: Floats, T: Floats
) -> tuple[Bools, Floats, Floats]:
    """Whether entries have a value, the sizes of their sums, and the numbers that place the nodes.

    Sizes: 1 for equal scores, else 0; nodes of x and y; those on one side of xi; the direction of xi in t'; for x, then
    for y: nodes on one side of eta, the length of its table, 1 where that has a column for each xi, the steps of the
    table from one x to the next. Numbers: T, the step of xi; for x, then for y: the first one and its step, the steps
    of a*xi and of b*eta, the step of eta.
    """
    lost = 33.5 + 4.5 * sum(orders)
    S1, S2 = (xp.where((S < 0.0) & (S > -slack), 0.0, S) for S in (S1, S2))
    size = xp.sqrt(S1 * S2)
    possible = (xp.abs(k) <= size * (1.0 + slack) + slack) & (T >= 1.0) & (xp.floor(T) == T) & xp.isfinite(size * T)
    S1, S2, k, T = (xp.where(possible, a, 1.0) for a in (S1, S2, k, T))
    share = xp.clip(xp.abs(k) / xp.where(size > 0.0, size, 1.0), None, 1.0)
    share = xp.where(possible, share, 1.0)
    scales = [(xp.sqrt(S * share), xp.sqrt(S * (1.0 - share))) for S in (S1, S2)]
    reach = xp.sqrt(2.0 * (36.0 + xp.log(T)))  # standard deviations
    step = _widest_step(xp.maximum(scales[0][0], scales[1][0]), lost)
    half, widest = xp.ceil(reach / step), 6.283185307179586 * _STRIP / lost
    tail = 1.0 + 37.0 / xp.clip(T - 1.0, 1.0, None)  # P(x, y)**(T-1) is nothing where P is exp(-tail)
    counts, sizes, numbers = [], [], []
    for S, (a, b) in zip((S1, S2), scales):
        stride = xp.clip(xp.floor(widest / xp.clip(a * step, 1e-9, None)), 1.0, None)
        apart = xp.where(stride > 2.0 * half, 1.0, 0.0)
        x = xp.where(apart > 0.0, widest, stride * a * step)
        first = -xp.log(T) - 34.0 - xp.minimum(0.5 * S, reach * xp.sqrt(S))
        counts.append(xp.ceil((xp.log(tail) + xp.sqrt(2.0 * tail * S) - first) / x) + 1.0)
        of_eta = _widest_step(b, lost)
        sizes.append([xp.ceil(reach / of_eta), stride, apart])
        numbers += [first, x, a * step, b * of_eta, of_eta]
    nodes = xp.maximum(*counts)
    for row in sizes:
        row.insert(1, xp.where(row[2] > 0.0, nodes, (nodes - 1.0) * row[1] + 2.0 * half + 1.0))
    most = 0.5 * _MOST_NODES
    possible = possible & (nodes <= _MOST_NODES) & (half <= most) & (sizes[0][0] <= most) & (sizes[1][0] <= most)
    equal = xp.where((S1 == S2) & (S1 == k), 1.0, 0.0)
    shape = [equal, nodes, half, xp.where(k < 0.0, -1.0, 1.0)]
    return possible, xp.stack([*shape, *sizes[0], *sizes[1]]), xp.stack([T, step, *numbers])


def _overlap_at(orders: Orders, sizes: Sequence[int], numbers: Row, like: Floats) -> Floats:
    """The value at one entry.

    Args:
        orders: of derivatives.
        sizes: as ``_overlap_grid`` has them.
        numbers: the same.
        like: an array of the type of what is computed.
    """
    T, step, *places = numbers
    equal, nodes, half, turn, *sides = sizes
    xi = step * _counted(2 * half + 1, like, half)
    masses = _normal_masses(xi)
    if equal:
        scores = places[2] / step * xi
        return _of_equal_scores(orders, T, places[0] + places[1] * _counted(nodes, like), places[1], scores, masses)
    one, other = (
        _overlap_side(2 * orders[n] + orders[2] + 1, (nodes, half, turn**n), sides[4 * n :], places[5 * n :], like)
        for n in (0, 1)
    )
    less = (one[-1] @ masses)[:, None] + (one[0] * masses) @ other[-1].T
    products = _product_series(orders, T, less, lambda p, q: (one[p] * masses) @ other[q].T)
    return places[1] * places[6] * products.sum()


def _of_equal_scores(orders: Orders, T: float, places: Floats, step: float, scores: Floats, masses: Floats) -> Floats:
    """The same of equal scores: exp(x) and exp(y) are shares of a number, in which the integrand is a polynomial."""
    order = sum(orders)
    moments, less = _moments_of_scores(2 * order + 2, places[:, None] + scores, masses)
    value, count = 0.0 * less.sum(), 2 * order + 1
    for number in range(count):
        angle = math.pi * (number + 0.5) / count  # Fejer's rule
        waves = [math.cos(2 * j * angle) / (4 * j * j - 1) for j in range(1, order + 1)]
        share, weight = 0.5 + 0.5 * math.cos(angle), (1.0 - 2.0 * sum(waves)) / count

        def derivative(p: int, q: int, share: float = share) -> Floats:
            value: Floats = 0.0 * less
            one = [c * share**n for n, c in enumerate(_exp_polynomial(p))]
            other = [c * (1.0 - share) ** n for n, c in enumerate(_exp_polynomial(q))]
            for n, c in enumerate(one):
                for m, d in enumerate(other):
                    value = value + c * d * moments[n + m]
            return value

        value = value + weight / (share * (1.0 - share)) * _product_series(orders, T, less, derivative).sum()
    return step * value


def _overlap_side(most: int, common: Sequence[int], sizes: Sequence[int], places: Row, like: Floats) -> list[Floats]:
    """Averages over eta of derivatives of exp(-exp(x + a*xi + b*eta)) for each x and xi; last, those of 1 less it."""
    nodes, half, turn = common
    inner, length, stride, apart = sizes[:4]
    first, x, of_xi, of_eta, step = places[:5]
    eta, width = _counted(2 * inner + 1, like, inner), 2 * half + 1
    masses = _normal_masses(step * eta)
    place = first + (x * _counted(nodes, like) if apart else of_xi * _counted(length, like, half))
    moments, less = _moments_of_scores(most + apart * _TAYLOR_TERMS, place[:, None] + of_eta * eta, masses)
    count = most + 1 + apart * _TAYLOR_TERMS
    rows = [[*_exp_polynomial(p), *[0.0] * (count - 1 - p)] for p in range(count)]
    averages = _as_table(rows, like) @ moments  # type: ignore[arg-type]
    if apart:
        shift = turn * of_xi * _counted(width, like, half)
        powers = xp.stack([shift**n / float(math.factorial(n)) for n in range(1, _TAYLOR_TERMS + 1)])
        moved = [averages[p + 1 : p + 1 + _TAYLOR_TERMS].T @ powers for p in range(most + 1)]
        return [*(averages[p][:, None] + moved[p] for p in range(most + 1)), less[:, None] - moved[0]]
    columns = half + turn * (_integers(width, like) - half)
    at = _integers(nodes, like)[:, None] * stride + columns
    return [table[at] for table in (*averages, less)]


def _product_series(orders: Orders, T: float, less: Floats, derivative: Callable[[int, int], Floats]) -> Floats:
    """A derivative of ``T*P_xy*P**(T-1)`` in S1, S2 and k, from 1 - P and the derivatives of P in x and y."""
    every: list[Orders] = [
        (i, j, n) for i in range(orders[0] + 1) for j in range(orders[1] + 1) for n in range(orders[2] + 1)
    ]
    slopes: dict = {}
    for p, q in {(2 * i + n + more, 2 * j + n + more) for i, j, n in every for more in (0, 1)} - {(0, 0)}:
        slopes[p, q] = derivative(p, q)
    most = 1.0 - 0.5 * float(xp.finfo(less.dtype).eps)  # the largest number below 1
    logarithm = xp.log1p(-xp.clip(less, None, most))
    inverse, powers = xp.exp(-logarithm), {every[0]: xp.exp((T - 1.0) * logarithm)}
    total = slopes[1, 1] * 0.0
    for index in every:
        for part in every[1:]:
            rest = tuple([a - b for a, b in zip(index, part)])
            if min(rest) >= 0:  # of the powers of a series: one coefficient by those before
                axis = next(n for n in range(3) if index[n])
                factor = ((T - 1.0) * part[axis] - rest[axis]) / index[axis] * _over_factorials(part)
                term = factor * inverse * slopes[2 * part[0] + part[2], 2 * part[1] + part[2]] * powers[rest]
                powers[index] = powers[index] + term if index in powers else term
        i, j, n = [a - b for a, b in zip(orders, index)]
        total = total + _over_factorials((i, j, n)) * slopes[2 * i + n + 1, 2 * j + n + 1] * powers[index]
    return T / _over_factorials(orders) / 2.0 ** (orders[0] + orders[1]) * total


def _over_factorials(orders: Orders) -> float:
    """What a derivative of P in x and y is multiplied with to be a coefficient of its series in S1, S2 and k."""
    return 0.5 ** (orders[0] + orders[1]) / math.prod(math.factorial(n) for n in orders)


def _moments_of_scores(most: int, places: Floats, masses: Floats) -> tuple[Floats, Floats]:
    """The averages of ``u**n exp(-u)`` along the last axis of log(u), a row for each n, and those of 1 - exp(-u)."""
    size = xp.exp(xp.clip(places, None, 6.6))
    kept, moments = xp.exp(-size), []
    for _ in range(most + 1):
        moments.append(kept @ masses)
        kept = kept * size
    return xp.stack(moments), -xp.expm1(-size) @ masses


def _exp_polynomial(order: int) -> list[float]:
    """The coefficients of a derivative of exp(-exp(w)) over it, a polynomial in exp(w)."""
    row = [1.0]
    for _ in range(order):
        row = [m * c - d for m, (c, d) in enumerate(zip([*row, 0.0], [0.0, *row]))]
    return row


def _counted(count: int, like: Floats, middle: int = 0) -> Floats:
    """Whole numbers from -middle on, of the type of another array."""
    return xp.ones_like(like[:1]) * (_integers(count, like) - middle)


def _normal_masses(nodes: Floats) -> Floats:
    """The probabilities of nodes of a standard normal variable."""
    masses = xp.exp(-0.5 * nodes * nodes)
    return masses / masses.sum()
