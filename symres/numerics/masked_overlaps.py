"""Attention of queries to the first keys of a list, which are exchangeable: overlaps of softmax vectors as arrays.

Keys have the covariance ``q`` with themselves and ``p`` with one another, so that all sums over two keys are known from
one overlap B, and from its slope B_k in the covariance of scores. With a keys of the first query, c >= a of the second:

    E A_b A'_b = B/a,    E A_b A'_d = (1/c - B/a)/(a - 1) for another key d of both, 1/(a*c) for one of the second alone

and a change of covariances of scores counts by B_k times what that of a key with itself has more than with another.
"""

from __future__ import annotations

from flint import arb, ctx

from .deferred_numpy import Array, NDArray, np
from .softmax_overlap import overlap_ball

_BITS = 53
_DIGITS = 13  # of scores: those of two queries that should be one differ in the last


class MaskedOverlaps:
    """The overlaps of pairs of queries.

    Args:
        counts: numbers of keys of the first query of every pair, and of the second, which has no fewer.
        variances: of the scores of a key, for the first query and for the second.
        covariances: of both.
    """

    def __init__(
        self, counts: tuple[NDArray[np.intp], NDArray[np.intp]], variances: tuple[Array, Array], covariances: Array
    ) -> None:
        self._fewer, self._more = counts
        rows = np.stack([*counts, *(_rounded(part) for part in (*variances, covariances))], axis=1)
        different, place = np.unique(rows, axis=0, return_inverse=True)
        self._rows, self._place = different.tolist(), place.ravel()

    def values(self, order: int = 0) -> Array:
        """B; with order 1 its slope in the covariances of scores."""
        with ctx.workprec(_BITS):
            results = [
                float(overlap_ball(arb(S1), arb(S2), arb(k), int(a), (0, 0, order), int(c - a)).mid())
                for a, c, S1, S2, k in self._rows
            ]
        return np.array(results)[self._place]

    def averages(self, covariances: Array) -> Array:
        """``sum_bd E A_b A'_d X_bd`` of a matrix X over all keys."""
        same, others, beyond = self._sums(covariances)
        overlap = self.values() / self._fewer
        apart = (1 / self._more - overlap) / np.maximum(self._fewer - 1, 1)
        return overlap * same + apart * others + beyond / (self._fewer * self._more)

    def excess(self, covariances: Array) -> Array:
        """The mean of the first a entries on the diagonal of a matrix, less that of those beside it."""
        same, others, _ = self._sums(covariances)
        return same / self._fewer - others / np.maximum(self._fewer * (self._fewer - 1), 1)

    def _sums(self, covariances: Array) -> tuple[Array, Array, Array]:
        """Of pairs of keys that both see: of a key with itself, of two; and with keys of the second query alone."""
        corner = covariances.cumsum(axis=0).cumsum(axis=1)
        a, c = self._fewer - 1, self._more - 1
        same = covariances.diagonal().cumsum()[a]
        return same, corner[a, a] - same, corner[a, c] - corner[a, a]


def _rounded(values: Array) -> Array:
    return np.array([float(f"{value:.{_DIGITS}e}") for value in values.tolist()])
