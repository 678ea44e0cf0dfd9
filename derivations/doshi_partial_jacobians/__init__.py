"""Doshi, He, Gromov, "Critical Initialization of Wide and Deep Neural Networks using Partial Jacobians".

The recursions of kernel and partial Jacobian for perceptrons, LayerNorm, residual connections and BatchNorm (main
text, appendices B, D to G), and what follows from them for scale-invariant activations, erf and gelu (appendices I to
K). An equation with a star is the corrected form of the one without, which is contradicted.

Run ``python -m derivations.doshi_partial_jacobians`` to see every claim with its verdict.
"""

from __future__ import annotations

from ..claim import Claim
from . import batches_and_inputs, erf, exponents, gelu, gelu_layers, recursions, scale_invariant


def claims() -> tuple[Claim, ...]:
    """Every claim of the document, by theme."""
    parts = (recursions, batches_and_inputs, exponents, scale_invariant, erf, gelu, gelu_layers)
    return tuple(claim for part in parts for claim in part.claims())
