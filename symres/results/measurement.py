"""What an oracle finds, and what it can be asked about layers that it knows by their forward equation alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

# (observables, controls) of networks of some width, one row a network: controls have mean 0 at every width and share
# the observables' noise
Sample: TypeAlias = tuple[np.ndarray, np.ndarray]
Sampler: TypeAlias = Callable[[int, int, np.random.Generator], Sample]  # width, number of networks


@dataclass(frozen=True)
class OracleValue:
    """The oracle's number.

    Args:
        value: the number; infinite if the defining limit diverges, or where the oracle failed.
        error: estimate of its absolute error.
        scale: the natural size of the quantity, against which a small value is judged.
        remark: what the reader should know.
        diverges: whether an infinite value is what the oracle has seen, not the end of the range of doubles.
    """

    value: float
    error: float
    scale: float
    remark: str = ""
    diverges: bool = False


class LayerMeasurement(Protocol):
    """The maps of one layer at one setting of its parameters, measured.

    All are made of two moments of the next stream, ``kernel_map`` and ``covariance_map``, by their definitions.
    """

    def phi_squared(self, K: float) -> OracleValue:
        """The mean square of the layer's only activation."""

    def kernel_map(self, K: float) -> OracleValue:
        """K' = <z'^2>."""

    def covariance_map(self, K1: float, K2: float, C: float) -> OracleValue:
        """C' = <z'_1 z'_2>."""

    def slope(self, measure: Callable[[float], OracleValue], K: float) -> OracleValue:
        """The derivative of what is measured at one kernel, ``layer.chi_parallel`` for instance."""

    def chi_parallel(self, K: float) -> OracleValue:
        """dK'/dK."""

    def chi_perp(self, K: float) -> OracleValue:
        """The limit of (K' - C')/(K - C) for two inputs of equal kernel K as C -> K."""

    def h(self, K: float) -> OracleValue:
        """Half the slope of chi_perp."""

    def chi_delta(self, K: float) -> OracleValue:
        """The second order of nearby inputs."""

    def ntk_map(self, K1: float, K2: float, C: float, Theta: float) -> OracleValue:
        """The slope of C' in the correlation of the parameters of two networks."""


class NetworkMeasurement(Protocol):
    """Deep networks of finite width, simulated."""

    def vertices(self, K: float, kernels: Sequence[float]) -> Sampler:
        """N Cov(z_i^2, z_j^2) of two neurons after each layer, whose kernels at infinite width are known."""

    def kernel_fluctuations(self, K: float, kernels: Sequence[float]) -> Sampler:
        """The same of neurons that take no part in averages: n Var of the conditional kernel."""

    def responses(self, K: float, depth: int) -> Sampler:
        """dK^l/dK^0 after each layer."""
