"""How JAX spells operations."""

from __future__ import annotations

from ...arrays.array_functions import array_functions
from ...emission.emitter import Dialect
from ...stable.primitives import Distance

JAX = Dialect(
    name="JAX",
    functions={
        **array_functions("jax", "jnp", "jax.scipy.special"),
        Distance: "_at_least(({0} - {2}) + ({1} - {2}), 0.0)",
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
