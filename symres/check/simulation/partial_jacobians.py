"""Partial Jacobians of finite networks with real weights, in NumPy (forward mode) or PyTorch (autograd)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import sympy as sp

from ...core import symbols
from ...core.errors import DeclarationError
from ...core.scalars import number, parameter, whole
from ...results.subjects import Declaration
from ..arguments import GivenNumber
from ..nets.forward_walk import Forward
from ..nets.weight_net import WeightNet
from ..oracles.natural_scales import needs_batch
from .jacobian_norms import Rule, autograd, forward_mode
from .simulate import Simulation

_BACKENDS: Mapping[str, Rule] = {"numpy": forward_mode, "torch": autograd}
_ESTIMATORS = ("exact", "hutchinson")


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
    K: GivenNumber,
    *,
    depth: GivenNumber = 1,
    n: GivenNumber = 64,
    nets: GivenNumber = 100,
    estimator: str = "exact",
    backend: str = "numpy",
    seed: GivenNumber = 0,
    parameters: Mapping[str, GivenNumber] | None = None,
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
    for name, value, known in (("estimator", estimator, _ESTIMATORS), ("backend", backend, _BACKENDS)):
        if value not in known:
            raise DeclarationError(f"{name} {value!r}", f"unknown {name}", f"use {' or '.join(known)}")
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
    found = numbers.get(str(symbols.C))
    if found is None or not 0 <= found < kernel:
        said = "it has no value" if found is None else f"it is {found}"
        raise DeclarationError(
            f"C in networks of {equation}", said, "in a batch, C is the covariance of two inputs: 0 <= C < K"
        )
    return float(found)
