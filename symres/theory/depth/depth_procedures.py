"""What is computed layer by layer from functions of one layer, for generated code: vertices, responses, branch scales.

Of the four-point vertex of one input, the kernel of layer l fluctuates by what the layers before have added. Layer l
adds H^l, which the layers behind carry on by their chi_parallel; and a neuron goes on to know, by its stream, what it
has added itself:

    P^{l+1} = chi^2 P^l + Cov(H^l, H^l) + 2 sum_{k < l} A_k Cov(H^k, H^l),   A_k = chi_parallel(K^{k+1}) ... (K^l)
    G^{l+1} = chi rho^2 G^l + Cov(H^l, (z^{l+1})^2)
    V^l     = P^l + 2 G^l.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import sympy as sp

from ...core.errors import NoClosedForm, UnsupportedLayer
from ...core.scalars import Number
from ...core.symbols import K1, K2, C, K, ascii_name, place
from ...notation import latex
from ...notation.shortest import shortest
from ...numerics.highest import _BEYOND
from ...results.annotated_numbers import VertexFormulas
from ...results.observable import Procedure, present, usual
from ...results.quantity import Quantity
from ..aspect_ratio.vertex_growth import NoiseCovariances
from ..criticality.at_fixed_point import FixedPointTheory
from ..observables.layer_theory import LayerTheory
from ..quantities.build import build, derivative, inlined
from ..response.branch_scale import SCALES
from ..response.kernel_response import formula, maps_of
from ..walk.assignments import Assignment, total_derivative

_LEAST, _MOST = 1e-12, 1e12  # kernels between which an end is looked for
_RATIO = 1.5  # of neighbouring kernels of that search: fixed points that lie closer are not told apart
_HALVINGS = 40  # of log(1.5): to 1e-12, from where one step of Newton's method has all digits
_ROUNDING = 1e-6  # relative: a step that is larger is none from a root, as beside double zeros

_VERTEX_SOURCE = "PDLT (B.26), which neglects a part of the memory of neurons"
_RESPONSE_SOURCE = "Fischer, Dahmen, Helias (51) to (55)"
_ADDED = "contribution of one neuron to n times the next kernel"
_NOISES = (  # name, arguments, notation, meaning, source
    ("noise", (K,), "N", f"variance of the {_ADDED}", "PDLT (B.26)"),
    (
        "memory_noise",
        (K1, K2, C),
        "M",
        "covariance of the contributions of one neuron in an earlier and in a later layer",
        "",
    ),
    ("stream_noise", (K,), "R", f"covariance of the {_ADDED} with its next square", "PDLT (B.26)"),
)


def vertex_recursion(layer: LayerTheory, exact: Mapping[str, Callable[..., Any]]) -> Procedure:
    """The recursion for networks of equal layers, with ``vertex`` and ``kernel_fluctuation`` of the theory to compare.

    Raises:
        NoClosedForm: averages of the layer shift the mean of the stream, need too many neurons at once, or are over a
            batch or positions.
    """
    if layer.has_covariance:
        found = "the layer averages over a batch, or mixes positions, which fluctuate together"
        remedy = "normalise over neurons, as the layers pre_ln and ln_act do, or simulate the layer"
        raise NoClosedForm("the vertex as a recursion", found, remedy)
    try:
        functions = (layer.kernel_map, layer.chi_parallel, layer.memory, *noise_functions(layer))
    except UnsupportedLayer as error:
        raise NoClosedForm("the vertex as a recursion", error.found, "ask for vertex(depth, K)") from None
    parameters = layer.layer.parameters
    return Procedure(
        "vertex",
        "four-point vertex of deep networks, one input",
        "theory.vertex_recursion",
        present(*functions),
        parameters,
        source=_VERTEX_SOURCE,
        exact=exact,
        samples=tuple({"depth": 6, "K": kernel, **usual(parameters)} for kernel in ("0.3", "2")),
    )


def vertex_formulas(layer: LayerTheory) -> VertexFormulas | None:
    """The recursion in unevaluated averages; None where it has no such form."""
    try:
        found = [inlined(*noise) for noise in _noises(layer)]
    except (NoClosedForm, UnsupportedLayer):
        return None
    steps = dict(step for _, kept in found for step in kept)
    bare = {symbol: steps.pop(symbol) for symbol in list(steps) if steps[symbol].is_Symbol}
    # of a layer whose kernel does not fluctuate, that the terms cancel is seen in the shortest form
    noise_of_one, between, with_next = (shortest(definition.xreplace(bare)) for definition, _ in found)
    return VertexFormulas(noise_of_one, between, with_next, layer.memory.body, tuple(steps.items()))


def noise_functions(layer: LayerTheory) -> tuple[Quantity, ...]:
    """The covariances of what one neuron adds to the next kernel: with itself, later, and with the next stream.

    Raises:
        NoClosedForm: averages of the layer shift the mean of the stream.
        UnsupportedLayer: an average of two times needs too many neurons at once.
    """
    parameters = layer.layer.parameters
    return tuple(
        build(name, arguments, *noise, notation=notation, meaning=meaning, source=source, parameters=parameters)
        for (name, arguments, notation, meaning, source), noise in zip(_NOISES, _noises(layer), strict=True)
    )


def _noises(layer: LayerTheory) -> list[tuple[sp.Expr, list[Assignment]]]:
    """The definition of each of the three covariances, with the walk that it is made of."""
    noise = NoiseCovariances(layer.layer.program)
    one, two = noise.response.walk.assignments, noise.walk.assignments
    return [(noise.within_layer, one), (noise.across_layers, two), (noise.with_next_square, one)]


def response_recursion(layer: LayerTheory, readout: LayerTheory, exact: Callable[..., Any]) -> Procedure:
    """eta, chi and chi_out of one input, for networks of equal layers and a readout, with those of the theory.

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
        source=_RESPONSE_SOURCE,
        exact={"response": exact},
        samples=tuple({"depth": 6, "K": kernel, **usual(parameters)} for kernel in ("0.3", "2")),
    )


def branch_scale_procedure(
    layer: LayerTheory, readout: LayerTheory, scale: sp.Symbol, exact: Callable[..., Any]
) -> Procedure:
    """The scale of the branch at which the output responds most to the kernel of one input, with that of the theory.

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


def fixed_point_procedure(layer: LayerTheory, at_fixed_point: Callable[[Number], FixedPointTheory]) -> Procedure:
    """The kernel in which a network ends, its slopes in the parameters, and the correlation length there.

    Raises:
        NoClosedForm: the layer averages over a batch, or mixes positions; a map is unknown.
    """
    _require_kernels(layer)
    parameters = _parameters(layer)
    slopes = (_slope(f"kernel_slope_{ascii_name(s.name)}", layer.kernel_map, s) for s in parameters)
    return Procedure(
        "fixed_point",
        "kernel in which a deep network ends",
        "theory.fixed_point_procedure",
        (layer.kernel_map, layer.chi_parallel, layer.chi_perp, *present(*slopes)),
        parameters,
        source="Doshi, He, Gromov (64), for layers whose kernel map is not affine",
        constants={
            "least": _LEAST,
            "most": _MOST,
            "ratio": _RATIO,
            "steps": math.ceil(math.log(_MOST / _LEAST, _RATIO)),
            "halvings": _HALVINGS,
            "rounding": _ROUNDING,
        },
        exact={
            "fixed_point": lambda K, **params: at_fixed_point(K).K(**params),
            "fixed_point_slopes": lambda K, **params: at_fixed_point(K).slopes(**params),
            "correlation_length": lambda K, **params: at_fixed_point(K).correlation_length(**params),
        },
        samples=tuple({"K": kernel, **usual(parameters)} for kernel in ("0.3", "2")),
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
        source=_RESPONSE_SOURCE,
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
