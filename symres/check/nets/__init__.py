"""Networks in which a forward equation can be walked: sampled from Gram matrices, from weights, or infinitely wide."""

from .batch import CoupledBatch, LimitBatch
from .coupled import CoupledNet
from .dual import Dual
from .gram import GramNet
from .learning import LearningNet
from .limit import LimitNet
from .weights import WeightNet

__all__ = ["CoupledBatch", "CoupledNet", "Dual", "GramNet", "LearningNet", "LimitBatch", "LimitNet", "WeightNet"]
