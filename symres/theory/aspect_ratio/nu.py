"""nu(gamma) and the optimal aspect ratio of a layer as quantities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import sympy as sp

from ...core.errors import NoClosedForm, UnsupportedLayer
from ...core.proof import Proof
from ...core.symbols import C_W, C_b, K, gamma, n_L
from ...gaussian.algebra.canonical import canonical
from ...layers.program import Program
from ...notation.factors import tidy_factors
from ...results.critical_point import CriticalPoint
from ...results.quantity import NamedStep, Quantity, Status
from ..criticality.vanishing_kernel import without_bias
from ..quantities.build import build, unknown
from ..quantities.expansion import powers_of_kernel
from .limits_of_nu import expansion, expansion_of_ratio
from .vertex_growth import FLOW_TO_ZERO, StationaryNoise, growth_at_zero

_MEANING = {
    "neutral": "growth of the four-point vertex over the squared kernel, per layer of deep networks",
    "half-stable": "growth of the four-point vertex over the squared kernel, per layer of deep networks at K = K*",
    "stable": "growth of the four-point vertex over the squared kernel, per layer of deep networks where K flows to 0",
}
SKIPS = ((gamma, -1, 1),)  # skip weights at which kernels neither explode nor stay for ever


def nu(program: Program, points: Sequence[CriticalPoint], parameters: Sequence[sp.Symbol]) -> Quantity:
    """The growth of V/K^2 for each layer of deep networks at the critical point that names the universality class.

    Args:
        program: the layer.
        points: its critical points, the most useful first.
        parameters: of the layer.
    """
    point = useful_point(points)
    if point is None:
        return unknown("nu", (gamma,), "no kernel is critical at any C_W and C_b")
    values = {C_W: point.C_W, C_b: point.C_b}
    left = tuple(s for s in parameters if s not in (C_W, C_b))
    try:
        if point.K == 0:
            definition = FLOW_TO_ZERO * growth_at_zero(program, values)
        elif point.K == K:  # kernels of any size are alike
            definition = StationaryNoise(program, {**values, K: sp.Integer(1)}).growth
        else:
            definition = StationaryNoise(program, {**values, K: point.K}).growth / point.K**2
    except (NoClosedForm, UnsupportedLayer) as error:
        return unknown("nu", (gamma,), error.found)
    found = build(
        "nu",
        (gamma,) if definition.has(gamma) else (),
        definition,
        meaning=_MEANING[point.stability],
        parameters=tuple(dict.fromkeys((gamma, *left))),
        within=SKIPS,
    )
    return replace(found, expansion=expansion)


def vertex_limit(program: Program, kernel_map: Quantity, chi: Quantity, parameters: Sequence[sp.Symbol]) -> Quantity:
    """``V/K^2`` of an infinitely deep network whose kernel settles because chi_parallel is a number below 1.

    Args:
        program: the layer.
        kernel_map: K'.
        chi: chi_parallel.
        parameters: of the layer.
    """
    arguments = (gamma, C_W, C_b)
    words = "the kernel of deep networks does not converge for every input"
    if Status.UNKNOWN in (kernel_map.status, chi.status) or kernel_map.expr is None or chi.expr is None:
        return unknown("vertex_limit", arguments, "the maps of the layer are unknown")
    if chi.expr.has(K) or chi.expr not in (0, gamma**2):
        return unknown("vertex_limit", arguments, words)
    settled = (kernel_map.expr - chi.expr * K) / (1 - chi.expr)
    kernel = canonical(settled)
    if kernel.has(K):
        return unknown("vertex_limit", arguments, words)
    try:
        definition = StationaryNoise(program, {K: kernel}).settled(chi.expr, 2) / kernel**2
    except (NoClosedForm, UnsupportedLayer) as error:
        return unknown("vertex_limit", arguments, error.found)
    return build("vertex_limit", (), definition, parameters=parameters, within=SKIPS)


def useful_point(points: Sequence[CriticalPoint]) -> CriticalPoint | None:
    """The first critical point at which deep networks stay, if there is one; none on a line of points."""
    return next((p for p in points if p.stability in _MEANING and p.along is None), None)


def aspect_ratio(growth: Quantity) -> Quantity:
    """The depth/width that maximises the mutual information of two blocks of n_L/2 outputs (PDLT (B.36)).

    Args:
        growth: nu.
    """
    if growth.status is Status.UNKNOWN:
        return unknown("aspect_ratio", (gamma, n_L), growth.reason)
    symbol = sp.Symbol("nu", positive=True)
    definition = 4 / ((20 + 3 * n_L) * symbol)
    return replace(
        growth,
        name="aspect_ratio",
        symbols=(*growth.symbols, n_L),
        definition=definition,
        body=definition,
        expansion=partial(expansion_of_ratio, growth),
        steps=(*growth.steps, NamedStep(symbol, growth.definition, growth.body)),
        proof=Proof(definition),
        meaning="",
    )


_APPROACH = "nu_log"


def approach(kernel_map: Quantity, points: Sequence[CriticalPoint]) -> Quantity:
    """Kappa at the point that names the universality class: how fast growth becomes nu where kernels flow to 0.

    With ``K' = K - a K^m + b K^(2m - 1)`` the power ``u = K^(1 - m)`` grows by ``(m - 1)(a + (m a^2/2 - b)/u)`` a
    layer, so ``K^(m - 1) = (1 - kappa log(l)/l)/((m - 1) a l)`` with ``kappa = (m/2 - b/a^2)/(m - 1)``. Fluctuations
    shrink by ``(chi K/K')^2 = 1 - 2 (m - 1) a K^(m - 1)`` in units of K^2, to which each layer adds 3 nu. The solution
    is ``V/(nu K^2) = l + kappa log(l) + O(1)``, whatever the kernel of the input is; that and what neurons remember
    enter the constant.

    Args:
        kernel_map: K'.
        points: critical points, the most useful first.
    """
    point = useful_point(points)
    if point is None or point.K != 0:
        return unknown(_APPROACH, (gamma,), "kernels do not flow to 0 at the critical point")
    if not point.correction:
        return unknown(_APPROACH, (gamma,), "kernels flow to 0 more slowly than every power of the depth")
    coefficient, power = point.correction.as_independent(K, as_Add=False)
    m = power.as_base_exp()[1]
    try:
        series = without_bias(kernel_map).series(int(sp.ceiling(2 * m - 1)))
    except NoClosedForm as error:
        return unknown(_APPROACH, (gamma,), error.found)
    powers = powers_of_kernel(sp.expand(series.body.subs(C_W, point.C_W)))
    between = [p for p, c in powers.items() if m < p < 2 * m - 1 and canonical(c) != 0]
    if between:
        rate = (min(between) - m) / (m - 1)
        reason = f"K' has the power {min(between)} of K as well, and growth becomes nu like l**-{rate}"
        return unknown(_APPROACH, (gamma,), reason)
    second = powers.get(2 * m - 1, sp.Integer(0))
    kappa = tidy_factors(canonical((m / 2 - second / coefficient**2) / (m - 1)))
    found = build(_APPROACH, (gamma,) if kappa.has(gamma) else (), kappa, parameters=kernel_map.unused, within=SKIPS)
    return replace(found, verifications=series.verifications)
