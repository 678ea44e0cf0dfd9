"""The response of each layer's kernel to that of the input."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from ...activations.activation import Activation
from ...core.errors import DeclarationError, NoClosedForm
from ...functions.floats.float_function import Values
from ...layers.architectures import mlp
from ...numerics.deferred_numpy import Array, np
from ...results.annotated_numbers import Response, ResponseDecay, Value
from ...results.critical_point import Exponents
from ...results.quantity import Quantity, Status
from ..criticality.unbounded_growth import growth
from ..observables.layer_theory import LayerTheory
from .layer_slopes import LayerSlopes


def response(
    kernels: Array, layers: Sequence[tuple[LayerTheory, Values]], readout: tuple[LayerTheory, Values]
) -> Response:
    """Derivatives of the kernels of all layers in that of the input.

    Args:
        kernels: of the input: K, or K11, K12, K22.
        layers: each with the values of its parameters.
        readout: the layer that makes the output.
    """
    inputs = 1 if len(kernels) == 1 else 2
    compiled: dict[LayerTheory, LayerSlopes] = {}
    for layer, _ in (*layers, readout):
        if layer not in compiled:
            compiled[layer] = LayerSlopes(layer, inputs)
    total = np.eye(len(kernels))
    chi, eta = [total], [total]
    for layer, values in layers:
        slopes = compiled[layer].at(kernels, values)
        eta.append(slopes.added @ total)
        total, kernels = slopes.jacobian @ total, slopes.kernels
        chi.append(total)
    last, values = readout
    out = compiled[last].at(kernels, values).jacobian @ total
    return Response([_value(m) for m in eta], [_value(m) for m in chi], _value(out))


def _value(matrix: Array) -> Value:
    return float(matrix[0, 0]) if matrix.size == 1 else matrix


def response_decay(kernel_map: Quantity, chi: Quantity, memory: Quantity, critical: Exponents) -> ResponseDecay:
    """The power law of eta, the response of what a layer adds, where it falls like a power of the depth.

    With ``eta^{l+1} = (chi_parallel - rho^2) chi^l``: where the kernel grows and ``chi_parallel - 1`` falls like
    ``l^-p``, so does ``eta/chi``, and chi itself converges for p > 1. Where the kernel flows to 0 like ``l^-q``,
    ``dK/dl = -a K^m`` with ``q = 1/(m - 1)``, its derivative in the kernel of the input is ``(K^l/K^0)^m``, which falls
    like ``l^-(1 + q)``.

    Args:
        kernel_map: K'.
        chi: chi_parallel.
        memory: rho, the weight of the skip connection.
        critical: exponents of the kernel at the critical point, or of one that grows.

    Raises:
        NoClosedForm: the response falls exponentially, or no law is known.
    """
    if Status.UNKNOWN not in (kernel_map.status, chi.status) and memory.body == 1:
        found = growth(kernel_map, chi)
        if found is not None and found.excess != 0:
            speed = sp.factor_terms((1 - found.power) * found.rate)
            order = found.decay / (1 - found.power)
            ratio = sp.factor_terms(found.excess * speed**-order)
            if order >= 1:
                return ResponseDecay(order if order > 1 else order - ratio, ratio, order)
    if critical.kernel is not None and critical.kernel.is_positive:
        return ResponseDecay(1 + critical.kernel, sp.expand(1 - memory.body**2), sp.Integer(0))
    raise NoClosedForm(
        "a power law of the response",
        "away from criticality it falls or grows exponentially, by the factor chi_parallel in each layer",
        "ask for response(depth, K) or phase(...)",
    )


def readout_of(layers: Sequence[LayerTheory]) -> LayerTheory:
    """A dense layer after the activation of the last layer, ``mlp(phi)`` with the same C_W and C_b.

    Raises:
        DeclarationError: there is no layer, or it has several activations or none.
    """
    formulas = layers[-1].layer.formulas if layers else ()
    if len(formulas) != 1:
        raise DeclarationError(
            "the response of an output",
            f"the last layer has {len(formulas)} activations, so that the readout has to be chosen",
            "pass readout=sr.derive(sr.mlp(phi)), or sr.derive(sr.Layer(sr.Dense(sr.z)))",
        )
    (formula,) = formulas
    return LayerTheory(mlp(Activation(formula.name, formula.expr, formula.parameters)))
