"""The fluctuations of a deep network at order 1/n: a recursion for the covariance of its statistics.

The state of a layer is ``D = n Cov`` of the stream's mean and kernel, and the influence ``G(z_i)``: n times the average
of the statistics' deviation, given the stream of one neuron i. A stream with a skip connection remembers, so G is a
function; without one it vanishes, and D is the recursion of PDLT for the four-point vertex.

    D' = J D J^T + J <G H^T> + <H G^T> J^T + <H H^T>          G'(z') = < J G(z) + H | z' >

with the response J and the noise H of the layer. G is kept in Hermite coefficients, which the average given z'
multiplies degree by degree, so a layer costs one expansion.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .float_quadrature import Array, Values
from .hermite_space import given
from .layer_noise import CompiledLayer


@dataclass(frozen=True)
class Fluctuations:
    """The fluctuations of the stream after some layers.

    Args:
        kernel: at infinite width, shape (p, p) for p inputs.
        root: its lower triangular root.
        D: n times the covariance of the state, p means and then the kernels of pairs a <= b, shape (q, q).
        half: the same from Hermite coefficients of half the degree.
        G: Hermite coefficients of the influence of one neuron, shape (q, M + 1, ...) with p axes.
    """

    kernel: Array
    root: Array
    D: Array
    half: Array
    G: Array

    @property
    def inputs(self) -> int:
        """The number of inputs."""
        return len(self.kernel)

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of inputs, in the order of the state."""
        return [(a, b) for a in range(self.inputs) for b in range(a, self.inputs)]

    @cached_property
    def P(self) -> Array:
        """``n Cov(K_ab, K_cd)`` of the conditional kernel, shape (p, p, p, p)."""
        return self._spread(self.D[self.inputs :, self.inputs :])

    @cached_property
    def V(self) -> Array:
        """The four-point vertex ``n Cov(z_ia z_ib, z_jc z_jd)`` of two neurons i and j, shape (p, p, p, p)."""
        p = self.inputs
        own = np.array([self._influence(a, b) for a, b in self.pairs])[:, p:]
        return self._spread(self.D[p:, p:] + own + own.T)

    @cached_property
    def truncation(self) -> float:
        """How much D changes if half of the Hermite coefficients are left out."""
        return float(np.max(np.abs(self.D - self.half)))

    def _influence(self, a: int, b: int) -> Array:
        """``Cov(z_a z_b, G)``, shape (q,)."""
        root = self.root
        if self.inputs == 1:
            return np.asarray(root[0, 0] ** 2 * np.sqrt(2) * self.G[:, 2])
        powers = {(2, 0): (0, 0), (1, 1): (0, 1), (0, 2): (1, 1)}
        total = np.zeros(len(self.D))
        for (j, k), (i, m) in powers.items():
            weight = root[a, i] * root[b, m] + (root[a, m] * root[b, i] if i != m else 0.0)
            total += weight * np.sqrt(2.0 if i == m else 1.0) * self.G[:, j, k]
        return total

    def covariance(self, f: Array, g: Array) -> float:
        """``n Cov(f(z_i), g(z_j))`` of two neurons, for one input.

        Args:
            f: Hermite coefficients of ``f(sqrt(K) x)``, shape (M + 1,).
            g: of the other function.
        """
        scale = self.root[0, 0]
        slopes = [np.array([h[1] / scale, h[2] / (np.sqrt(2) * scale**2)]) for h in (f, g)]
        own = [self.G[:, 1:] @ h[1:] for h in (f, g)]
        return float(slopes[0] @ self.D @ slopes[1] + own[0] @ slopes[1] + own[1] @ slopes[0])

    def _spread(self, matrix: Array) -> Array:
        p = self.inputs
        found = np.zeros((p, p, p, p))
        for i, (a, b) in enumerate(self.pairs):
            for j, (c, d) in enumerate(self.pairs):
                for one in ((a, b), (b, a)):
                    for other in ((c, d), (d, c)):
                        found[one + other] = matrix[i, j]
        return found


def start(kernel: Array, degree: int) -> Fluctuations:
    """Inputs: independent neurons with a kernel that does not fluctuate."""
    p = len(kernel)
    size = p + p * (p + 1) // 2
    D = np.zeros((size, size))
    return Fluctuations(kernel, np.linalg.cholesky(kernel).astype(float), D, D, np.zeros((size, *(degree + 1,) * p)))


def after(state: Fluctuations, layer: CompiledLayer, values: Values) -> Fluctuations:
    """The fluctuations after one more layer."""
    degree = state.G.shape[-1] - 1
    numbers = layer.at(state.kernel, state.root, values, degree)
    J, G, H = numbers.J, state.G, numbers.before
    axes = tuple(range(1, G.ndim))
    cross = J @ np.tensordot(G, H, (axes, axes))
    part = tuple(slice(0, degree // 2 + 1) for _ in axes)
    half = J @ np.tensordot(G[(slice(None), *part)], H[(slice(None), *part)], (axes, axes))
    carried = np.tensordot(J, G, 1)
    influence = np.array([given(g, numbers.R) for g in carried]) + numbers.after
    return Fluctuations(
        numbers.kernel,
        numbers.root,
        J @ state.D @ J.T + cross + cross.T + numbers.noise,
        J @ state.half @ J.T + half + half.T + numbers.noise,
        influence,
    )


def through(kernel: Array, layers: Sequence[tuple[CompiledLayer, Values]], degree: int) -> Iterator[Fluctuations]:
    """The fluctuations before the first layer, and after each."""
    state = start(kernel, degree)
    yield state
    for layer, values in layers:
        state = after(state, layer, values)
        yield state
