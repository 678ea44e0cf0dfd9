"""Networks through which a forward equation is walked: sampled from Gram matrices or weights, or infinitely wide.

Reading order: ``forward_walk`` (the equation, step by step); the finite networks ``gram_net``, ``weight_net``,
``learning_net`` with ``dual_numbers`` and ``torch_tensor`` as their neurons; the infinitely wide ``limit_net`` on
``random_field`` (its neurons) and ``source_law`` (its integrals), then ``coupled_net`` and ``limit_batch``.
"""

from .coupled_net import CoupledNet
from .dual_numbers import Dual
from .gram_net import GramNet
from .learning_net import LearningNet
from .limit_batch import CoupledBatch, LimitBatch
from .limit_net import LimitNet
from .weight_net import WeightNet

__all__ = ["CoupledBatch", "CoupledNet", "Dual", "GramNet", "LearningNet", "LimitBatch", "LimitNet", "WeightNet"]
