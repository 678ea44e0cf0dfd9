"""The JAX code of components: closed forms, fits, averages of smooth functions; with derivatives of their own."""

from __future__ import annotations

from functools import lru_cache

from ...arrays import differentiable
from ...arrays.array_functions import array_functions
from ...arrays.smooth_functions import smooth_pairs, sum_source
from ...emission.emitter import Dialect, Source, not_integrated
from ...planning.plan import Component
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


@lru_cache(maxsize=512)
def component_source(component: Component) -> Source:
    """The function of a component.

    Raises:
        NoSpelling: it is integrated when it runs.
    """
    conversions, wide = ("_widened({0})", "{0}.astype(kind)"), differentiable.is_wide(component)
    return differentiable.component_source(component, JAX, _series_source, conversions, wide)


def _series_source(component: Component) -> Source:
    pairs = smooth_pairs(component)
    if not pairs:
        raise not_integrated(component.formula, JAX.name)
    return sum_source(component, pairs, JAX, "{factors}, {slopes}")
