"""The oracle of simulation: finite networks of one layer, and what is observed in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ...results.observable import Sample, Sampler
from ..nets.dual_numbers import Dual
from ..nets.forward_walk import Forward
from ..nets.gram_net import GramNet, LearningNet, WeightNet, pair
from ..nets.recording_net import RecordingNet, SpectatorNet
from ..nets.torch_tensor import Tensor, torch
from .width_extrapolation import BATCH, SINGLE, Ladder

_STEP = 0.01  # relative step of K in the response; the bias of the central difference is its square
_OWN = 1.1  # the tangent kernel of an input with itself over that of two inputs
_PER_INPUT = 4  # the width over the number of inputs of a batch
_LEARNING = 2048  # networks that tell on what kernels depend
_BATCHES = Ladder(narrowest=64, rungs=3, pilots=256, neurons=2e4, coarseness=_PER_INPUT, glance=(64, 256), ease=2.0)
# fluctuations of small covariances say nothing of corrections: heads, their dimensions and overlaps of tokens make them
_SEQUENCES = replace(_BATCHES, pilots=128, spread=4.0, most=6e5)
Rule = Callable[[Forward, GramNet, np.ndarray, int, bool, np.random.Generator], np.ndarray]  # of squared Jacobian norms


def forward_mode(
    layer: Forward, net: GramNet, z: np.ndarray, depth: int, exact: bool, rng: np.random.Generator
) -> np.ndarray:
    """(1/n) sum_ij (d z^l_i / d z_j)^2 for l = 1..depth, from tangents that walk with the neurons.

    Args:
        layer: the forward equation.
        net: the network, which draws the layers.
        z: the first stream, (nets, n, inputs); the result is an average over the inputs of derivatives in the own one.
        depth: number of layers.
        exact: all n directions j; else one direction with entries +-1, whose average is the same (Hutchinson).
        rng: source of the signs: those of different inputs are independent, so that only the own input adds up.

    Returns:
        Shape (nets, depth).
    """
    nets, n, inputs = z.shape
    neurons = Dual(z, _signs(rng, nets, 1, inputs, 1) * np.eye(n)[:, None] if exact else _signs(rng, *z.shape, 1))
    norms = []
    for _ in range(depth):
        neurons = layer(net, neurons)
        norms.append(np.square(neurons.tangent).sum(axis=3).mean(axis=(1, 2)))
    return np.stack(norms, axis=1)


def autograd(
    layer: Forward, net: GramNet, z: np.ndarray, depth: int, exact: bool, rng: np.random.Generator
) -> np.ndarray:
    """The norms of ``forward_mode`` by PyTorch: gradients of a later stream's neurons, or of one signed sum of them.

    Args, returns: as for ``forward_mode``.
    """
    t = torch()
    first = t.from_numpy(z).requires_grad_()
    neurons = Tensor(first)
    norms = []
    for _ in range(depth):
        neurons = layer(net, neurons)
        nets, n, inputs = neurons.shape
        signs = _signs(rng, nets, 1, inputs) * np.eye(n)[:, None, :, None] if exact else _signs(rng, 1, nets, n, inputs)
        (gradients,) = t.autograd.grad(
            neurons.data, first, t.from_numpy(signs), retain_graph=True, is_grads_batched=True
        )
        norms.append((gradients**2).sum(dim=(0, 2)).mean(dim=1).numpy() / n)
    return np.stack(norms, axis=1)


class Simulation:
    """Finite networks of one layer at one setting of its parameters.

    A layer that averages over a batch gets a batch of n/4 inputs: one extrapolation in 1/n removes what the finite
    width adds and what the finite batch adds. Observables are averaged over the batch. So they are over the positions
    of a sequence, of which there are as many, unless their number is finite.

    Args:
        forward: the layer's forward equation with numbers.
        net: the class of networks: drawn from Gram matrices, or from weights.
        shared: where the inputs are a batch, or positions, the covariance of any two of them in the first stream.
        positions: in a sequence, maybe infinitely many; None if inputs have no positions.
    """

    def __init__(
        self,
        forward: Forward,
        net: type[GramNet] = GramNet,
        shared: float | None = None,
        positions: float | None = None,
    ) -> None:
        self._forward = forward
        self._net = net
        self._shared = shared
        self._positions = positions

    @property
    def ladder(self) -> Ladder:
        """The widths at which networks of this layer are simulated."""
        return SINGLE if self._shared is None else _BATCHES if self._positions is None else _SEQUENCES

    def with_weights(self) -> Simulation:
        """The same with networks that draw their weights."""
        return Simulation(self._forward, WeightNet, self._shared, self._positions)

    def kernels(self, K1: float, K2: float, C: float, depth: int) -> Sampler:
        """Observables (1/n) sum_i z_i^2 of the first input and (1/n) sum_i z_i1 z_i2, for each of ``depth`` layers.

        Of a batch, in which K1 and K2 are one kernel and C is ``shared`` whatever is passed, all inputs and all pairs.
        """

        def sample(n: int, nets: int, rng: np.random.Generator) -> Sample:
            net = self._drawing(n, rng)
            if self._shared is None:
                z, moments, expected = net.stream(nets, pair(K1, K2, C)), _moments, [K1, C, K2]
            else:
                z, moments, expected = self._inputs(net, nets, K1), _batch_moments, [K1, self._shared]
            controls = moments(z) - np.array(expected)
            observed = []
            for _ in range(depth):
                z = self._forward(net, z)
                observed.append(moments(z)[:, :2])
            return np.concatenate(observed, axis=1), controls

        return self._in_parts(sample)

    def vertices(self, K: float, kernels: Sequence[float]) -> Sampler:
        """Observables ``n (z_i^2 - K^l) (z_j^2 - K^l)``, over all pairs of different neurons, for each layer l.

        Their averages over networks are n Cov(z_i^2, z_j^2), up to the order 1/n^2 of the distance of the mean kernel
        from K^l, times n.

        Args:
            K: kernel of the first stream.
            kernels: of the streams that follow at infinite width, one for each layer.
        """
        return self._covariances(K, kernels, RecordingNet)

    def kernel_fluctuations(self, K: float, kernels: Sequence[float]) -> Sampler:
        """Observables ``n (K_C^l - K^l)^2`` of the conditional kernel, that of a neuron given all averages."""
        return self._covariances(K, kernels, SpectatorNet)

    def _covariances(self, K: float, kernels: Sequence[float], kind: type[RecordingNet]) -> Sampler:
        slopes: dict[int, np.ndarray] = {}  # by width: of the kernels in what is known, from other networks

        def walked(n: int, nets: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            """Products of different neurons, kernels, and averages of known law."""
            net = kind(n, rng)
            z = net.stream(nets, np.array([[K]]))
            pairs, means = [], []
            for kernel in kernels:
                z = self._forward(net, z)
                of_pairs, of_all = net.fluctuation(z, kernel)
                pairs.append(of_pairs)
                means.append(of_all)
            return np.stack(pairs, axis=1), np.stack(means, axis=1), net.averages()

        def sample(n: int, nets: int, rng: np.random.Generator) -> Sample:
            if n not in slopes:
                _, means, known = walked(n, _LEARNING, rng)
                slopes[n] = np.linalg.lstsq(known - known.mean(axis=0), means - means.mean(axis=0), rcond=1e-10)[0]
            pairs, _, known = walked(n, nets, rng)
            # n (mean kernel)^2 is most of what scatters, and its known part has a known mean
            squares = np.square(known @ slopes[n]) - np.square(slopes[n]).sum(axis=0)
            return pairs, np.concatenate([known, squares], axis=1)

        return self._in_parts(sample)

    def chi_parallel(self, K: float) -> Sampler:
        """Observable [K'(K + step) - K'(K - step)]/(2 step), the same random numbers at both kernels."""
        return self._differences(K, 1, lambda z: _norm(z) - 1)

    def responses(self, K: float, depth: int) -> Sampler:
        """Observables [K^l(K + step) - K^l(K - step)]/(2 step) after each layer, the same random numbers at both."""
        return self._differences(K, depth, _hermite)

    def _differences(self, K: float, depth: int, control: Callable[[np.ndarray], np.ndarray]) -> Sampler:
        """Slopes of kernels after each layer; controls are of the first stream in units of its deviation."""
        step = _STEP * (K - (self._shared or 0.0))

        def sample(n: int, nets: int, rng: np.random.Generator) -> Sample:
            seed, results = int(rng.integers(2**62)), []
            for kernel in (K - step, K + step):
                net = self._drawing(n, np.random.default_rng(seed))
                z, kernels = self._inputs(net, nets, kernel), []
                controls = control(z / np.sqrt(kernel))
                for _ in range(depth):
                    z = self._forward(net, z)
                    kernels.append(_norm(z))
                results.append(np.concatenate(kernels, axis=1))
            return (results[1] - results[0]) / (2 * step), controls

        return self._in_parts(sample)

    def chi_perp(self, K: float, nearness: float) -> Sampler:
        """Observable (K' - C')/(K - C) of two inputs, which differ by little, from differences of neurons.

        Their K - C is ``nearness`` times the kernel; of a batch, times what single inputs do not share.
        """
        alone = K - (self._shared or 0.0)

        def sample(n: int, nets: int, rng: np.random.Generator) -> Sample:
            net = self._drawing(n, rng)
            z, private = self._parts(net, nets, K)
            apart = self._parts(net, nets, 2 * nearness * alone + (self._shared or 0.0))[1]
            # z_2 = z_1 (1 - nearness) + ..., built from the difference: no digits are lost
            second = z - private * nearness + apart * np.sqrt(1 - nearness / 2)
            both = np.concatenate([z, second], axis=2)
            controls = np.concatenate([_norm(z) / K - 1, _ratio(both, nearness * alone) - 1], axis=1)
            return _ratio(self._forward(net, both), nearness * alone), controls

        return self._in_parts(sample)

    def jacobians(self, K: float, depth: int, exact: bool = False, rule: Rule = forward_mode) -> Sampler:
        """Observables (1/n) sum_ij (d z^l_i / d z^0_j)^2, the APJN, for l = 1..``depth``.

        Args:
            K: kernel of the first stream.
            depth: number of layers.
            exact: all n^2 derivatives, or their squares along a random direction.
            rule: how they are taken.
        """

        def sample(n: int, nets: int, rng: np.random.Generator) -> Sample:
            net = self._drawing(n, rng)
            z = self._inputs(net, nets, K)
            # the signs have a generator of their own: with one seed, all rules see the same networks
            norms = rule(self._forward, net, z, depth, exact, rng.spawn(1)[0])
            return norms, _hermite(z / np.sqrt(K))

        return self._in_parts(sample, lambda n: n if exact else 1)

    def tangent_kernel(self, K1: float, K2: float, C: float, Theta: float) -> Sampler:
        """Observable (1/n) sum_i dz_i1 dz_i2 after a layer, for a change d of all weights and biases, as drawn.

        Of a batch, in which K1 and K2 are one kernel and C is ``shared``, over all pairs of inputs.

        Args:
            K1: kernel of the first input.
            K2: kernel of the second.
            C: their covariance.
            Theta: (1/n) sum_i dz_i1 dz_i2 before the layer.
        """
        return self._learning(K1, np.array([[K1, C], [C, K2]]), np.array([[_OWN, 1.0], [1.0, _OWN]]) * Theta)

    def parameter_norm(self, K: float) -> Sampler:
        """Observable (1/n) sum_i (dz_i)^2 after a layer, for a change d of its weights and biases, as drawn."""
        return self._learning(K, np.array([[K]]), np.zeros((1, 1)))

    def _learning(self, K: float, covariance: np.ndarray, tangents: np.ndarray) -> Sampler:
        """The product of the first and the last input's tangents; of a batch, of all pairs or of all inputs."""
        both = len(covariance) - 1

        def product(x: np.ndarray) -> np.ndarray:
            return (x[..., 0] * x[..., -1]).mean(axis=1) if self._shared is None else _batch_moments(x)[:, both]

        def sample(n: int, nets: int, rng: np.random.Generator) -> Sample:
            net = LearningNet(n, rng, self._drawing(n, rng).positions)
            if self._shared is None:
                z, t = net.stream(nets, covariance), net.stream(nets, tangents)
            else:
                z = self._inputs(net, nets, K)
                common = tangents[0, -1] if both else 0.0
                t = np.sqrt(tangents[0, 0] - common) * rng.standard_normal(z.shape)
                t += net.stream(nets, np.array([[common]]))
            neurons = self._forward(net, Dual(z, t[..., None]))
            expected = covariance[0, -1], tangents[0, -1]
            controls = np.stack([product(z), product(t)], axis=1) - np.array(expected)
            return product(neurons.tangent[..., 0])[:, None], controls

        return self._in_parts(sample, lambda n: 2)

    def changes(self, K: float, t: float, s: float, depth: int) -> Sampler:
        """Observables (1/n) sum_i (dz_i)^2 and (1/n) sum_i dz_i dz'_i after each layer, over positions and their pairs.

        Args:
            K: kernel of the first stream.
            t: (1/n) sum_i (dz_i)^2 before the first layer.
            s: (1/n) sum_i dz_i dz'_i of two positions there, from 0 to t.
            depth: number of layers.
        """

        def sample(n: int, nets: int, rng: np.random.Generator) -> Sample:
            net = self._drawing(n, rng)
            z = self._inputs(net, nets, K)
            # of changes only second moments matter, in which signs scatter less than Gaussian numbers
            dz = np.sqrt(t - s) * _signs(rng, *z.shape) + np.sqrt(s) * _signs(rng, nets, n, 1)
            controls = [_batch_moments(z) - np.array([K, self._shared]), _batch_moments(dz) - np.array([t, s])]
            neurons, observed = Dual(z, dz[..., None]), []
            for _ in range(depth):
                neurons = self._forward(net, neurons)
                observed.append(_batch_moments(neurons.tangent[..., 0]))
            return np.concatenate(observed, axis=1), np.concatenate(controls, axis=1)

        return self._in_parts(sample, lambda n: 2)

    def sequences(self, each: Sequence[tuple[float, float]], both: tuple[float, float]) -> Sampler:
        """Observables (1/n) sum_i z_i z'_i of two sequences after a layer, at one position and at two.

        Args:
            each: of each sequence the kernel, and the covariance of two positions, before the layer.
            both: of the two sequences the covariances at one position and at two.
        """

        def sample(n: int, nets: int, rng: np.random.Generator) -> Sample:
            net = self._drawing(n, rng)
            (first, second), mixed = (
                (_exchangeable(*pair, net.positions) for pair in each),
                _exchangeable(*both, net.positions),
            )
            z = net.stream(nets, np.block([[first, mixed], [mixed, second]]))
            controls = np.stack([_batch_moments(x)[:, k] for x in np.split(z, 2, axis=2) for k in (0, 1)], axis=1)
            controls = np.concatenate([controls, _crossed(z)], axis=1) - np.array([*each[0], *each[1], *both])
            return _crossed(self._forward(net, z)), controls

        return self._in_parts(sample, lambda n: 2)

    def _drawing(self, n: int, rng: np.random.Generator) -> GramNet:
        return self._net(n, rng, 1 if self._positions is None else self._size(n))

    def _inputs(self, net: GramNet, nets: int, K: float) -> np.ndarray:
        return self._parts(net, nets, K)[0]

    def _parts(self, net: GramNet, nets: int, K: float) -> tuple[np.ndarray, np.ndarray]:
        """One input, or the inputs of a batch, and of these what is not shared; shape (nets, n, inputs)."""
        if self._shared is None:
            z = net.stream(nets, np.array([[K]]))
            return z, z
        size = self._size(net.n)
        private = np.sqrt(K - self._shared) * net.rng.standard_normal((nets, net.n, size))
        if self._shared >= 0:
            return private + net.stream(nets, np.array([[self._shared]])), private
        # less of the average over all than they have
        less = 1 - np.sqrt(1 + size * self._shared / (K - self._shared))
        return private - less * private.mean(axis=2, keepdims=True), private

    def _size(self, n: int) -> int:
        if self._positions is not None and np.isfinite(self._positions):
            return int(self._positions)
        return 1 if self._shared is None else max(2, n // _PER_INPUT)

    def _in_parts(self, sampler: Sampler, columns: Callable[[int], int] = lambda n: 1) -> Sampler:
        """The sampler, which walks no more networks at a time than memory wants."""

        def sample(n: int, nets: int, rng: np.random.Generator) -> Sample:
            most = max(1, BATCH // (n * self._size(n) * columns(n)))
            parts = [sampler(n, min(most, nets - done), rng) for done in range(0, nets, most)]
            observed, controls = zip(*parts, strict=True)
            return np.concatenate(observed), np.concatenate(controls)

        return sample


def _signs(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(0, 2, shape) * 2.0 - 1.0


def _moments(z: np.ndarray) -> np.ndarray:
    first, second = z[..., 0], z[..., 1]
    return np.stack([(a * b).mean(axis=1) for a, b in ((first, first), (first, second), (second, second))], axis=1)


def _batch_moments(z: np.ndarray) -> np.ndarray:
    """The kernel, over all inputs, and the covariance, over all pairs."""
    inputs = z.shape[2]
    squares = np.square(z).sum(axis=2)
    mixed = (np.square(z.sum(axis=2)) - squares) / (inputs * (inputs - 1))
    return np.stack([(squares / inputs).mean(axis=1), mixed.mean(axis=1)], axis=1)


def _crossed(z: np.ndarray) -> np.ndarray:
    """The covariance of two sequences, over all positions and over all pairs of different ones."""
    first, second = np.split(z, 2, axis=2)
    positions = first.shape[2]
    same = (first * second).sum(axis=2)
    mixed = (first.sum(axis=2) * second.sum(axis=2) - same) / (positions * (positions - 1))
    return np.stack([(same / positions).mean(axis=1), mixed.mean(axis=1)], axis=1)


def _exchangeable(same: float, other: float, size: int) -> np.ndarray:
    return (same - other) * np.eye(size) + other


def _norm(z: np.ndarray) -> np.ndarray:
    return np.square(z).mean(axis=(1, 2))[:, None]


def _hermite(z: np.ndarray) -> np.ndarray:
    """Averages of the Hermite polynomials 1 to 4, which are 0 for neurons of variance 1."""
    square = np.square(z)
    polynomials = (z, square - 1, z * (square - 3), square * (square - 6) + 3)
    return np.stack([p.mean(axis=(1, 2)) for p in polynomials], axis=1)


def _ratio(z: np.ndarray, apart: float) -> np.ndarray:
    """From the first half of the inputs and the second, which differ by little."""
    half = z.shape[2] // 2
    return _norm(z[..., half:] - z[..., :half]) / (2 * apart)
