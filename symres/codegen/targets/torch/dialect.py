"""How PyTorch spells operations."""

from __future__ import annotations

from ...arrays.array_functions import array_functions
from ...emission.emitter import Dialect
from ...stable.primitives import Distance

TORCH = Dialect(
    name="PyTorch",
    functions={
        **array_functions("torch", "torch", "torch"),
        Distance: "torch.clamp(({0} - {2}) + ({1} - {2}), min=0.0)",
    },
    sqrt="torch.sqrt({0})",
    root="_root({0})",
    radical="_radical({0}, {1})",
    power="torch.pow({0}, {1})",
    infinity="math.inf",
    library="torch",
    at_least="torch.clamp({0}, min={1})",
    at_most="torch.clamp({0}, max={1})",
)
