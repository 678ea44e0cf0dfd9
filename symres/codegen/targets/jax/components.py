"""The JAX code of components: closed forms, fits, averages of smooth functions; with derivatives of their own."""

from __future__ import annotations

from functools import lru_cache

from ...arrays import differentiable
from ...arrays.smooth_functions import smooth_pairs, sum_source
from ...emission.emitter import Source, not_integrated
from ...planning.plan import Component
from .dialect import JAX


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
