"""Finite networks, drawn from Gram matrices (the exact law of a dense layer without its weights) or from weights."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from ...layers.nodes import Scores
from .dual_numbers import Dual
from .torch_tensor import Tensor

Neurons: TypeAlias = np.ndarray | Dual | Tensor  # (nets, n, inputs)

_FEW = 8  # inputs for which columns beat a batched product of tiny matrices
_PER_HEAD, _PER_SIZE = 16, 8  # the width over the number of heads, and over the dimension of queries and keys


class GramNet:
    """Many networks at once; a dense layer's output is drawn given the empirical Gram matrix of its input.

    Given ``u``, the rows of W are independent Gaussian, so ``y_i = b_i + sum_j W_ij u_j`` is Gaussian in the input
    index with covariance ``C_b + (C_W/fan_in) sum_j u_ja u_jb``, independent over i: n*P normals instead of n*n.

    Inputs with positions are sequences: the axis of inputs has the positions of the first one, then those of the next.

    Args:
        n: width of the stream.
        rng: source of random numbers.
        positions: in each sequence.
    """

    def __init__(self, n: int, rng: np.random.Generator, positions: int = 1) -> None:
        self.n = n
        self.rng = rng
        self.positions = positions

    def stream(self, nets: int, covariance: np.ndarray) -> np.ndarray:
        """A Gaussian stream with given covariance over the inputs, shape (nets, n, inputs)."""
        factor = np.broadcast_to(root(np.asarray(covariance, dtype=float)[None]), (nets, *np.shape(covariance)))
        return self._correlated(factor, self.n)

    def mean(self, u: Neurons) -> Neurons:
        """Average over the neurons, shape (nets, 1, inputs)."""
        return u.mean(axis=1, keepdims=True)

    def dense(self, u: Neurons, C_W: float, C_b: float, width: float = 1.0) -> Neurons:
        """A dense layer with fresh weights and biases, shape (nets, width*n, inputs).

        Tangents are further inputs, which the biases do not reach.
        """
        drawn = self._correlated(root(self._gram(u, C_W, C_b)), max(1, round(width * self.n)))
        return Dual.of_columns(drawn, u.shape[2]) if isinstance(u, Dual) else drawn

    def _gram(self, u: Neurons, C_W: float, C_b: float) -> np.ndarray:
        """The covariance of the output over the inputs, and over their tangents."""
        columns, inputs = u.columns if isinstance(u, Dual) else np.asarray(u), u.shape[2]
        gram: np.ndarray = (C_W / u.shape[1]) * np.matmul(columns.transpose(0, 2, 1), columns)
        gram[:, :inputs, :inputs] += C_b
        return gram

    def batch(self, u: Neurons) -> Neurons:
        """Average over the inputs, shape (nets, n, 1)."""
        return u.mean(axis=2, keepdims=True)

    def attend(self, u: Neurons, keys: Neurons, C_W: float, C_b: float, scores: Scores) -> Neurons:
        """Softmax attention with ``n/16`` heads, queries and keys of dimension ``n/8``, and a dense layer behind them.

        Both grow with the width, so that all that finite sizes add is of order 1/n; values have together as many
        neurons as the stream.

        Args:
            u: of which queries are made.
            keys: of which keys and values are made, for the same sequences.
            C_W: of values; the layer behind the heads has 1.
            C_b: variance of the biases behind the heads.
            scores: of queries and keys.
        """
        heads, size = max(1, self.n // _PER_HEAD), max(1, self.n // _PER_SIZE)
        wide = heads * size / self.n
        queries = self.dense(u, scores.C_Q, scores.C_bQ, wide)
        matched = queries if scores.is_tied else self.dense(keys, scores.C_K, 0.0, wide)
        values = self.dense(keys, C_W, scores.C_bV, heads * max(1, self.n // heads) / self.n)
        products = self.by_position(queries, heads) @ self.by_position(matched, heads).transpose(0, 1, 2, 4, 3)
        heard = softmax(products * size**-scores.power) @ self.by_position(values, heads)
        return self.dense(self.by_neuron(heard), 1.0, C_b)

    def mix(self, u: Neurons, C_W: float, C_b: float) -> Neurons:
        """A dense layer over the positions, the same one for all neurons."""
        shape = u.shape[0], 1, 1, self.positions
        weights = np.sqrt(C_W / self.positions) * self.rng.standard_normal((*shape, self.positions))
        return self.by_neuron(weights @ self.by_position(u) + np.sqrt(C_b) * self.rng.standard_normal((*shape, 1)))

    def shifted(self, u: Neurons, distance: int) -> Neurons:
        """The neurons so many positions further, on a ring."""
        return self.by_neuron(np.roll(np.eye(self.positions), distance, axis=1) @ self.by_position(u))

    def pool(self, u: Neurons) -> Neurons:
        """Average over the positions of each sequence, at all of them."""
        return self.by_neuron(np.full((self.positions,) * 2, 1 / self.positions) @ self.by_position(u))

    def by_position(self, u: Neurons, heads: int = 1) -> Neurons:
        """Neurons in groups and each sequence by itself: shape (nets, heads, sequences, positions, neurons of one)."""
        nets, n, inputs = u.shape
        apart = u.reshape(nets, heads, n // heads, inputs // self.positions, self.positions)
        return apart.transpose(0, 1, 3, 4, 2)

    def by_neuron(self, grouped: Neurons) -> Neurons:
        """The inverse of ``by_position``: shape (nets, n, inputs)."""
        nets, heads, sequences, positions, size = grouped.shape
        return grouped.transpose(0, 1, 4, 2, 3).reshape(nets, heads * size, sequences * positions)

    def _correlated(self, factor: np.ndarray, fan_out: int) -> np.ndarray:
        nets, inputs, _ = factor.shape
        fresh = self.rng.standard_normal((nets, fan_out, inputs))
        if inputs > _FEW:
            return np.matmul(fresh, factor.transpose(0, 2, 1))
        result: np.ndarray = np.empty_like(fresh)
        for a in range(inputs):
            result[..., a] = sum(factor[:, a, b, None] * fresh[..., b] for b in range(a + 1))
        return result


class WeightNet(GramNet):
    """As :class:`GramNet`, but every dense layer draws its weights and biases: slow, the definition of all else."""

    def dense(self, u: Neurons, C_W: float, C_b: float, width: float = 1.0) -> Neurons:
        """A dense layer with fresh weights and biases, shape (nets, width*n, inputs)."""
        nets, fan_in, _ = u.shape
        fan_out = max(1, round(width * self.n))
        weights = self.rng.standard_normal((nets, fan_out, fan_in))
        biases = self.rng.standard_normal((nets, fan_out, 1))
        return np.sqrt(C_W / fan_in) * (weights @ u) + np.sqrt(C_b) * biases


class LearningNet(GramNet):
    """As :class:`GramNet` for neurons with one tangent, to which every dense layer adds a change of its own.

    With ``y = W u + b`` the tangent is ``dy = W du + dW u + db``, where dW and db have the law of W and b: in the NTK
    parametrisation the average of ``dy_a dy_b`` over the changes is the tangent kernel of the inputs a and b.
    """

    def _gram(self, u: Neurons, C_W: float, C_b: float) -> np.ndarray:
        gram, inputs = super()._gram(u, C_W, C_b), u.shape[2]
        if not isinstance(u, Dual) or gram.shape[-1] != 2 * inputs:
            raise TypeError("a network that learns takes neurons with one tangent")
        gram[:, inputs:, inputs:] += gram[:, :inputs, :inputs]
        return gram


def softmax(scores: Neurons) -> Neurons:
    """Positive weights with the sum 1 over the last of five axes."""
    weights = np.exp(scores - scores.mean(axis=4, keepdims=True))
    return weights / (weights.mean(axis=4, keepdims=True) * scores.shape[4])


def root(gram: np.ndarray) -> np.ndarray:
    """Lower triangular square roots of positive semidefinite matrices, shape (..., P, P); rank deficits give zeros."""
    size = gram.shape[-1]
    factor = np.zeros_like(gram)
    for j in range(size):
        explained = np.matmul(factor[..., j:, :j], factor[..., j, :j, None])[..., 0]
        left = gram[..., j:, j] - explained
        # identical inputs leave a remainder of rounding errors, which must not be divided by
        alive = left[..., :1] > 1e-15 * gram[..., j, j, None]
        diagonal = np.sqrt(np.where(alive, left[..., :1], 1.0))
        factor[..., j:, j] = np.where(alive, left / diagonal, 0.0)
    return factor


def pair(K1: float, K2: float, C: float) -> np.ndarray:
    """The covariance matrix of two inputs."""
    return np.array([[float(K1), float(C)], [float(C), float(K2)]])
