"""Finite networks that remember the random numbers of their neurons, which explain most of what scatters."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np

from .gram_net import GramNet

_MOST = 4  # draws of one width whose products are looked at


class RecordingNet(GramNet):
    """Networks of one input, with averages over their neurons whose law is known.

    Args:
        n: width of the stream.
        rng: source of random numbers.
    """

    def __init__(self, n: int, rng: np.random.Generator) -> None:
        super().__init__(n, rng)
        self._drawn: list[np.ndarray] = []

    def _correlated(self, factor: np.ndarray, fan_out: int) -> np.ndarray:
        fresh = self.rng.standard_normal((len(factor), fan_out, 1))
        self._drawn.append(fresh[..., 0])
        result: np.ndarray = factor[:, :1, :1] * fresh
        return result

    def controls(self) -> np.ndarray:
        """Numbers of mean 0 for each network: products of averages of Hermite polynomials of the normals.

        Averages over n neurons times sqrt(n) are uncorrelated and of variance 1, so are those of products of
        polynomials of different draws; the mean of their own product is 1 or 0.
        """
        averages = []
        by_width: dict[int, list[np.ndarray]] = {}
        for drawn in self._drawn:
            by_width.setdefault(drawn.shape[1], []).append(drawn)
        for width, draws in by_width.items():
            last = draws[-_MOST:]
            squares = [(e * e - 1) / np.sqrt(2) for e in last]
            for k, e in enumerate(last):
                fourth = (e**4 - 6 * e**2 + 3) / np.sqrt(24)
                functions = [squares[k], fourth, *(e * f for f in last[:k]), *(squares[k] * s for s in squares[:k])]
                averages += [function.sum(axis=1) / np.sqrt(width) for function in functions]
        products = [
            averages[a] * averages[b] - (1.0 if a == b else 0.0)
            for a, b in combinations_with_replacement(range(len(averages)), 2)
        ]
        return np.stack([*averages, *products], axis=1)
