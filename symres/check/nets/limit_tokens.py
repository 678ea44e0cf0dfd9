"""Infinitely wide networks of a sequence of tokens, with attention to sampled scores."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import ndtri, softmax
from scipy.stats import qmc

from ...layers.nodes import Scores
from .limit_batch import ExchangeableNet
from .limit_net import CANCELLED
from .random_field import Affine, Operand, OracleLimit
from .source_law import Rules

SETS = 8  # sets of points at which scores are sampled: they tell the error of their average
_POINTS = 2**14  # in each set
_MOST = 2**22  # normal numbers at a time: many tokens need fewer points, for attention averages over them


class LimitTokens(ExchangeableNet):
    """A network at n = infinity of one sequence, of which two positions are looked at.

    Args:
        kernel: of the stream.
        shared: the covariance of two positions.
        positions: their number, maybe infinite.
        rules: of integration.
    """

    def __init__(self, kernel: float, shared: float, positions: float, rules: Rules) -> None:
        self.positions: float = positions
        self._set = rules.points
        super().__init__(np.array([[kernel, shared], [shared, kernel]]), rules)

    def attend(self, u: Operand, keys: Operand, C_W: float, C_b: float, scores: Scores) -> Affine:
        """A fresh Gaussian source: what all keys share, and of the rest the overlap of two attentions."""
        moments, differences, sizes = self.moments(keys)
        spread = differences[0, 1] / 2
        queries = moments if u is keys else self.moments(u)[0]
        mixed, apart = self._overlap(scores.C_K * (scores.C_Q * queries + scores.C_bQ) * spread, scores, spread)
        common = C_b + scores.C_bV + C_W * moments[0, 1]
        alike = mixed + apart / 2 * np.eye(2)
        lost = C_W * spread * apart * (1 - np.eye(2))
        return self._drawn(common + C_W * spread * alike, lost, common + C_W * sizes)

    def _overlap(self, covariance: np.ndarray, scores: Scores, spread: float) -> tuple[float, float]:
        """``<sum_b A_b A'_b>`` and ``<sum_b (A_b - A'_b)^2>`` of the attentions A of two queries.

        Args:
            covariance: of the scores of two queries, over sqrt(d), what keys share being left out.
            scores: how they are made.
            spread: half the mean square of the difference of two keys.
        """
        if np.isinf(self.positions):
            return 0.0, 0.0
        keys = int(self.positions)
        if scores.is_tied:  # of a token with itself
            first, second = softmax(scores.C_Q * spread * np.eye(2, keys), axis=1)
            return float(first @ second), float(np.sum((first - second) ** 2))
        if scores.power == 1:
            return 1 / keys, 0.0
        if 2 * keys > qmc.Sobol.MAXDIM:
            found = f"quasi-random points have {qmc.Sobol.MAXDIM} coordinates at most"
            raise OracleLimit(f"scores of {keys} keys", found, "take fewer tokens")
        one, other = _normals(keys, self._set)
        sigma, share = np.sqrt(covariance[0, 0]), covariance[0, 1] / covariance[0, 0] if covariance[0, 0] else 0.0
        alone = np.sqrt(1 - share**2)
        first, second, independent = (softmax(sigma * x, axis=1) for x in (one, share * one + alone * other, other))
        # attentions without covariance overlap by 1/keys on average: what they miss by explains some of the scatter
        mixed = first * second - alone * (first * independent - 1 / keys**2)
        return float(keys * mixed.mean()), float(keys * np.mean((first - second) ** 2))

    def mix(self, u: Operand, C_W: float, C_b: float) -> Affine:
        """A fresh source of many positions without covariance.

        Raises:
            OracleLimit: positions are few, or not so.
        """
        moments, _, sizes = self.moments(u)
        if np.isfinite(self.positions) or abs(moments[0, 1]) > CANCELLED * moments[0, 0]:
            found = "positions are few or have a covariance"
            raise OracleLimit("a layer that mixes positions at infinite width", found, "rely on simulation")
        alone = C_W * np.diag(np.diag(moments))
        return self._drawn(alone, 2 * alone[::-1], C_W * sizes)

    def pool(self, u: Operand) -> Operand:
        """Average over the positions, for every neuron.

        Raises:
            OracleLimit: ``u`` is not a linear form.
        """
        return self._common_part(u, "positions")

    def batch(self, u: Operand) -> Operand:
        """Refused: positions are no batch."""
        raise OracleLimit("an average over inputs with positions", "there is one input", "rely on simulation")

    def _representative(self, a: int, b: int) -> tuple[int, int]:
        return (0, 0) if a == b else (1, 0)

    def _shared(self, covariance: np.ndarray) -> np.ndarray:
        """The average over all positions is what they share."""
        (kernel, shared), _ = covariance
        return np.full_like(covariance, shared + (kernel - shared) / self.positions)


@lru_cache(maxsize=2 * SETS)
def _normals(keys: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    """A set of quasi-random normal numbers of two queries, (points, keys)."""
    points = min(_POINTS, 2 ** int(np.log2(_MOST / (2 * keys * SETS))))
    normals = ndtri(qmc.Sobol(2 * keys, rng=np.random.default_rng(number)).random(points))
    return normals[:, :keys], normals[:, keys:]
