"""Finite networks along their depth.

Partial Jacobians of networks with real weights, in NumPy (forward mode) or PyTorch (autograd); kernels and squared
gradients of single networks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import sympy as sp

from ...core import symbols
from ...core.errors import DeclarationError
from ...core.scalars import Number, number, parameter, whole
from ...results.subjects import Declaration
from ..nets.dual_numbers import Dual
from ..nets.forward_walk import Forward
from ..nets.gram_net import GramNet, WeightNet
from ..oracles.natural_scales import needs_batch
from .simulate import Rule, Simulation, autograd, forward_mode

_BACKENDS: Mapping[str, Rule] = {"numpy": forward_mode, "torch": autograd}
_ESTIMATORS = ("exact", "hutchinson")
_NUMBERS = 2**24  # neurons and tangents of all networks at a time
_LOST = np.log(1e12)
_BATCH = 32  # inputs of a layer that averages over them


@dataclass(frozen=True)
class PartialJacobians:
    """The norm J^{0,l} = (1/n) sum_ij (d z^l_i / d z^0_j)^2 for l = 1..depth in some networks.

    Args:
        samples: (nets, depth), dimensionless: what each network has.
    """

    samples: np.ndarray

    @property
    def apjn(self) -> np.ndarray:
        """The averages over the networks, shape (depth,)."""
        return self.samples.mean(axis=0)

    @property
    def errors(self) -> np.ndarray:
        """Standard errors of the averages, shape (depth,); the width adds a bias of relative order depth/n."""
        return self.samples.std(axis=0, ddof=1) / np.sqrt(len(self.samples))


def simulate_jacobian(
    forward: Declaration | sp.Expr,
    K: Number,
    *,
    depth: Number = 1,
    n: Number = 64,
    nets: Number = 100,
    estimator: str = "exact",
    backend: str = "numpy",
    seed: Number = 0,
    parameters: Mapping[str, Number] | None = None,
) -> PartialJacobians:
    """The averaged partial Jacobian norm (APJN) of networks of equal layers with real Gaussian weights.

    Every network draws its weights and biases by NumPy, so that with one seed both backends differentiate the same
    networks: NumPy along directions in the first stream (forward mode), PyTorch from the last stream back (autograd).

    Args:
        forward: a layer, or its forward equation.
        K: kernel of the first stream, whose neurons are independent Gaussian.
        depth: number of layers.
        n: width of the stream.
        nets: number of networks.
        estimator: "exact", all n^2 derivatives; or "hutchinson", the square of one random combination with
            coefficients +-1, which has the same average.
        backend: "numpy" or "torch".
        seed: of all random numbers.
        parameters: numbers for the symbols of the layer, by name. For a layer that averages over a batch also C, the
            covariance of two inputs, and the result is an average over ``max(2, n // 4)`` inputs.

    Returns:
        The norms, network by network and layer by layer.

    Valid when:
        activations are differentiable but at isolated points; delta functions of jumps are no part of a derivative.

    Raises:
        DeclarationError: an argument that is no number or no name of the above, or a symbol without a number.
        SymresError: PyTorch is not installed, or a function that it does not have.

    Source:
        Doshi et al. (3); at infinite width the product of chi_perp at the kernels on the way (10), at a fixed point an
        exponential with the correlation length (14).
    """
    for name, value, names in (("estimator", estimator, _ESTIMATORS), ("backend", backend, _BACKENDS)):
        if value not in names:
            raise DeclarationError(f"{name} {value!r}", f"unknown {name}", f"use {' or '.join(names)}")
    equation = forward if isinstance(forward, sp.Expr) else forward.forward
    kernel, layers = parameter(K, "K"), whole(depth, "depth", 1)
    width, networks, start = whole(n, "n", 1), whole(nets, "nets", 2), whole(seed, "seed", 0)
    numbers = {str(name): number(value, str(name)) for name, value in (parameters or {}).items()}
    values = {s: numbers[str(s)] for s in equation.free_symbols if str(s) in numbers and s is not symbols.z}
    walked = Forward(equation, values)
    shared = _shared(equation, numbers, kernel) if needs_batch(equation, values, start, numbers) else None
    simulation = Simulation(walked, WeightNet, shared)
    sampler = simulation.jacobians(float(kernel), layers, estimator == "exact", _BACKENDS[backend])
    return PartialJacobians(sampler(width, networks, np.random.default_rng(start))[0])


def _shared(equation: sp.Expr, numbers: Mapping[str, sp.Expr], kernel: sp.Expr) -> float:
    covariance = numbers.get(str(symbols.C))
    if covariance is None or not 0 <= covariance < kernel:
        said = "it has no value" if covariance is None else f"it is {covariance}"
        remedy = "in a batch, C is the covariance of two inputs: 0 <= C < K"
        raise DeclarationError(f"C in networks of {equation}", said, remedy)
    return float(covariance)


def depth_paths(
    layer: Declaration,
    values: Mapping[sp.Symbol, float],
    kernel: float,
    depth: int,
    width: int,
    networks: int,
    seed: int = 0,
    batch: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Networks of equal layers, drawn one by one.

    Args:
        layer: the declaration.
        values: numbers for all of its parameters.
        kernel: of the first stream, whose neurons are independent Gaussian.
        depth: number of layers.
        width: of the stream.
        networks: how many.
        seed: of all random numbers.
        batch: whether the layer averages over inputs: then there are 32 independent ones.

    Returns:
        ``K^l`` and ``J^{0,l}`` for l = 0..depth, each of shape (networks, depth + 1). The Jacobian norm is that along
        one random direction (Hutchinson), averaged over the inputs. A network is left, and has nan from there on, once
        one of both has changed by a factor of 1e12.

    Raises:
        UnsupportedLayer: a parameter without a number, or a function that has no rule in networks.

    Source:
        Doshi et al. (3).
    """
    forward = Forward(layer.forward, {s: sp.Float(v, 17) for s, v in values.items()})
    inputs = _BATCH if batch else 1
    most = max(1, _NUMBERS // (width * inputs * 2))
    parts = []
    for start in range(0, networks, most):
        count, rng = min(most, networks - start), np.random.default_rng([seed, start])
        parts.append(_walked(forward, kernel, depth, width, inputs, count, rng))
    kernels, jacobians = zip(*parts, strict=True)
    return np.concatenate(kernels), np.concatenate(jacobians)


def _walked(
    forward: Forward, kernel: float, depth: int, width: int, inputs: int, networks: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    net = GramNet(width, rng)
    first = np.sqrt(kernel) * rng.standard_normal((networks, width, inputs))
    neurons = Dual(first, rng.integers(0, 2, (*first.shape, 1)) * 2.0 - 1.0)
    paths = np.full((2, networks, depth + 1), np.nan)
    left = np.arange(networks)  # functions of huge numbers are slow
    with np.errstate(all="ignore"):
        for place in range(depth + 1):
            if place:
                neurons = forward(net, neurons)
            paths[0, left, place] = np.square(neurons.value).mean(axis=(1, 2))
            paths[1, left, place] = np.square(neurons.tangent).sum(axis=3).mean(axis=(1, 2))
            change = np.abs(np.log(paths[:, left, place] / paths[:, left, 0]))
            alive = np.all(change < _LOST, axis=0)
            if not alive.all():
                left, neurons = left[alive], Dual(neurons.value[alive], neurons.tangent[alive])
            if not len(left):
                break
    return paths[0], paths[1]
