"""Nodes and weights: the only place where they are made.

Legendre's rules as balls and as floats; and panels of the latter for averages over one standard Gaussian variable, as
narrow as functions need them. Panels meet at the places where a function breaks or is steep, are narrow near 0, where
functions of a small part of the range live, and narrow enough for the waves of the highest Hermite polynomial. Panels
on which a function is not a polynomial yet are halved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from flint import arb, ctx

from ..core.errors import NoClosedForm
from .deferred_numpy import Array, NDArray, np

REACH, FURTHEST = 14.0, 38.0  # standard deviations: the density is 1e-43 there, and 1e-314 where functions grow fast
_FAR_WIDTH = 0.5  # of panels further out, where the density falls steeply
_NOTHING = 1e-300  # of a function that is 0 as far as it was seen
POINTS = 20  # of each panel
_SMALL = [2.0**k for k in range(-5, 4)]
_HALVINGS = 60
_MOST = 20_000  # panels
_WANTED = 1e-15  # error of the average on a panel, relative to the largest part of it
_SPECTRAL = 1.6  # an error e between the nodes is one of e^1.6 in the average, which is exact for twice the degree


@lru_cache(maxsize=256)
def gauss_legendre(n: int, bits: int) -> tuple[tuple[arb, arb], ...]:
    """The (node, weight) pairs of the n-point rule on (-1, 1); n is even.

    Only the positive nodes: the others are their mirror images.
    """
    with ctx.workprec(bits):
        return tuple(arb.legendre_p_root(n, k, weight=True) for k in range(n // 2))


@lru_cache(maxsize=64)
def half_rule(n: int, bits: int) -> tuple[tuple[arb, ...], tuple[arb, ...]]:
    """The same: the nodes, and the weights."""
    nodes, weights = zip(*gauss_legendre(n, bits), strict=True)
    return nodes, weights


def normal_pairs(reach: float, n: int, bits: int) -> tuple[tuple[arb, arb], ...]:
    """(place, mass) of the n-point rule for the standard normal law between -reach and reach."""
    scale = reach / (2 * arb.pi()).sqrt()
    half = [(reach * node, scale * weight) for node, weight in gauss_legendre(n, bits)]
    return tuple((side * y, mass * (-y * y / 2).exp()) for y, mass in half for side in (-1, 1))


@lru_cache(maxsize=8)
def legendre(points: int = POINTS) -> tuple[Array, Array]:
    """Nodes and weights of the rule on (-1, 1) as floats."""
    return np.polynomial.legendre.leggauss(points)


def hermite_rows(x: Array, degree: int) -> Array:
    """The values of he_0, ..., he_degree, ``he_k = He_k/sqrt(k!)``, at places of any shape, along a new first axis."""
    rows = np.empty((degree + 1, *x.shape))
    rows[0] = 1.0
    if degree:
        rows[1] = x
    for k in range(1, degree):
        rows[k + 1] = (x * rows[k] - np.sqrt(k) * rows[k - 1]) / np.sqrt(k + 1)
    return rows


@lru_cache(maxsize=16)
def rule(degree: int, marks: tuple[float, ...] = ()) -> tuple[Array, Array]:
    """Places and weights, shape (N,), for averages over one standard Gaussian variable; the weights sum to 1.

    Args:
        degree: of the Hermite polynomials that are resolved.
        marks: places in standard deviations that lie between panels.
    """
    edges = panel_edges(degree, marks)
    places, weights = on_panels(edges[:-1], edges[1:])
    return places.ravel(), weights.ravel()


@lru_cache(maxsize=16)
def weighted_rows(degree: int, marks: tuple[float, ...] = ()) -> tuple[Array, Array]:
    """The places of a rule, and Hermite polynomials times its weights, shape (degree + 1, N): functions share them."""
    places, weights = rule(degree, marks)
    return places, hermite_rows(places, degree) * weights


def on_panels(left: Array, right: Array) -> tuple[Array, Array]:
    """Places in panels, and their weights times the density of the standard normal law, along a new last axis."""
    nodes, lengths = legendre()
    half = (right - left)[..., None] / 2
    places = left[..., None] + half * (1 + nodes)
    return places, half * lengths * density(places)


def density(places: Array) -> Array:
    """The density of the standard normal law at places of any shape."""
    return np.asarray(np.exp(-(places**2) / 2) / np.sqrt(2 * np.pi))


@lru_cache(maxsize=64)
def _usual_edges(degree: int) -> Array:
    """Panels for Hermite polynomials up to a degree, whose waves are 2 pi/sqrt(degree) long."""
    widest = _widest(degree)
    edges = [0.0]
    for mark in [*_SMALL, REACH]:
        count = int(np.ceil((mark - edges[-1]) / widest))
        edges += list(np.linspace(edges[-1], mark, count + 1)[1:])
    return np.array([*(-e for e in reversed(edges[1:])), *edges])


def _widest(degree: int) -> float:
    return float(8.0 / np.sqrt(max(degree, 16)))


def panel_edges(degree: int, marks: Iterable[float] = ()) -> Array:
    """The ends of all panels, marks among them."""
    edges = np.unique([*_usual_edges(degree), *(m for m in marks if abs(m) <= FURTHEST)])
    return edges[np.append(True, np.diff(edges) > 1e-300)]


@lru_cache(maxsize=64)
def far_marks(degree: int) -> tuple[float, ...]:
    """The ends of panels beyond the usual ones, for functions whose averages come from there."""
    count = int(np.ceil((FURTHEST - REACH) / min(_widest(degree), _FAR_WIDTH)))
    ends = np.linspace(REACH, FURTHEST, count + 1)[1:]
    return (*(-ends[::-1]).tolist(), *ends.tolist())


def is_cut_off(values: Array, places: Array) -> bool:
    """Whether a function, given at the places of a rule, is too large at an end to be cut off there."""
    masses = np.abs(values) * density(places)
    return bool(max(masses[0], masses[-1]) > _WANTED * masses.max())


def _within(marks: Iterable[float], reach: float) -> list[float]:
    return sorted({float(m) for m in marks if 0 < abs(m) < reach})


def refined(function: Callable[[Array], Array], degree: int, marks: Iterable[float]) -> tuple[float, ...]:
    """The marks within reach, and more of them, so that a function is a polynomial on each panel.

    Args:
        function: of places in standard deviations, for arrays of any shape.
        degree: of the Hermite polynomials that it is averaged with.
        marks: where it breaks, or is steep.

    Raises:
        NoClosedForm: there are too many.
    """
    marks = tuple(marks)
    for far in ((), far_marks(degree)):
        ends = [*_within(marks, FURTHEST if far else REACH), *far]
        middles: list[Array] = []
        lost, cut, _ = _panelled(lambda rows, x: function(x), [panel_edges(degree, ends)], _MOST, middles.append)
        if not cut.any():
            break
    asked = "an average in double precision"
    if lost.any():
        raise NoClosedForm(asked, f"it takes more than {_MOST} panels: the function oscillates", "take smaller kernels")
    if cut.any():
        raise NoClosedForm(asked, f"it comes from beyond {FURTHEST:g} standard deviations", "take smaller kernels")
    return tuple(sorted([*ends, *(m for part in middles for m in part.tolist())]))


def averages(
    function: Callable[[NDArray[np.int64], Array], Array],
    marks: Sequence[Iterable[float]],
    moments: Sequence[Callable[[Array], Array]] = (),
    most: int = _MOST,
) -> Array:
    """The averages of several functions over one standard Gaussian variable, all at once; nan where there is none.

    Args:
        function: the number of the function, shape (N, 1), and places in standard deviations, shape (N, M).
        marks: of each function, where it breaks or is steep.
        moments: functions of the variable; averages of products with them follow.
        most: panels of one function.

    Returns:
        Shape (1 + number of moments, number of functions).
    """
    totals = np.zeros((1 + len(moments), len(marks)))

    def add(rows: NDArray[np.int64], places: Array, masses: Array) -> None:
        for total, moment in zip(totals, [None, *moments], strict=True):
            np.add.at(total, rows, (masses if moment is None else masses * moment(places)).sum(axis=1))

    with np.errstate(all="ignore"):
        lost, cut, unseen = _panelled(
            function, [panel_edges(0, _within(row_marks, REACH)) for row_marks in marks], most, take=add
        )
        begins = np.array([any(REACH <= abs(m) < FURTHEST for m in row_marks) for row_marks in marks])
        if (far := np.flatnonzero(cut | (unseen & begins))).size:
            totals[:, far] = 0.0
            edges = [panel_edges(0, [*_within(marks[k], FURTHEST), *far_marks(0)]) for k in far.tolist()]
            edges = [_finite_part(ends, function(far[k], ends)) for k, ends in enumerate(edges)]
            lost[far], cut[far], _ = _panelled(
                lambda rows, x: function(far[rows], x), edges, most, take=lambda rows, *masses: add(far[rows], *masses)
            )
        totals[:, lost | cut] = np.nan
    return totals


def _finite_part(edges: Array, values: Array) -> Array:
    """The panels around 0 at whose ends a function is finite."""
    lost = np.append(edges[~np.isfinite(values)], [-np.inf, np.inf])
    return edges[(edges > lost[lost < 0].max()) & (edges < lost[lost >= 0].min())]


def _panelled(
    function: Callable[[NDArray[np.int64], Array], Array],
    edges: Sequence[Array],
    most: int,
    halved: Callable[[Array], object] = lambda middles: None,
    take: Callable[[NDArray[np.int64], Array, Array], None] | None = None,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Halve the panels of several functions until each function is a polynomial on each of its panels.

    Args:
        function: as of ``averages``.
        edges: of the panels of each function.
        most: panels of a function.
        halved: is told the middles of panels that are halved.
        take: is told, of panels that stay, the numbers of their functions, places, and masses of the function there.

    Returns:
        Which functions take too many panels, or are not finite somewhere; which are too large at an end to be cut off
        there; which are 0 everywhere.
    """
    looked_at, last, between_nodes = _transforms()
    left, right = np.concatenate([e[:-1] for e in edges]), np.concatenate([e[1:] for e in edges])
    row = np.repeat(np.arange(len(edges)), [len(e) - 1 for e in edges])
    largest, used, lost = np.full(len(edges), _NOTHING), np.zeros(len(edges), int), np.zeros(len(edges), bool)
    ends = np.zeros(len(edges))  # the largest mass at an end
    for halving in range(_HALVINGS):
        half = (right - left) / 2
        values = function(row[:, None], left[:, None] + half[:, None] * (1 + looked_at))
        lost[row[~np.isfinite(values).all(axis=1)]] = True
        at_nodes = values[:, :POINTS]
        size = np.maximum(np.abs(values).max(axis=1), 1e-300)
        tail = np.abs(at_nodes @ last).max(axis=1)
        between = np.abs(at_nodes @ between_nodes - values[:, POINTS:]).max(axis=1)
        share = half * density(np.where(left * right > 0, np.minimum(np.abs(left), np.abs(right)), 0.0))
        np.maximum.at(largest, row, size * share)
        if not halving:
            for end, side in ((left, 0), (right, -1)):
                outermost = end == np.array([e[side] for e in edges])[row]
                np.maximum.at(ends, row[outermost], (size * density(end))[outermost])
        errors = size * np.minimum(np.maximum(tail, between) / size, 1.0) ** _SPECTRAL * share
        coarse = (errors > _WANTED * largest[row]) & (halving < _HALVINGS - 1)
        np.add.at(used, row[coarse], 1)
        lost |= used > most
        coarse, kept = coarse & ~lost[row], ~coarse & ~lost[row]
        if take is not None and kept.any():
            places, weights = on_panels(left[kept], right[kept])
            take(row[kept], places, weights * at_nodes[kept])
        if not coarse.any():
            break
        row, left, right, middle = row[coarse], left[coarse], right[coarse], (left[coarse] + right[coarse]) / 2
        halved(middle)
        row = np.concatenate([row, row])
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
    return lost, ends > _WANTED * largest, largest == _NOTHING


@lru_cache(maxsize=1)
def _transforms() -> tuple[Array, Array, Array]:
    """The places in a panel, what makes the last Legendre coefficients of values, and values between the nodes."""
    legvander = np.polynomial.legendre.legvander
    nodes, lengths = legendre()
    ends = 1 - 2.0 ** -np.arange(1, 48, 2)  # places towards the ends of a panel where its polynomial is compared
    coefficients = (legvander(nodes, POINTS - 1) * lengths[:, None]) * (2 * np.arange(POINTS) + 1) / 2
    probes = np.concatenate([-ends, ends])
    return np.concatenate([nodes, probes]), coefficients[:, -3:], coefficients @ legvander(probes, POINTS - 1).T
