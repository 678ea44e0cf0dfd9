"""How PyTorch spells operations."""

from __future__ import annotations

from ...arrays.array_functions import array_functions
from ...emission.emitter import Dialect
from ...stable.primitives import AtLeast, AtMost, Distance

TORCH = Dialect(
    name="PyTorch",
    functions={
        **array_functions("torch", "torch", "torch"),
        AtLeast: "torch.clamp({0}, min={1})",
        AtMost: "torch.clamp({0}, max={1})",
        Distance: "torch.clamp(({0} - {2}) + ({1} - {2}), min=0.0)",
    },
    sqrt="torch.sqrt({0})",
    root="_root({0})",
    radical="_radical({0}, {1})",
    power="torch.pow({0}, {1})",
    infinity="math.inf",
    library="torch",
)
