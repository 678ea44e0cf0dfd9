"""Networks in which a forward equation can be walked: sampled from Gram matrices, from weights, or infinitely wide."""

from .batch import LimitBatch
from .dual import Dual
from .gram import GramNet
from .limit import LimitNet
from .weights import WeightNet

__all__ = ["Dual", "GramNet", "LimitBatch", "LimitNet", "WeightNet"]
