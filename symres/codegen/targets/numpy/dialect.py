"""How NumPy spells operations."""

from __future__ import annotations

from ...arrays.array_functions import array_functions
from ...emission.emitter import Dialect
from ...stable.primitives import AngularSum, AtLeast, AtMost, Distance

NUMPY = Dialect(
    name="NumPy",
    functions={
        **array_functions("numpy", "np", "special"),
        AngularSum: "_angular_sum({0}, lambda: {1}, {2}, {3}, {4})",
        AtLeast: "np.maximum({0}, {1})",
        AtMost: "np.minimum({0}, {1})",
        Distance: "np.maximum(({0} - {2}) + ({1} - {2}), 0.0)",
    },
    sqrt="np.sqrt({0})",
    root="np.sqrt({0})",
    radical="np.power({0}, {1})",
    power="np.power({0}, {1})",
    infinity="np.inf",
    library="np",
    nan="np.nan",
)
