"""The response to the kernel of one input, and the branch scale, as procedures made of functions of one layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import sympy as sp

from ...core.errors import NoClosedForm
from ...core.symbols import K, place
from ...notation import latex
from ...numerics.highest import _BEYOND
from ...results.observable import Procedure, present, usual
from ...results.quantity import Quantity
from ..observables.layer_theory import LayerTheory
from ..quantities.build import build, derivative
from ..walk.assignments import total_derivative
from .branch_scale import SCALES
from .kernel_response import formula, maps_of

_SOURCE = "Fischer, Dahmen, Helias (51) to (55)"


def response_recursion(layer: LayerTheory, readout: LayerTheory, exact: Callable[..., Any]) -> Procedure:
    """eta, chi and chi_out of one input, for networks of equal layers and a readout.

    Args:
        layer: repeated.
        readout: the last layer.
        exact: ``(eta, chi, chi_out)`` of the theory.

    Raises:
        NoClosedForm: the layer averages over a batch, or a map is unknown.
    """
    _require_kernels(layer, readout)
    parameters = _parameters(layer, readout)
    functions = layer.kernel_map, layer.chi_parallel, _added_slope(layer), _readout_slope(readout)
    return Procedure(
        "response",
        "response of deep networks to the kernel of their input",
        "theory.response_recursion()",
        present(*functions),
        parameters,
        source=_SOURCE,
        exact={"response": exact},
        samples=tuple({"depth": 6, "K": kernel, **usual(parameters)} for kernel in ("0.3", "2")),
    )


def branch_scale_procedure(
    layer: LayerTheory, readout: LayerTheory, scale: sp.Symbol, exact: Callable[..., Any]
) -> Procedure:
    """The scale of the branch at which the output responds most to the kernel of one input.

    Args:
        layer: repeated.
        readout: the last layer.
        scale: the parameter that weighs the branch.
        exact: the scale by the theory.

    Raises:
        NoClosedForm: the layer averages over a batch, a map is unknown, or outputs do not respond.
    """
    _require_kernels(layer, readout)
    if 0 in (layer.chi_parallel.body, readout.chi_parallel.body):
        found = "a layer forgets the kernel of the input, so that outputs do not respond to it"
        raise NoClosedForm(f"the optimal {scale}", found, "choose one")
    parameters = tuple(s for s in _parameters(layer, readout) if s != scale)
    steep, last = layer.chi_parallel, _readout_slope(readout)
    functions = (
        layer.kernel_map,
        _slope("kernel_scale_slope", layer.kernel_map, scale),
        steep,
        _slope("chi_slope", steep, K),
        _slope("chi_scale_slope", steep, scale),
        last,
        _slope("readout_bend", last, K),
        _slope("readout_scale_slope", last, scale),
    )
    low, high, count = SCALES
    return Procedure(
        "branch_scale",
        "weight of the branch at which outputs respond most to the kernel of their input",
        "theory.branch_scale_procedure()",
        present(*functions),
        parameters,
        (scale,),
        source="Fischer, Dahmen, Helias, figure 4",
        constants={"lowest": low, "highest": high, "count": count, "reach": _BEYOND},
        exact={"branch_scale": exact, "response_at_branch_scale": lambda **sample: exact(**sample).response},
        samples=tuple(
            {"depth": depth, "K": kernel, **usual(parameters)}
            for depth, kernel in ((5, "0.05"), (20, "0.05"), (5, "1"))
        ),
    )


def _readout_slope(readout: LayerTheory) -> Quantity:
    """The derivative of the kernel of the output in that of the last stream."""
    return replace(
        readout.chi_parallel,
        name="readout_slope",
        notation=r"\chi_{\mathrm{out}}",
        meaning="slope of the kernel of the output in that of the stream",
    )


def _slope(name: str, quantity: Quantity, symbol: sp.Symbol) -> Quantity:
    """A derivative, with a name, and the notation of a derivative."""
    notation = rf"\partial {quantity.notation}/\partial {latex(symbol)}"
    return replace(derivative(quantity, symbol), name=name, notation=notation)


def _added_slope(layer: LayerTheory) -> Quantity:
    """The derivative of what the layer adds to the kernel that its skip connection keeps, ``K' - rho^2 K``."""
    maps = layer.kernel_map
    assignments = [(step.symbol, step.definition) for step in maps.steps]
    added = maps.definition - layer.memory.defined**2 * K
    return build(
        "added_slope",
        (K,),
        total_derivative(added, assignments, K),
        assignments,
        notation=r"\partial (K' - m^2 K)/\partial K",
        meaning="slope of the branch's contribution to the kernel",
        source=_SOURCE,
        parameters=layer.layer.parameters,
    )


def _require_kernels(*layers: LayerTheory) -> None:
    """Refuse layers that average over a batch, or of which a map is unknown."""
    for layer in layers:
        maps_of(layer, 1)
        for quantity in (layer.chi_parallel, layer.memory):
            formula(quantity)


def _parameters(*layers: LayerTheory) -> tuple[sp.Symbol, ...]:
    return tuple(sorted({s for layer in layers for s in layer.layer.parameters}, key=place))
