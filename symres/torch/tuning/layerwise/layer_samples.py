"""What is measured of a layer: what weight and bias give, and the Jacobian from the layer before."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from ....results.annotated_numbers import EstimatedNumber
from ...measuring.averaging import average
from ...models.structures import first_tensor


@dataclass(frozen=True)
class LayerSample:
    """Measurements of one layer with output ``W a + b``.

    Args:
        weighted: A, mean square of ``W a`` of each input, shape (inputs,).
        mixed: B, mean product of ``W a`` and ``b``.
        bias: D, mean square of ``b``.
        chi: squared norm of the Jacobian from the output of the layer before per neuron, shape (inputs, probes); None
            at the first layer.
    """

    weighted: np.ndarray
    mixed: np.ndarray
    bias: np.ndarray
    chi: np.ndarray | None

    def kernel(self, s: float, t: float) -> EstimatedNumber:
        """With weights times s and biases times t."""
        return average((s * s * self.weighted + 2 * s * t * self.mixed + t * t * self.bias)[None])

    def norm(self, s: float) -> EstimatedNumber:
        """The squared norm chi with weights times s; nan at the first layer."""
        return EstimatedNumber(math.nan, math.nan) if self.chi is None else average((s * s * self.chi)[None])


def parts_of_output(
    layer: nn.Module, args: tuple[object, ...], kwargs: Mapping[str, object], output: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """``W a`` and ``b``: what the weight and what the bias give to the output, without graphs.

    Args:
        layer: it is run once more, with a bias of 0.
        args: of its call.
        kwargs: likewise.
        output: of its call.
    """
    bias = layer._parameters.get("bias")
    present = output.detach().clone()
    if bias is None:
        return present, torch.zeros_like(present)
    with torch.no_grad():
        data = bias.data
        try:
            bias.data = torch.zeros_like(data)
            weighted = first_tensor(layer(*args, **kwargs))
        finally:
            bias.data = data
    assert weighted is not None
    return weighted.detach().clone(), present - weighted.detach()
