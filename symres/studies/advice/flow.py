"""Kernels and Jacobians of a deep network at infinite width, in double precision."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import sympy as sp

from ...core.errors import SymresError
from ...core.symbols import C_W, C_b, K
from ...results.advice.parts import LearningRate, Origin, Path
from ...results.quantity import Status
from ...theory.finite_width.float_averages import CompiledExpressions, FunctionLibrary
from ...theory.theory import Theory

_LOST = 1e8  # a range from which on it does not matter how large it is


@dataclass(frozen=True)
class Setting:
    """Numbers for the free parameters of a layer, and the first kernel.

    Args:
        origin: where they come from.
        values: of the free parameters, by symbol.
        kernel: of the first preactivations; of a batch their variance over the inputs.
        note: the order in which settings of one origin are tried, the lowest first.
    """

    origin: Origin
    values: Mapping[sp.Symbol, float]
    kernel: float
    note: float = 0.0

    @property
    def weight(self) -> float:
        """C_W."""
        return self.values.get(C_W, math.nan)

    @property
    def bias(self) -> float:
        """C_b."""
        return self.values.get(C_b, 0.0)

    @property
    def inputs(self) -> float:
        """The mean square of the inputs for which a first dense layer gives the kernel."""
        return (self.kernel - self.bias) / self.weight

    def starting(self, kernel: float) -> Setting:
        """The same variances with another first kernel."""
        return replace(self, kernel=kernel)


class DepthFlow:
    """The maps of a layer, compiled.

    Args:
        theory: of the layer, all of whose parameters but C_W, C_b and the weights of skip and branch have numbers.
    """

    def __init__(self, theory: Theory) -> None:
        self.theory = theory
        self._maps = theory.flow_maps
        self._functions = FunctionLibrary()

    @property
    def is_known(self) -> bool:
        """Whether kernels and gradients are finite and have numbers."""
        growth, _, perp = self._maps
        unknown = any(q.status is Status.UNKNOWN for q in (growth, perp))
        return not unknown and not perp.defined.has(sp.oo, sp.zoo, sp.nan)

    @cached_property
    def _layer(self) -> CompiledExpressions:
        return CompiledExpressions([self._maps[0].defined, self._maps[2].defined], self._functions)

    @cached_property
    def _parallel(self) -> CompiledExpressions:
        return CompiledExpressions([self._maps[1].defined], self._functions)

    def step(self, values: Mapping[sp.Symbol, float], kernel: float) -> tuple[float, float]:
        """The next kernel and chi_perp; nan where they overflow."""
        if not 0 < kernel < math.inf:
            return math.nan, math.nan
        try:
            grown, perp = self._layer({**values, K: kernel})
        except SymresError:
            return math.nan, math.nan
        return float(grown), float(perp)

    def chi_parallel(self, values: Mapping[sp.Symbol, float], kernel: float) -> float:
        """dK'/dK; nan where it overflows."""
        try:
            return float(self._parallel({**values, K: kernel})[0])
        except SymresError:
            return math.nan

    def path(self, setting: Setting, depth: int, lost: float = _LOST) -> Path:
        """Kernels and Jacobians of all layers; nan from the layer on where they have changed by a factor ``lost``."""
        kernels, jacobians = [setting.kernel], [1.0]
        for _ in range(depth):
            kernel, perp = self.step(setting.values, kernels[-1])
            kernels.append(kernel)
            jacobians.append(jacobians[-1] * perp)
            if not _alive(kernels, lost) or not _alive(jacobians, lost):
                rest = depth + 1 - len(kernels)
                return Path((*kernels, *[math.nan] * rest), (*jacobians, *[math.nan] * rest))
        return Path(tuple(kernels), tuple(jacobians))

    def range(self, setting: Setting, depth: int) -> float:
        """The larger of the factors by which kernel and squared gradient change over the depth."""
        return self.path(setting, depth).range

    def learning_rate(self, setting: Setting, depth: int) -> LearningRate | None:
        """The tangent kernel of an input with itself; None for layers that average over a batch, or where it overflows.

        ``Theta = sum_l J^{l+1,L} |dz^{l+1}/dtheta^l|^2`` (Doshi et al. (37)), in the NTK parametrisation.
        """
        if self.theory.is_batch:
            return None
        norm = CompiledExpressions([self.theory.parameter_norm.defined], self._functions)
        path = self.path(setting, depth)
        try:
            own = np.array([float(norm({**setting.values, K: kernel})[0]) for kernel in path.kernels[:-1]])
        except SymresError:
            return None
        jacobians = np.array(path.jacobians)

        def tangent(layers: int) -> float:
            return float(np.sum(own[:layers] * jacobians[layers] / jacobians[1 : layers + 1]))

        found, half = tangent(depth), max(1, depth // 2)
        if not (math.isfinite(found) and found > 0 and tangent(half) > 0):
            return None
        exponent = math.log(found / tangent(half)) / math.log(depth / half) if depth > half else 0.0
        return LearningRate(found, exponent)


def _alive(values: list[float], lost: float) -> bool:
    low, high = min(values), max(values)
    return math.isfinite(high) and math.isfinite(low) and low > 0 and high <= lost * low
