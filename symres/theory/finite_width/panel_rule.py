"""Gauss-Legendre panels for averages over one standard Gaussian variable, as narrow as functions need them.

They meet at the places where a function breaks or is steep, are narrow near 0, where functions of a small part of the
range live, and narrow enough for the waves of the highest Hermite polynomial. Panels on which a function is no
polynomial yet are halved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.polynomial.legendre import leggauss, legvander
from numpy.typing import NDArray

from ...core.errors import NoClosedForm
from .hermite_space import hermite_rows

Array = NDArray[np.float64]

REACH = 14.0  # standard deviations; the density is 1e-43 there
POINTS = 20  # of each panel
NODES, WEIGHTS = leggauss(POINTS)
_SMALL = [2.0**k for k in range(-5, 4)]
_PROBES = 1 - 2.0 ** -np.arange(1, 48, 2)  # places towards the ends of a panel where its polynomial is compared
_HALVINGS = 60
_MOST = 20_000  # panels
_WANTED = 1e-15  # error of the average on a panel, relative to the largest part of it
_SPECTRAL = 1.6  # an error e between the nodes is one of e^1.6 in the average, which is exact for twice the degree


@dataclass(frozen=True)
class PanelRule:
    """Places and weights of one standard Gaussian variable.

    Args:
        places: shape (N,).
        weights: shape (N,); their sum is 1.
        degree: of the Hermite polynomials that are resolved.
    """

    places: Array
    weights: Array
    degree: int

    @cached_property
    def rows(self) -> Array:
        """The Hermite polynomials times the weights, shape (degree + 1, N)."""
        return hermite_rows(self.places, self.degree) * self.weights


@lru_cache(maxsize=16)
def rule(degree: int, marks: tuple[float, ...] = ()) -> PanelRule:
    """The rule that has these places, in standard deviations, between its panels."""
    edges = panel_edges(degree, marks)
    half = np.diff(edges)[:, None] / 2
    places = (edges[:-1, None] + half * (1 + NODES)).ravel()
    return PanelRule(places, (half * WEIGHTS).ravel() * density(places), degree)


def density(places: Array) -> Array:
    """That of the standard normal law."""
    return np.asarray(np.exp(-(places**2) / 2) / np.sqrt(2 * np.pi))


@lru_cache(maxsize=64)
def _usual_edges(degree: int) -> Array:
    """Panels for Hermite polynomials up to a degree, whose waves are 2 pi/sqrt(degree) long."""
    widest = 8.0 / np.sqrt(max(degree, 16))
    edges = [0.0]
    for mark in [*_SMALL, REACH]:
        count = int(np.ceil((mark - edges[-1]) / widest))
        edges += list(np.linspace(edges[-1], mark, count + 1)[1:])
    return np.array([*(-e for e in reversed(edges[1:])), *edges])


def panel_edges(degree: int, marks: Iterable[float] = ()) -> Array:
    """The ends of all panels, marks within reach among them."""
    edges = np.unique([*_usual_edges(degree), *(m for m in marks if abs(m) < REACH)])
    return edges[np.append(True, np.diff(edges) > 1e-300)]


def refined(function: Callable[[Array], Array], degree: int, marks: Iterable[float]) -> tuple[float, ...]:
    """The marks within reach, and more of them, so that a function is a polynomial on each panel.

    Args:
        function: of places in standard deviations, for arrays of any shape.
        degree: of the Hermite polynomials that it is averaged with.
        marks: where it breaks, or is steep.

    Raises:
        NoClosedForm: there are too many.
    """
    found = sorted({float(m) for m in marks if 0 < abs(m) < REACH})
    edges = panel_edges(degree, found)
    left, right, largest = edges[:-1], edges[1:], 0.0
    for _ in range(_HALVINGS):
        half = (right - left) / 2
        values = function(left[:, None] + half[:, None] * (1 + _LOOKED_AT))
        at_nodes = values[:, :POINTS]
        size = np.maximum(np.abs(values).max(axis=1), 1e-300)
        tail = np.abs(at_nodes @ _LAST).max(axis=1)
        between = np.abs(at_nodes @ _BETWEEN - values[:, POINTS:]).max(axis=1)
        share = half * density(np.where(left * right > 0, np.minimum(np.abs(left), np.abs(right)), 0.0))
        largest = max(largest, float((size * share).max()))
        errors = size * np.minimum(np.maximum(tail, between) / size, 1.0) ** _SPECTRAL * share
        coarse = errors > _WANTED * largest
        if not coarse.any():
            break
        if len(found) + coarse.sum() > _MOST:
            asked = "an average in double precision"
            raise NoClosedForm(
                asked, f"it takes more than {_MOST} panels: the function oscillates", "take smaller kernels"
            )
        middle = (left[coarse] + right[coarse]) / 2
        found += middle.tolist()
        left, right = np.concatenate([left[coarse], middle]), np.concatenate([middle, right[coarse]])
    return tuple(sorted(found))


def _transforms() -> tuple[Array, Array, Array]:
    """The places in a panel, what makes the last Legendre coefficients of values, and values between the nodes."""
    vandermonde = legvander(NODES, POINTS - 1)
    coefficients = (vandermonde * WEIGHTS[:, None]) * (2 * np.arange(POINTS) + 1) / 2
    probes = np.concatenate([-_PROBES, _PROBES])
    return np.concatenate([NODES, probes]), coefficients[:, -3:], coefficients @ legvander(probes, POINTS - 1).T


_LOOKED_AT, _LAST, _BETWEEN = _transforms()
