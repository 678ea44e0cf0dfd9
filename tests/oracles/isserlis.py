"""Vertices of residual perceptrons with monomials as activations, any number of inputs, from moments of Gaussians.

``z' = gamma z + xi Dense(phi(z))``: sums over pairs of layers of covariances at two times, which for monomials the
theorem of Isserlis gives. Nothing but arithmetic: no quadrature, no expansion.
"""

from functools import cache
from itertools import combinations_with_replacement

import numpy as np


class Polynomial:
    """A network of activations ``z^power``.

    Args:
        power: of the activation.
        kernel: of the p inputs, as nested lists.
        C_W, C_b, gamma, xi: of every layer.
        depth: number of layers.
    """

    def __init__(self, power, kernel, C_W, C_b, gamma, xi, depth):
        self.power, self.C_W, self.gamma, self.xi, self.depth = power, C_W, gamma, xi, depth
        self.p = len(kernel)
        self.pairs = list(combinations_with_replacement(range(self.p), 2))
        self.kernels = [np.array(kernel)]
        for _ in range(depth):
            K = self.kernels[-1]
            square = np.array([[self._mean(self._product(a, b), K) for b in range(self.p)] for a in range(self.p)])
            self.kernels.append(gamma**2 * K + xi**2 * (C_b + C_W * square))

    def vertex(self, remembering=lambda one, other: True):
        """V after the last layer, shape (p, p, p, p).

        Args:
            remembering: for two pairs of inputs, whether a neuron remembers at one what it added at the other.
        """
        L, size = self.depth, len(self.pairs)
        added = self.xi**2 * self.C_W
        responses = [self._response(K) for K in self.kernels]
        R = [np.eye(size)] * L  # of the last kernel in the noise of each layer
        for k in range(L - 2, -1, -1):
            R[k] = R[k + 1] @ responses[k + 1]
        found = np.zeros((size, size))
        for k in range(L):
            for m in range(L):
                found += added**2 * R[k] @ self._covariance(k, m, remembering) @ R[m].T
            own = self.gamma ** (2 * (L - k)) * self._with_products(self.kernels[k]) * self._mask(remembering)
            found += added * (own @ R[k].T + R[k] @ own.T)
        V = np.zeros((self.p,) * 4)
        for i, (a, b) in enumerate(self.pairs):
            for j, (c, d) in enumerate(self.pairs):
                for one in ((a, b), (b, a)):
                    for other in ((c, d), (d, c)):
                        V[one + other] = found[i, j]
        return V

    def _mask(self, remembering):
        return np.array([[float(remembering(one, other)) for other in self.pairs] for one in self.pairs])

    def _product(self, *inputs):
        """The powers of ``phi_a phi_b ...``."""
        powers = [0] * self.p
        for a in inputs:
            powers[a] += self.power
        return tuple(powers)

    def _mean(self, powers, K):
        return _moment(tuple(powers), tuple(map(tuple, K)))

    def _response(self, K):
        """The derivatives of next kernels in kernels, by Price's theorem."""
        rows = []
        for a, b in self.pairs:
            powers = self._product(a, b)
            row = []
            for e, f in self.pairs:
                less = list(powers)
                less[e] -= 1
                less[f] -= 1
                factor = powers[e] * (powers[e] - 1) / 2 if e == f else powers[e] * powers[f]
                slope = factor * self._mean(less, K) if factor else 0.0
                row.append(self.gamma**2 * (e == a and f == b) + self.xi**2 * self.C_W * slope)
            rows.append(row)
        return np.array(rows)

    def _covariance(self, k, m, remembering):
        """Of the integrands of two layers."""
        earlier, later = self.kernels[min(k, m)], self.kernels[max(k, m)]
        Q = self.gamma ** abs(k - m) * earlier
        both = np.block([[earlier, Q], [Q, later]]) if k <= m else np.block([[later, Q], [Q, earlier]])
        found = np.empty((len(self.pairs),) * 2)
        for i, one in enumerate(self.pairs):
            for j, other in enumerate(self.pairs):
                powers = (*self._product(*one), *self._product(*other))
                apart = self._mean(self._product(*one), self.kernels[k]) * self._mean(
                    self._product(*other), self.kernels[m]
                )
                found[i, j] = self._mean(powers, both) - apart
        return found if k == m else found * self._mask(remembering)

    def _with_products(self, K):
        """``Cov(z_a z_b, phi_c phi_d)``."""
        found = np.empty((len(self.pairs),) * 2)
        for i, (a, b) in enumerate(self.pairs):
            for j, pair in enumerate(self.pairs):
                powers = list(self._product(*pair))
                apart = K[a][b] * self._mean(powers, K)
                powers[a] += 1
                powers[b] += 1
                found[i, j] = self._mean(powers, K) - apart
        return found


@cache
def _moment(powers, K):
    """``<w_1^k_1 w_2^k_2 ...>`` by Isserlis' theorem."""
    first = next((a for a, k in enumerate(powers) if k), None)
    if first is None:
        return 1.0
    total = 0.0
    for b, k in enumerate(powers):
        count = k - (b == first)
        if count > 0:
            less = list(powers)
            less[first] -= 1
            less[b] -= 1
            total += count * K[first][b] * _moment(tuple(less), K)
    return total
