"""The order 1/n of a residual perceptron z' = gamma z + xi Dense(phi(z)) in two other forms, in plain NumPy.

Sums over pairs of layers of covariances of phi^2 at two times, and a tower of covariances of z^2 with Hermite
polynomials; both by the trapezoidal rule, which is as good as exact for smooth phi.
"""

from functools import cache

import numpy as np

NODES = np.linspace(-12, 12, 601)
WEIGHTS = np.exp(-(NODES**2) / 2)
WEIGHTS /= WEIGHTS.sum()


def of_relus(r):
    """``<z|z| w|w>/K^2`` of two neurons of correlation r."""
    return 2 / np.pi * ((1 + 2 * r * r) * np.arcsin(r) + 3 * r * np.sqrt((1 - r) * (1 + r)))


@cache
def nu_of_slopes(plus, minus, gamma):
    """Nu of a residual perceptron whose function has two slopes: the sum over times, term by term."""
    A2, A4 = (plus**2 + minus**2) / 2, (plus**4 + minus**4) / 2
    terms = int(np.log(1e-18) / np.log(gamma)) + 2 if gamma else 0
    a = (1 - gamma) * (1 + gamma)
    total = of_relus(gamma ** np.arange(1, terms)).sum()
    return a * (a * (3 * A4 / A2**2 - 1) + 4 * gamma**2) + 2 * a**2 * (A4 / A2**2 - 1) * total


class Residual:
    """One setting of the parameters; ``phi`` for arrays."""

    def __init__(self, phi, C_W, C_b, gamma, xi=1.0):
        self.square = lambda z: phi(z) ** 2
        self.C_W, self.C_b, self.gamma, self.xi = C_W, C_b, gamma, xi

    def mean(self, K):
        return WEIGHTS @ self.square(np.sqrt(K) * NODES)

    def slope(self, K):
        """d<phi^2>/dK by Stein's lemma."""
        return WEIGHTS @ (self.square(np.sqrt(K) * NODES) * (NODES**2 - 1)) / (2 * K)

    def kernels(self, K, depth):
        found = [K]
        for _ in range(depth):
            found.append(self.gamma**2 * found[-1] + self.xi**2 * (self.C_b + self.C_W * self.mean(found[-1])))
        return found

    def covariance(self, K1, K2, Q):
        """Of phi^2 at two times, by a rule in the plane."""
        r = Q / np.sqrt(K1 * K2)
        x = NODES[:, None]
        y = r * x + np.sqrt(max(1 - r * r, 0.0)) * NODES[None, :]
        both = WEIGHTS @ (self.square(np.sqrt(K1) * x) * self.square(np.sqrt(K2) * y)) @ WEIGHTS
        return both - self.mean(K1) * self.mean(K2)

    def responses(self, kernels):
        return [self.gamma**2 + self.xi**2 * self.C_W * self.slope(K) for K in kernels[:-1]]

    def two_time_sums(self, K, depth):
        """P and V after ``depth`` layers."""
        kernels = self.kernels(K, depth)
        chi = self.responses(kernels)
        R = [np.prod(chi[k + 1 :]) for k in range(depth)]
        P = 0.0
        for k in range(depth):
            for m in range(depth):
                low, high = min(k, m), max(k, m)
                Q = self.gamma ** (high - low) * kernels[low]
                P += R[k] * R[m] * self.covariance(kernels[low], kernels[high], Q)
        P *= self.xi**4 * self.C_W**2
        c = [x - self.gamma**2 for x in chi]
        memory = sum(R[k] * self.gamma ** (2 * (depth - k)) * c[k] * kernels[k] ** 2 for k in range(depth))
        return P, P + 4 * memory

    def tower(self, K, depth, degree=150):
        """V after ``depth`` layers: ``W_k = n Cov(z_i^2, He_k(z_j/sqrt(K)))/sqrt(k!)`` beside it."""
        W, V = np.zeros(degree + 1), 0.0
        for _ in range(depth):
            coefficients = self._hermite(K, degree)
            added = self.xi**2 * self.C_W
            chi = self.gamma**2 + added * self.slope(K)
            after = self.gamma**2 * K + self.xi**2 * (self.C_b + self.C_W * self.mean(K))
            others = np.arange(degree + 1) != 2
            others[0] = False
            rest = 2 * chi * added * (W[others] @ coefficients[others])
            noise = added**2 * self.covariance(K, K, K)
            V = noise + chi**2 * V + 4 * self.gamma**2 * (chi - self.gamma**2) * K**2 + rest
            memory = (self.gamma * np.sqrt(K / after)) ** np.arange(degree + 1)
            W, K = memory * (chi * W + added * coefficients), after
        return V

    def _hermite(self, K, degree):
        rows = [np.ones_like(NODES), NODES]
        for k in range(1, degree):
            rows.append((NODES * rows[k] - np.sqrt(k) * rows[k - 1]) / np.sqrt(k + 1))
        return np.array(rows[: degree + 1]) @ (WEIGHTS * self.square(np.sqrt(K) * NODES))
