"""Finite networks that remember the random numbers of their neurons, which explain most of what scatters."""

from __future__ import annotations

import numpy as np

from .gram_net import GramNet

_MOST = 4  # earlier draws with which products are looked at


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

    def averages(self) -> np.ndarray:
        """Averages over the neurons, times the root of their number: for each network numbers of mean 0 and variance 1.

        Hermite polynomials 1 to 4 of the normals of each draw, and products of the first two of different draws of one
        width. All of them are uncorrelated.
        """
        found = []
        by_width: dict[int, list[np.ndarray]] = {}
        for drawn in self._drawn:
            by_width.setdefault(drawn.shape[1], []).append(drawn)
        for width, draws in by_width.items():
            for k, e in enumerate(draws):
                square = e * e
                second = (square - 1) / np.sqrt(2)
                functions = [e, second, e * (square - 3) / np.sqrt(6), (square * (square - 6) + 3) / np.sqrt(24)]
                for other in draws[max(0, k - _MOST) : k]:
                    others = (other * other - 1) / np.sqrt(2)
                    functions += [e * other, e * others, second * other, second * others]
                found += [function.sum(axis=1) / np.sqrt(width) for function in functions]
        return np.stack(found, axis=1)
