"""Networks through which a forward equation is walked: sampled from Gram matrices or weights, or infinitely wide.

Reading order: ``forward_walk`` (the equation, step by step); the finite networks of ``gram_net`` and ``recording_net``
with ``dual_numbers`` and ``torch_tensor`` as their neurons; the infinitely wide ones of ``limit_net`` on
``random_field`` (their neurons) and ``source_law`` (their integrals), then ``limit_batch``
and ``limit_tokens``; ``one_position`` for all whose inputs have no positions.
"""

from .dual_numbers import Dual
from .gram_net import GramNet, LearningNet, WeightNet
from .limit_batch import CoupledBatch, LimitBatch
from .limit_net import CoupledNet, LimitNet
from .limit_tokens import LimitTokens

__all__ = [
    "CoupledBatch",
    "CoupledNet",
    "Dual",
    "GramNet",
    "LearningNet",
    "LimitBatch",
    "LimitNet",
    "LimitTokens",
    "WeightNet",
]
