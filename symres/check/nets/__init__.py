"""Networks in which a forward equation can be walked: sampled from Gram matrices, from weights, or infinitely wide."""

from .coupled_net import CoupledNet
from .dual_numbers import Dual
from .gram_net import GramNet
from .learning_net import LearningNet
from .limit_batch import CoupledBatch, LimitBatch
from .limit_net import LimitNet
from .weight_net import WeightNet

__all__ = ["CoupledBatch", "CoupledNet", "Dual", "GramNet", "LearningNet", "LimitBatch", "LimitNet", "WeightNet"]
