"""The response of each layer's kernel to that of the input."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...results.numbers.response import Response, Value
from ..finite_width.float_quadrature import Array, Values
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
