"""Finite networks that remember the random numbers of their neurons, which explain most of what scatters."""

from __future__ import annotations

import numpy as np

from .gram_net import GramNet, Neurons
from .random_field import OracleLimit

_SPECTATORS = 64
_MOST = 4  # earlier draws with which products are looked at


class RecordingNet(GramNet):
    """Networks of one input, with averages over their neurons whose law is known."""

    def __init__(self, n: int, rng: np.random.Generator) -> None:
        super().__init__(n, rng)
        self._drawn: list[np.ndarray] = []

    def _correlated(self, factor: np.ndarray, fan_out: int) -> np.ndarray:
        fresh = self.rng.standard_normal((len(factor), fan_out, 1))
        self._drawn.append(fresh[..., 0])
        result: np.ndarray = factor[:, :1, :1] * fresh
        return result

    def fluctuation(self, z: Neurons, kernel: float) -> tuple[np.ndarray, np.ndarray]:
        """What is looked at, for each network, of a stream z with this kernel at infinite width.

        Returns:
            ``n (z_i^2 - kernel) (z_j^2 - kernel)`` over all pairs of different neurons, and the root of n times
            ``(1/n) sum_i z_i^2 - kernel``.
        """
        apart = np.square(np.asarray(z)[..., 0]) - kernel
        total = apart.sum(axis=1)
        return (np.square(total) - np.square(apart).sum(axis=1)) / (self.n - 1), total / np.sqrt(self.n)

    def averages(self) -> np.ndarray:
        """Averages over the neurons, times the root of their number: for each network numbers of mean 0 and variance 1.

        Hermite polynomials 1 to 4 of the normals of each draw, and products of the first two of different draws of one
        width. All of them are uncorrelated.
        """
        averages = []
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
                averages += [function.sum(axis=1) / np.sqrt(width) for function in functions]
        return np.stack(averages, axis=1)


class SpectatorNet(RecordingNet):
    """Networks whose conditional kernel is known: the variance of a neuron that takes no part in the averages.

    Behind the network's own neurons stand spectators, one for each draw: it sees the normal of that draw only. Streams
    are linear in the draws, given all averages, so the sum of the spectators' squares is that variance, apart from the
    mean, which the last spectator has.
    """

    def fluctuation(self, z: Neurons, kernel: float) -> tuple[np.ndarray, np.ndarray]:
        """N times the squared distance of the conditional kernel from ``kernel``, and its root."""
        spectators = np.asarray(z)[:, -_SPECTATORS:, 0]
        mean = spectators[:, -1:]  # of a neuron that sees no draw
        conditional = np.square(spectators - mean).sum(axis=1) + np.square(mean[:, 0])
        apart = np.sqrt(self.n) * (conditional - kernel)
        return np.square(apart), apart

    def mean(self, u: Neurons) -> Neurons:
        """Average over the network's own neurons."""
        return super().mean(_own(u))

    def _gram(self, u: Neurons, C_W: float, C_b: float) -> np.ndarray:
        return super()._gram(_own(u), C_W, C_b)

    def _correlated(self, factor: np.ndarray, fan_out: int) -> np.ndarray:
        neurons, number = super()._correlated(factor, fan_out), len(self._drawn) - 1
        if number == _SPECTATORS - 1:
            raise OracleLimit("the conditional kernel", f"the layer has over {number} draws", "take fewer layers")
        spectators = np.zeros((len(neurons), _SPECTATORS, 1))
        spectators[:, number] = factor[:, 0, :1]
        return np.concatenate([neurons, spectators], axis=1)


def _own(u: Neurons) -> np.ndarray:
    assert isinstance(u, np.ndarray)
    return u[:, :-_SPECTATORS]
