"""The JAX code of components: closed forms, fits, averages of smooth functions; with derivatives of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

from ...arrays.component_text import arguments, fitted, limited
from ...arrays.differentiable import closed_source, is_wide, widened
from ...arrays.smooth_functions import SmoothPair, smooth_pairs, sum_source
from ...emission.emitter import Source, not_integrated
from ...fits.chebyshev import Fit
from ...planning.plan import Component
from .dialect import JAX


@lru_cache(maxsize=512)
def component_source(component: Component) -> Source:
    """The function of a component.

    Raises:
        NoSpelling: it is integrated when it runs.
    """
    source = _unlimited_source(component)
    lines = limited(component, source.lines, JAX)
    if is_wide(component):
        lines = widened(component, lines, "_widened({0})", "{0}.astype(kind)")
    return replace(source, lines=lines)


def _unlimited_source(component: Component) -> Source:
    code = component.code
    if isinstance(code, Fit):
        return fitted(component, code, JAX)
    pairs = smooth_pairs(component)
    if pairs:
        return sum_source(component, pairs, JAX, _series_call(component))
    if code is None or component.fallback_integral is not None:
        raise not_integrated(component.formula, JAX.name)
    return closed_source(component, code, JAX)


def _series_call(component: Component) -> Callable[[int, SmoothPair, str, str], tuple[str, Sequence[str]]]:
    def call(number: int, pair: SmoothPair, one: str, two: str) -> tuple[str, Sequence[str]]:
        return f"_smooth_average({one}(), {two}(), {arguments(component)})", ()

    return call
