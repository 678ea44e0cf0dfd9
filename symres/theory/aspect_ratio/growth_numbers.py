"""nu in double precision for any layer, from Hermite coefficients at a kernel that the layer preserves.

The influence of one neuron settles at ``G_k = (1 - rho^k J)^-1 A_k`` in each degree k, with the noise A given the
stream after the layer, and V grows by ``Cov(H, H) + 2 <J G H>``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sympy as sp

from ...core.atoms import Opaque
from ...core.errors import SymresError
from ...core.symbols import C_W, C_b, K, gamma
from ...functions.floats.float_averages import Values
from ...layers.layer import Layer
from ...numerics.deferred_numpy import np
from ...results.annotated_numbers import GrowthRow
from ...results.critical_point import CriticalPoint
from ..finite_width.layer_noise import CompiledLayer
from ..finite_width.layer_numbers import LayerNumbers
from ..finite_width.layer_response import LayerResponse
from .vertex_growth import FLOW_TO_ZERO, at_small_kernels

_DEGREE = 512
_DIGITS = 15  # those of floats, which the numbers become: 53 bits
GAMMAS = (0.0, *(k / 40 for k in range(1, 39)), 0.96, 0.97, 0.98, 0.99)


@dataclass(frozen=True)
class GrowthNumbers:
    """Nu at a critical point for any weight of the skip connection.

    Args:
        layer: compiled.
        place: of "K", "C_W" and "C_b" where the layer is critical: functions of gamma alone.
        factor: in front of the growth of a vertex where kernels respond by 1.
        skips: whether anything depends on gamma.
    """

    layer: CompiledLayer
    place: Mapping[str, sp.Expr]
    factor: float
    skips: bool

    def row(self, skip: float | None) -> GrowthRow:
        """Nu at a weight; None where nothing depends on it.

        Raises:
            SymresError: floating-point numbers overflow.
        """
        values = {gamma: sp.Rational(repr(skip or 0.0))}
        known = {name: float(sp.N(e.subs(values), 20)) for name, e in self.place.items()}
        numbers = {C_W: known["C_W"], C_b: known["C_b"], gamma: skip or 0.0}
        nu, second = _growth(self.layer, known["K"], numbers)
        return GrowthRow(skip, self.factor * nu, self.factor * second)


def growth_numbers(layer: Layer, point: CriticalPoint) -> GrowthNumbers | None:
    """Nu of a layer as numbers; None where parameters have no numbers, or the layer has no such growth.

    Args:
        layer: the layer.
        point: at which it is critical.
    """
    free = {s for e in (point.K, point.C_W, point.C_b) for s in sp.sympify(e).free_symbols}
    others = {*layer.parameters, *free} - {C_W, C_b, gamma, K}
    if others or point.along is not None:
        return None
    program, factor = layer.program, 1.0
    kernel: sp.Expr = point.K
    try:
        if point.K == 0:
            program, factor, kernel = at_small_kernels(program), float(FLOW_TO_ZERO), sp.Integer(1)
        elif point.K == K:
            kernel = sp.Integer(1)
        compiled = CompiledLayer(LayerResponse(program))
        place = {name: _numbers_in(e) for name, e in (("K", kernel), ("C_W", point.C_W), ("C_b", point.C_b))}
    except SymresError:
        return None
    return GrowthNumbers(compiled, place, factor, gamma in {*layer.parameters, *free})


def growth_rows(numbers: GrowthNumbers) -> list[GrowthRow]:
    """Nu for many weights of the skip connection; empty where floating-point numbers overflow."""
    places: Sequence[float | None] = GAMMAS if numbers.skips else (None,)
    try:
        return [numbers.row(place) for place in places]
    except SymresError:
        return []


def _numbers_in(expression: sp.Expr) -> sp.Expr:
    """An expression with decimals for all that gamma does not move."""
    if not expression.has(gamma):
        return expression if expression.is_Rational else sp.N(expression, _DIGITS)
    if isinstance(expression, Opaque | sp.Symbol):
        return expression
    terms = expression.args
    if expression.is_Add or expression.is_Mul:
        fixed, moved = expression.as_independent(gamma)
        terms = (fixed, *expression.func.make_args(moved))
    return expression.func(*map(_numbers_in, terms))


def _growth(layer: CompiledLayer, kernel: float, values: Mapping[sp.Symbol, float]) -> tuple[float, float]:
    """The growth of V/K^2, and that of the second Hermite component alone."""
    known: Values = dict(values)
    matrix = np.array([[kernel]])
    numbers = LayerNumbers(layer, matrix, [np.sqrt(matrix)], known)
    rho, J, found = numbers.R[0][0, 0], numbers.J, numbers.noise(_DEGREE)
    before, after = found.before[0], found.after[0]
    degrees = np.arange(1, _DEGREE + 1)
    inverse = np.linalg.inv(np.eye(2)[None] - rho ** degrees[:, None, None] * J[None])
    influence = np.einsum("kab,bk->ak", inverse, after[:, 1:])
    parts = 2 * (J @ influence)[1] * before[1, 1:]
    noise = found.covariance[0][1, 1]
    return float(noise + parts.sum()) / kernel**2, float(noise + parts[1]) / kernel**2
