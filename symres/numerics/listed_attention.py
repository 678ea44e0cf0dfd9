"""Softmax attention on positions that are listed, with any covariances of tokens, masks and rotary embeddings.

The scores ``s_ab`` of query a with key b are Gaussian, with covariances that a rotary embedding makes weaker:

    Cov(s_ab, s_cd) = Q_ac K_bd R,    R = mean over frequencies f of cos(f*(a - b - c + d)), 1 without one

To first order in them the weights are ``A_ab = (1 + ~s_ab)/n_a + ...`` over the n_a keys of a query, ``~`` being what
its keys do not share; second-order terms of the weights add the variances ``~Var(s_ab)/2`` to the same order in the
covariances of scores. Strong scores are sampled. Changes of tokens are independent of tokens, so that those of scores
are Gaussian too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from .deferred_numpy import Array, np

Estimate: TypeAlias = tuple[Array, Array]  # values, and how far they may be off

_WEAK = 0.3  # variance of the scores up to which the first order is taken
_SEED = 5  # so that equal calls give equal numbers
_FEWEST, _MOST = 16, 2**13  # pairs of samples: their errors are estimated from them, and halve with four times as many
_PRODUCTS = 2**31  # of numbers, in each matrix product over all pairs
_AT_ONCE = 2**20  # entries of samples


@dataclass(frozen=True)
class ListedAttention:
    """Attention of each of T queries to the keys that it sees.

    Args:
        queries: Q, covariances of queries, shape (T, T), with the variance of the weights of keys.
        keys: K, Gram numbers of keys, of which values are made.
        seen: 1 where a query (row) sees a key, else 0.
        frequencies: of rotary embeddings, one for each pair of neurons; none without.
        is_again: whether other samples are drawn than usual.
    """

    queries: Array
    keys: Array
    seen: Array
    frequencies: Sequence[float] = ()
    is_again: bool = False

    @property
    def variance(self) -> float:
        """S, the largest variance of scores of a query over the keys that it sees."""
        unshared = self._within(self._excess) * self._counts / np.maximum(self._counts - 1, 1)
        return float(unshared.max())

    @property
    def is_weak(self) -> bool:
        """Whether the first order in the scores is taken; else they are sampled."""
        return self.variance < _WEAK

    def kernel(self) -> Estimate:
        """``E sum_bd A_ab A_cd K_bd`` of all pairs of queries."""
        if self.is_weak:
            return self._to_first_order(self.keys, 0.0)
        scores = (self.queries, self.keys)
        return self._sampled([scores], lambda A, _: A @ self.keys @ A.swapaxes(1, 2))

    def tangent(self, keys: Array, queries: Array) -> Estimate:
        """The covariances of what changes of keys, and of queries, make of the outputs.

        Args:
            keys: covariances of changes of keys.
            queries: of queries, with the variance of the weights of keys.
        """
        Q, K = self.queries, self.keys
        if self.is_weak:
            return self._to_first_order(keys, queries * self._spread(K, K) + Q * self._spread(K, keys))

        def covariances(A: Array, change: Array) -> Array:
            moved = A * (change - (A * change).sum(axis=2, keepdims=True))
            return A @ keys @ A.swapaxes(1, 2) + moved @ K @ moved.swapaxes(1, 2)

        return self._sampled([(Q, K), (queries, K), (Q, keys)], covariances)

    # ---- weak scores -------------------------------------------------------------------------------------------

    def _to_first_order(self, values: Array, of_scores: Array | float) -> Estimate:
        """Averages over all pairs of keys, and what scores and their changes add.

        They are off by a part S of the largest of these for the queries: terms of the next order need not cancel where
        those do.
        """
        apart = np.where(self.seen > 0, self._excess - self._within(self._excess)[:, None], 0.0)
        unlike = (apart / self._counts[:, None]) @ self._rows(values).T / 2
        parts = self.queries * self._spread(values, self.keys), unlike, unlike.T, of_scores
        sizes = [np.broadcast_to(np.abs(part), values.shape) for part in parts]
        largest = np.sqrt(np.sum(sizes, axis=0).max(axis=1))
        return self._pairs(values) + sum(parts), self.variance * np.outer(largest, largest)

    @cached_property
    def _counts(self) -> Array:
        return np.asarray(self.seen.sum(axis=1))

    def _rows(self, values: Array) -> Array:
        """Means over the keys of each query, of every column; sums of beginnings where it sees the first keys."""
        count = self._counts.astype(int)
        if (np.arange(len(self.seen)) < count[:, None]).all(where=self.seen > 0):
            return np.asarray(values.cumsum(axis=0)[count - 1] / count[:, None])
        return np.asarray(self.seen @ values / count[:, None])

    def _pairs(self, values: Array) -> Array:
        """Means over the keys of both of two queries."""
        return self._rows(self._rows(values).T).T

    def _within(self, values: Array) -> Array:
        """Means over the keys of each query, of its own row."""
        return np.asarray((self.seen * values).sum(axis=1) / self._counts)

    @cached_property
    def _phases(self) -> list[Array]:
        """``exp(i f a)`` of every frequency at all positions; 1 without any."""
        places = np.arange(len(self.keys))
        return [np.exp(1j * f * places) for f in self.frequencies] or [np.ones(len(places))]

    @cached_property
    def _excess(self) -> Array:
        """The variance of ``~s_ab``."""
        keys = self.keys * np.mean([np.outer(phase.conj(), phase).real for phase in self._phases], axis=0)
        rows = self._rows(keys)
        unshared = keys.diagonal() - 2 * rows + self._within(rows)[:, None]
        return np.asarray(self.queries.diagonal()[:, None] * unshared)

    def _spread(self, values: Array, keys: Array) -> Array:
        """``sum_bd X_bd ~[Y_bd R]/(n_a n_c)`` of values X and keys Y, centred over the keys of both queries."""
        total, rows, pairs = np.zeros(values.shape), self._rows(values), self._pairs(values)
        for phase in self._phases:
            turned = phase.conj()[:, None] * keys * phase
            seen = self._rows(turned)
            of_one = self._rows((rows * seen).T).T
            both = self._pairs(values * turned) - of_one - of_one.conj().T + pairs * self._rows(seen.T).T
            total += (phase[:, None] * both * phase.conj()).real
        return np.asarray(total / len(self._phases))

    # ---- strong scores -----------------------------------------------------------------------------------------

    def _sampled(self, laws: Sequence[tuple[Array, Array]], covariances: Callable[[Array, Array], Array]) -> Estimate:
        """The mean of what weights and changes of scores make, with its standard error.

        Samples come in pairs of opposite scores.

        Args:
            laws: covariances of queries and keys, first of scores, then of what their changes are sums of.
            covariances: by weights and changes of scores.
        """
        count, rng = len(self.keys), np.random.default_rng(_SEED + self.is_again)
        cost = len(self._phases)
        pairs = int(np.clip(_PRODUCTS // (count**3 * cost), _FEWEST, max(_MOST // cost, _FEWEST)))
        roots = [(_root(queries), _root(keys)) for queries, keys in laws]
        sums, squares = np.zeros(self.keys.shape), np.zeros(self.keys.shape)
        most = max(_AT_ONCE // count**2, 1)
        for begin in range(0, pairs, most):
            shape = (min(most, pairs - begin), count, count)
            scores, *changes = (self._drawn(rng, shape, *each) for each in roots)
            change = np.asarray(sum(changes))
            values = (covariances(self._softmax(scores), change) + covariances(self._softmax(-scores), change)) / 2
            sums, squares = sums + values.sum(axis=0), squares + (values**2).sum(axis=0)
        mean = sums / pairs
        return mean, np.sqrt(np.maximum(squares / pairs - mean**2, 0) / (pairs - 1))

    def _drawn(self, rng: np.random.Generator, shape: tuple[int, ...], queries: Array, keys: Array) -> Array:
        """Scores, from roots of the covariances of queries and keys."""
        total = np.zeros(shape)
        for phase in self._phases:
            for part in (phase, -1j * phase) if len(self.frequencies) else (phase,):
                total += (part[:, None] * (queries @ rng.standard_normal(shape) @ keys) * phase.conj()).real
        return np.asarray(total / len(self._phases) ** 0.5)

    def _softmax(self, scores: Array) -> Array:
        scores = np.where(self.seen > 0, scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _root(covariances: Array) -> Array:
    """A symmetric root."""
    values, vectors = np.linalg.eigh(covariances)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0)) @ vectors.T)
