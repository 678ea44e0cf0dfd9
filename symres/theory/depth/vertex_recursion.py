"""The four-point vertex of one input as a recursion in functions of one layer, for kernels that change with depth.

The kernel of layer l fluctuates by what the layers before have added. Layer l adds H^l, which the layers behind carry
on by their chi_parallel; and a neuron goes on to know, by its stream, what it has added itself:

    P^{l+1} = chi^2 P^l + Cov(H^l, H^l) + 2 sum_{k < l} A_k Cov(H^k, H^l),   A_k = chi_parallel(K^{k+1}) ... (K^l)
    G^{l+1} = chi rho^2 G^l + Cov(H^l, (z^{l+1})^2)
    V^l     = P^l + 2 G^l.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sympy as sp

from ...core.errors import NoClosedForm, UnsupportedLayer
from ...core.symbols import K1, K2, C, K
from ...notation.shortest import shortest
from ...results.annotated_numbers import VertexFormulas
from ...results.observable import Procedure, present, usual
from ...results.quantity import Quantity
from ..aspect_ratio.noise_covariances import NoiseCovariances
from ..observables.layer_theory import LayerTheory
from ..quantities.build import build, inlined
from ..walk.assignments import Assignment

_SOURCE = "PDLT (B.26), which neglects a part of the memory of neurons"
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
    """The recursion for networks of equal layers.

    Args:
        layer: its theory.
        exact: ``vertex`` and ``kernel_fluctuation`` of the theory.

    Raises:
        NoClosedForm: averages of the layer shift the mean of the stream, need too many neurons at once, or are over a
            batch.
    """
    if layer.is_batch:
        found = "the layer averages over a batch, all of whose inputs fluctuate together"
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
        source=_SOURCE,
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
