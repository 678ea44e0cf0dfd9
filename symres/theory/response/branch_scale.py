"""The scale of the branch at which outputs respond most to the kernel of the inputs, at a given depth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import sympy as sp

from ...core.errors import NoClosedForm
from ...core.symbols import K
from ...functions.floats.float_averages import CompiledExpressions
from ...functions.floats.float_function import Values
from ...numerics.deferred_numpy import Array, np
from ...numerics.highest import _highest_maximum, _instead_of_maximum, _surveyed
from ...results.annotated_numbers import BranchScale
from ...results.quantity import Quantity, Status
from ..observables.layer_theory import LayerTheory
from ..quantities.expansion import terms_of
from .layer_slopes import ScaleSlopes, maps_of
from .scan import number_or_end, root, rows_of, zeros

SCALES = 1e-3, 30.0, 24  # that are tried first, in units of 1/sqrt(depth): the lowest, the highest, how many
_LEAST = 1e-300  # kernels below are nothing


@dataclass(frozen=True)
class OutputResponse:
    """``chi_out`` of a deep network as a function of the scale of its branches.

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

    def at(self, scale: float) -> tuple[float, float, float]:
        """``log |chi_out|``, its derivative in the scale, and the sign of chi_out."""
        values = {**self.values, self.scale: scale}
        kernels, moved = self.kernels, np.zeros(len(self.kernels))
        total, rate, sign = 0.0, 0.0, 1.0
        layer, readout = self._slopes
        for slopes in (*(layer,) * self.depth, readout):
            kernels, moved, steep, slope = slopes.at(kernels, moved, values)
            total, rate, sign = total + np.log(abs(steep)), rate + slope, sign * np.sign(steep)
        return float(total), rate, sign

    def optimum(self) -> BranchScale:
        """The scale of the largest response.

        Raises:
            NoClosedForm: no scale between 0 and infinity makes the response largest.
        """
        scales = (np.geomspace(*SCALES) / np.sqrt(self.depth)).tolist()
        with np.errstate(all="ignore"):
            self.at(scales[0])  # what is refused at every scale says so here

        @rows_of
        def rows_at(scale: float) -> tuple[float, float]:
            size, rate, _ = self.at(scale)
            return size, scale * rate

        rows, rough = _surveyed(rows_at, scales)
        top = _highest_maximum(rows_at, rows, root)
        if found := _instead_of_maximum(rows, rough, top, self.scale.name, "without the branch"):
            raise NoClosedForm(f"the {self.scale} at which the output responds most", found, "choose a weight")
        assert top is not None
        size, _, sign = self.at(top[0])
        return BranchScale(top[0], float(sign * np.exp(size)), (rows[0][0], rows[-1][0]))


def scale_for(layer: LayerTheory, target: float, depth: int, kernel: float, values: Values, scale: sp.Symbol) -> float:
    """The scale for which ``depth`` layers lead from one kernel to another.

    Raises:
        NoClosedForm: none between 0 and infinity does.
    """
    step = CompiledExpressions(maps_of(layer, 1))

    def reached(size: float) -> float:
        found = kernel
        for _ in range(depth):
            found = float(step({**values, scale: size, K: found})[0])
        return found

    def excess(size: float) -> float:
        """``log(reached/target)``, finite where the kernel has become 0 or infinite too."""
        return float(np.log(np.clip(reached(size), _LEAST, 1 / _LEAST) / target))

    scales = (np.geomspace(*SCALES) / np.sqrt(depth)).tolist()
    with np.errstate(all="ignore"):
        reached(scales[0])  # what is refused at every scale says so here
    found = zeros(number_or_end(excess), scales)
    if not found.crossings:
        side = "larger" if found.rows[0][1] > 0 else "smaller"
        raise NoClosedForm(
            f"{scale} for which {depth} layers lead from K = {kernel:g} to {target:g}",
            f"{found.range_of(scale.name)} all final kernels are {side}",
            "ask for another final kernel",
        )
    return root(excess, *found.crossings[0])


def linear_estimate(rate: Quantity, power: int, start: float, target: float, depth: int, values: Values) -> float:
    """The scale that leads linear layers to a kernel: an estimate for activations within their linear range.

    With ``K' = K + xi^p (b_0 + b_1 K)``, the flow at small kernels, L layers lead from K_0 to F where
    ``xi^p b_1 = ((b_1 F + b_0)/(b_1 K_0 + b_0))^(1/L) - 1`` (Fischer et al. (67), and (68) for many layers).

    Args:
        rate: ``b_0 + b_1 K + ...``, the flow of the kernel for branches of weight 1.
        power: p.
        start: K_0.
        target: F.
        depth: L.
        values: of all other parameters.

    Raises:
        NoClosedForm: the flow is unknown or not linear at small kernels, or it does not lead to F.
    """
    if rate.status is Status.UNKNOWN:
        raise NoClosedForm("an estimate of the branch scale", f"the flow is unknown: {rate.reason}", "use branch_scale")
    terms = terms_of(rate, sp.Integer(1), large=False)
    if not set(terms) <= {sp.Integer(0), sp.Integer(1)}:
        raise NoClosedForm(
            "an estimate of the branch scale", "layers are not linear for small kernels", "use branch_scale"
        )
    b0, b1 = (float(terms.get(sp.Integer(k), sp.Integer(0)).subs(values)) for k in (0, 1))
    grown = ((b1 * target + b0) / (b1 * start + b0)) ** (1 / depth) - 1 if b1 else (target - start) / depth
    size = grown / (b1 or b0)
    if not size > 0:
        found = f"linear layers do not lead from K = {start:g} to {target:g}"
        raise NoClosedForm("an estimate of the branch scale", found, "ask for another final kernel")
    return float(size ** (1 / power))
