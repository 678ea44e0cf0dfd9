"""How JAX spells operations."""

from __future__ import annotations

from ...arrays.array_functions import array_functions
from ...emission.emitter import Dialect
from ...stable.primitives import AtLeast, AtMost, Distance

JAX = Dialect(
    name="JAX",
    functions={
        **array_functions("jax", "jnp", "jax.scipy.special"),
        AtLeast: "_at_least({0}, {1})",
        AtMost: "_at_most({0}, {1})",
        Distance: "_at_least(({0} - {2}) + ({1} - {2}), 0.0)",
    },
    sqrt="jnp.sqrt({0})",
    root="_root({0})",
    radical="_radical({0}, {1})",
    power="jnp.power({0}, {1})",
    infinity="jnp.inf",
    library="jnp",
    nan="jnp.nan",
    reduced="_reduced",
)
