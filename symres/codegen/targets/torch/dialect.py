"""How PyTorch spells operations."""

from __future__ import annotations

import sympy as sp

from ....functions.companions import Sigmoid, Softplus
from ....functions.records.gaussian_signs import S4
from ...arrays.array_functions import array_functions
from ...emission.emitter import Dialect
from ...stable.primitives import Distance, TwoSigns, TwoTails

TORCH = Dialect(
    name="PyTorch",
    functions={
        **array_functions("torch", "torch"),
        Distance: "torch.clamp(({0} - {2}) + ({1} - {2}), min=0.0)",
        # clamp takes numbers as bounds, maximum takes none; numbers come first in order
        sp.Max: "torch.clamp({1}, min={0})",
        sp.Min: "torch.clamp({1}, max={0})",
        Sigmoid: "torch.sigmoid({0})",
        Softplus: "torch.nn.functional.softplus({0}, threshold=40.0)",
        TwoSigns: "_two_signs(*_alike({0}, {1}, {2}, {3}))",
        TwoTails: "_two_tails(*_alike({0}, {1}, {2}, {3}))",
        S4: "_four_signs(*_alike({0}, {1}, {2}, {3}, {4}, {5}))",
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
