"""Witnesses that are networks: finite ones, extrapolated to infinite width, from the forward equation alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from ..check.nets.forward_walk import Forward
from ..check.simulation.simulate import Simulation
from ..check.simulation.width_extrapolation import Budget, Sampler, extrapolated
from ..layers.layer import Layer

_SEED = 1
_PRECISION = 0.002  # relative standard error: of errata that are off by a per cent or more


@dataclass(frozen=True)
class Networks:
    """Random networks of a layer with numbers for its parameters.

    Args:
        layer: of all layers.
        values: of its parameters, by name.
        shared: covariance of two inputs of a batch; None without one.
    """

    layer: Layer
    values: Mapping[str, Any]
    shared: float | None = None

    def kernel(self, K: float, depth: int = 1) -> float:
        """Of the stream after some layers."""
        return self._at(self._simulation.kernels(float(K), float(K), 0.0, int(depth)), 2 * int(depth) - 2)

    def covariance(self, K1: float, K2: float, C: float, depth: int = 1) -> float:
        """Of two inputs after some layers."""
        return self._at(self._simulation.kernels(float(K1), float(K2), float(C), int(depth)), 2 * int(depth) - 1)

    def chi_parallel(self, K: float) -> float:
        """The slope of the kernel map."""
        return self._at(self._simulation.chi_parallel(float(K)), 0)

    def jacobian(self, K: float, depth: int = 1) -> float:
        """The averaged partial Jacobian norm from the input to a layer; after one layer chi_perp."""
        return self._at(self._simulation.jacobians(float(K), int(depth)), int(depth) - 1)

    def vertex(self, kernels: list[Any]) -> float:
        """The four-point vertex ``n Cov(z_i^2, z_j^2)`` behind layers with these kernels at infinite width."""
        start, *others = map(float, kernels)
        return self._at(self._simulation.vertices(start, others), len(others) - 1)

    def kernel_fluctuation(self, kernels: list[Any]) -> float:
        """The variance of the conditional kernel, times n."""
        start, *others = map(float, kernels)
        return self._at(self._simulation.kernel_fluctuations(start, others), len(others) - 1)

    def parameter_norm(self, K: float) -> float:
        """Squared changes of neurons for a change of all parameters of a layer, as drawn."""
        return self._at(self._simulation.parameter_norm(float(K)), 0)

    @cached_property
    def _simulation(self) -> Simulation:
        numbers = {s: self.values[s.name] for s in self.layer.parameters if s.name in self.values}
        return Simulation(Forward(self.layer.forward, numbers), shared=self.shared)

    def _at(self, sampler: Sampler, position: int) -> float:
        sizes: Callable[[np.ndarray], np.ndarray] = lambda means: np.maximum(np.abs(means), 1e-3)  # noqa: E731
        found = extrapolated(sampler, sizes, np.random.default_rng(_SEED), Budget(precision=_PRECISION))
        return float(found.values[position])


def networks(layer: Layer, shared: Any = None, **values: Any) -> Networks:
    """Random networks of a layer, numbers for its parameters by name."""
    numbers = {name: sp.sympify(value) for name, value in values.items()}
    return Networks(layer, numbers, None if shared is None else float(shared))
