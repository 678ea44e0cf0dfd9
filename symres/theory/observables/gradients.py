"""How parameters move neurons of the next layer."""

from __future__ import annotations

import sympy as sp

from ...core.symbols import K1, K2, C, Theta
from ...results.observable import Divergence
from ..walk.tangent import Rates, tangent
from .layer_observable import LayerObservable, OfOneInput, OfTwoInputs


def tangent_kernel_map(rates: Rates) -> OfTwoInputs:
    """The tangent kernel in the NTK parametrisation, with learning rates of weights and biases.

    Weights are ``sqrt(C_W/fan_in) w`` and biases ``sqrt(C_b) b``, of all Dense nodes of the layer.

    Args:
        rates: of every w and every b.
    """
    return OfTwoInputs(
        name="ntk_map",
        sign=("Θ'", "Theta'"),
        notation=r"\Theta'",
        meaning="tangent kernel of the next layer, two inputs",
        unit="K",
        arguments=(K1, K2, C, Theta),
        oracle=lambda layer, K1, K2, C, Theta: layer.ntk_map(K1, K2, C, Theta),
        divergence=Divergence.EQUAL_INPUTS,
        costly=True,
        define=lambda walks: tangent(walks.two, 1, 2, Theta, rates),
        example='>>> sr.derive("linear", layer="residual").ntk_map.expr\nC_W*(C + Theta) + C_b + Theta*gamma**2',
    )


NTK_MAP = tangent_kernel_map((1, 1))
PARAMETER_NORM = OfOneInput(
    name="parameter_norm",
    sign=("|∂z'/∂θ|²", "|dz'/dtheta|^2"),
    notation=r"\left\| \partial z' / \partial \theta \right\|^2",
    meaning="squared gradient in the parameters of the layer",
    source="Doshi et al. (37)",
    unit="K",
    oracle=lambda layer, K: layer.ntk_map(K, K, K, 0.0),  # of one input with itself: what this layer adds
    divergence=Divergence.EQUAL_INPUTS,
    define=lambda walks: walks.tangent(sp.Integer(0), (1, 1)),
    example='>>> sr.derive("cosh(z)").parameter_norm.expr  # C_b + C_W <cosh^2>\nC_W*(exp(2*K)/2 + 1/2) + C_b',
)
OBSERVABLES: tuple[LayerObservable, ...] = (NTK_MAP, PARAMETER_NORM)
