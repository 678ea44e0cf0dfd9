"""How NumPy spells operations."""

from __future__ import annotations

import sympy as sp

from ....functions.companions import Dawson, Erfcx, Softplus
from ...arrays.array_functions import array_functions
from ...emission.emitter import Dialect
from ...stable.primitives import AngularSum, Distance

NUMPY = Dialect(
    name="NumPy",
    functions={
        **array_functions("np", "special"),
        AngularSum: "_angular_sum({0}, lambda: {1}, {2}, {3}, {4})",
        Distance: "np.maximum(({0} - {2}) + ({1} - {2}), 0.0)",
        sp.Heaviside: "np.heaviside({0}, {1})",
        sp.Max: "np.maximum({0}, {1})",
        sp.Min: "np.minimum({0}, {1})",
        Dawson: "special.dawsn({0})",
        Erfcx: "special.erfcx({0})",
        Softplus: "np.logaddexp(0.0, {0})",
    },
    sqrt="np.sqrt({0})",
    root="np.sqrt({0})",
    radical="np.power({0}, {1})",
    power="np.power({0}, {1})",
    infinity="np.inf",
    library="np",
    nan="np.nan",
    at_least="np.maximum({0}, {1})",
    at_most="np.minimum({0}, {1})",
)
