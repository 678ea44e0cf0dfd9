"""Kernels and Jacobians of a deep network at infinite width, in double precision; what customary schemes do to them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import sympy as sp

from ...core.errors import SymresError
from ...core.symbols import C_W, C_b, K, gamma, xi
from ...functions.floats.float_averages import CompiledExpressions
from ...layers.nodes import Dense
from ...numerics.deferred_numpy import np
from ...results.advice.parts import LearningRate, Origin, Path, UsualScheme
from ...results.quantity import Status
from ...theory.theory import Theory

_LOST = 1e8  # a range from which on it does not matter how large it is


@dataclass(frozen=True)
class Setting:
    """Numbers for the free parameters of a layer, and the first kernel."""

    origin: Origin  # where they come from
    values: Mapping[sp.Symbol, float]  # of the free parameters, by symbol
    kernel: float  # of the first preactivations; of a batch their variance over the inputs
    note: float = 0.0  # the order in which settings of one origin are tried, the lowest first

    def starting(self, kernel: float) -> Setting:
        """The same variances with another first kernel."""
        return replace(self, kernel=kernel)


class DepthFlow:
    """The maps of a layer, compiled, of which all but C_W, C_b and the weights of skip and branch have numbers."""

    def __init__(self, theory: Theory) -> None:
        self.theory = theory
        self._maps = theory.flow_maps

    @property
    def is_known(self) -> bool:
        """Whether kernels and gradients are finite and have numbers."""
        growth, _, perp = self._maps
        unknown = any(q.status is Status.UNKNOWN for q in (growth, perp))
        return not unknown and not perp.defined.has(sp.oo, sp.zoo, sp.nan)

    def variances(self, values: Mapping[sp.Symbol, float]) -> tuple[float | None, float | None]:
        """C_W and C_b, chosen or as the layer gives them; None where it has no dense layer, or they differ."""
        weight, bias = (values.get(symbol, self._declared[position]) for position, symbol in enumerate((C_W, C_b)))
        return weight, bias

    @cached_property
    def _declared(self) -> tuple[float | None, float | None]:
        """The numbers that all dense layers have for C_W and C_b."""
        draws = self.theory.layer.forward.atoms(Dense)
        variances = [{node.args[position] for node in draws} for position in (1, 2)]
        weight, bias = (float(next(iter(s))) if len(s) == 1 and next(iter(s)).is_number else None for s in variances)
        return weight, bias

    @cached_property
    def _layer(self) -> CompiledExpressions:
        return CompiledExpressions([self._maps[0].defined, self._maps[2].defined])

    @cached_property
    def _parallel(self) -> CompiledExpressions:
        return CompiledExpressions([self._maps[1].defined])

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
                lost_layers = [math.nan] * (depth + 1 - len(kernels))
                return Path((*kernels, *lost_layers), (*jacobians, *lost_layers))
        return Path(tuple(kernels), tuple(jacobians))

    def range(self, setting: Setting, depth: int) -> float:
        """The larger of the factors by which kernel and squared gradient change over the depth."""
        return self.path(setting, depth).range

    def learning_rate(self, setting: Setting, depth: int) -> LearningRate | None:
        """The tangent kernel of an input with itself; None for layers that average over a batch, or where it overflows.

        ``Theta = sum_l J^{l+1,L} |dz^{l+1}/dtheta^l|^2`` (Doshi et al. (37)), in the NTK parametrisation.
        """
        if self.theory.has_covariance:
            return None
        norm = CompiledExpressions([self.theory.parameter_norm.defined])
        deepest = max(depth, 2)  # one layer does not show how the tangent kernel grows
        path = self.path(setting, deepest)
        try:
            norms = np.array([float(norm({**setting.values, K: kernel})[0]) for kernel in path.kernels[:-1]])
        except SymresError:
            return None
        jacobians = np.array(path.jacobians)

        def tangent(layers: int) -> float:
            return float(np.sum(norms[:layers] * jacobians[layers] / jacobians[1 : layers + 1]))

        whole, half = tangent(deepest), tangent(deepest // 2)
        if not (math.isfinite(whole) and whole > 0 and half > 0):
            return None
        return LearningRate(tangent(depth), math.log(whole / half) / math.log(deepest / (deepest // 2)))


def _alive(values: list[float], lost: float) -> bool:
    low, high = min(values), max(values)
    return math.isfinite(high) and math.isfinite(low) and low > 0 and high <= lost * low


_KEPT = 1e-9  # relative change of a kernel that is kept
_INFINITE = 1e250  # close to the end of double precision


def usual_schemes(flow: DepthFlow, depth: int, width: int) -> tuple[UsualScheme, ...]:
    """PyTorch's default, LeCun's and He's, for inputs of mean square 1; empty where C_W and C_b are not both free."""
    free = set(flow.theory.layer.parameters)
    if not {C_W, C_b} <= free:
        return ()
    others = {s: 1.0 for s in (gamma, xi) if s in free}
    # PyTorch draws weights and biases uniformly with variance 1/(3 fan_in)
    schemes = (("PyTorch's default", 1 / 3, 1 / (3 * width)), ("LeCun's", 1.0, 0.0), ("He's", 2.0, 0.0))
    rows = []
    for name, weight, bias in schemes:
        values = {**others, C_W: weight, C_b: bias}
        path = flow.path(Setting(Origin.GIVEN, values, weight + bias), depth, _INFINITE)
        grown, perp = flow.step(values, 1.0)
        parallel = flow.chi_parallel(values, 1.0)
        # where every kernel is kept, or every one becomes 1, that K = 1 stays is no property of the activation
        kept = abs(grown - 1) < _KEPT < min(abs(parallel - 1), abs(parallel))
        fixed = (parallel, perp) if kept else None
        last = (path.kernels[-1] / path.kernels[0], path.jacobians[-1])
        rows.append(UsualScheme(name, weight, bias, *last, {s.name: v for s, v in others.items()}, fixed))
    return tuple(rows)
