"""How JAX spells operations."""

from __future__ import annotations

import sympy as sp

from ....functions.companions import Sigmoid, Softplus
from ....functions.records.gaussian_signs import S4, T4
from ...arrays.array_functions import array_functions
from ...emission.emitter import Dialect
from ...stable.primitives import Distance, TwoSigns

_INTEGRATED = (TwoSigns, S4, T4)  # integrals, which other targets compute a few entries at a time

JAX = Dialect(
    name="JAX",
    functions={
        **{
            head: template
            for head, template in array_functions("jnp", "jax.scipy.special").items()
            if head not in _INTEGRATED
        },
        Distance: "_at_least(({0} - {2}) + ({1} - {2}), 0.0)",
        # numbers come first in order, and are bounds
        sp.Max: "_at_least({1}, {0})",
        sp.Min: "_at_most({1}, {0})",
        Sigmoid: "jax.nn.sigmoid({0})",
        Softplus: "jax.nn.softplus({0})",
    },
    sqrt="jnp.sqrt({0})",
    root="_root({0})",
    radical="_radical({0}, {1})",
    power="jnp.power({0}, {1})",
    infinity="jnp.inf",
    library="jnp",
    nan="jnp.nan",
    at_least="_at_least({0}, {1})",
    at_most="_at_most({0}, {1})",
    reduced="_reduced",
)
