"""The scale of the branch at which outputs respond most to the kernel of the inputs, at a given depth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy as sp
from scipy.optimize import brentq

from ...core.errors import NoClosedForm
from ...core.symbols import K
from ..finite_width.float_averages import CompiledExpressions, FunctionLibrary
from ..finite_width.float_quadrature import Array, Values
from ..observables.layer_theory import LayerTheory
from .layer_slopes import ScaleSlopes, maps_of

SCALES = 1e-3, 30.0, 46  # that are tried, in units of 1/sqrt(depth): the lowest, the highest, how many


@dataclass(frozen=True)
class OutputResponse:
    """``log chi_out`` of a deep network as a function of the scale of its branches.

    Args:
        layer: repeated.
        readout: the last layer.
        depth: number of repetitions.
        kernels: of the input: K, or K11, K12, K22.
        values: of all parameters but the scale.
        scale: the parameter that weighs the branch.
    """

    layer: LayerTheory
    readout: LayerTheory
    depth: int
    kernels: Array
    values: Values
    scale: sp.Symbol

    @cached_property
    def _slopes(self) -> tuple[ScaleSlopes, ScaleSlopes]:
        inputs = 1 if len(self.kernels) == 1 else 2
        target = 0 if inputs == 1 else 1
        return (
            ScaleSlopes(self.layer, inputs, target, self.scale),
            ScaleSlopes(self.readout, inputs, target, self.scale),
        )

    def at(self, scale: float) -> tuple[float, float]:
        """``log |chi_out|`` and its derivative."""
        values = {**self.values, self.scale: scale}
        kernels, moved = self.kernels, np.zeros(len(self.kernels))
        total = rate = 0.0
        layer, readout = self._slopes
        for slopes in (*(layer,) * self.depth, readout):
            kernels, moved, size, slope = slopes.at(kernels, moved, values)
            total, rate = total + size, rate + slope
        return total, rate

    def optimum(self) -> float:
        """The scale of the largest response.

        Raises:
            NoClosedForm: no scale between 0 and infinity makes the response largest.
        """
        scales = np.geomspace(*SCALES) / np.sqrt(max(self.depth, 1))
        rates = [self._rate(float(s)) for s in scales]
        maxima = [
            float(brentq(self._rate, low, high, xtol=1e-15, rtol=1e-14))
            for low, high, left, right in zip(scales, scales[1:], rates, rates[1:], strict=False)
            if left > 0 >= right
        ]
        if not maxima:
            falls = all(rate < 0 for rate in rates if np.isfinite(rate))
            found = "it falls with the scale: without the branch it is largest" if falls else "it has no maximum"
            raise NoClosedForm(
                f"the optimal {self.scale}",
                f"the response of the output has no interior maximum: {found}",
                "choose one",
            )
        return max(maxima, key=lambda s: self.at(s)[0])

    @property
    def _rate(self) -> Callable[[float], float]:
        return lambda s: self.at(s)[1]


def scale_for(layer: LayerTheory, target: float, depth: int, kernel: float, values: Values, scale: sp.Symbol) -> float:
    """The scale for which ``depth`` layers lead from one kernel to another.

    Raises:
        NoClosedForm: none between 0 and infinity does.
    """
    step = CompiledExpressions(maps_of(layer, 1), FunctionLibrary())

    def missing(size: float) -> float:
        found = kernel
        for _ in range(depth):
            found = float(step({**values, scale: size, K: found})[0])
        return found - target

    scales = [float(s) for s in SCALES / np.sqrt(depth)]
    signs = [missing(s) > 0 for s in scales]
    place = next((k for k in range(len(scales) - 1) if signs[k] != signs[k + 1]), None)
    if place is None:
        found = f"they go to {'larger' if signs[0] else 'smaller'} kernels whatever it is"
        asked = f"{scale} for which {depth} layers lead from K = {kernel:g} to {target:g}"
        raise NoClosedForm(asked, found, "choose one")
    return float(brentq(missing, scales[place], scales[place + 1], xtol=1e-15, rtol=1e-14))
