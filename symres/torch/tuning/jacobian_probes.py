"""Squared norms and traces of Jacobians from random cotangents, by reverse passes (Hutchinson)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from ..probing.network_passes import mean_products, squares
from .batch_errors import SignSource


def jacobian_probes(
    source: torch.Tensor, result: torch.Tensor, size: int, sources: Sequence[SignSource]
) -> tuple[np.ndarray, np.ndarray]:
    """Squared norm and, of equal shapes, trace of a Jacobian over the entries of one result; shape (inputs, probes)."""
    entries = result.numel() // size
    norms, traces = [], []
    for signs in sources:
        cotangent = signs.draw(result)
        (gradient,) = torch.autograd.grad(result, source, cotangent, retain_graph=True, allow_unused=True)
        gradient = torch.zeros_like(source) if gradient is None else gradient
        norms.append(squares(gradient, size) / entries)
        if source.shape == result.shape:
            traces.append(mean_products(gradient, cotangent, size))
    return np.stack(norms, axis=1), np.stack(traces or norms, axis=1)
