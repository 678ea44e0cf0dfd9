"""Layers with BatchNorm: their flow, reduced to the variance K - C of a neuron over the batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import sympy as sp

from ...core.errors import NoClosedForm
from ...core.scalars import Number
from ...core.symbols import C, K
from ...results.phases import FixedPoint
from ...results.quantity import Quantity
from ..criticality.conditions.critical_conditions import Maps
from ..criticality.phase import fixed_points
from ..quantities.build import build, unknown


def variance_maps(kernel_map: Quantity, covariance_map: Quantity, perp: Quantity) -> Maps:
    """The variance over the batch of the next layer, its slope, and chi_perp, as functions of the variance, called K.

    Batch normalisation sees differences of inputs only, so the three do not depend on K and C otherwise.

    Args:
        kernel_map: K'(K, C) of one input.
        covariance_map: C'(K, C) of two.
        perp: chi_perp(K, C).
    """
    names = ("kernel_map", "chi_parallel", "chi_perp")
    try:
        flow, chi = (_in_variance(e) for e in (kernel_map.defined - covariance_map.defined, perp.defined))
    except NoClosedForm as error:
        missing = [unknown(name, (K,), error.found) for name in names]
        return missing[0], missing[1], missing[2]
    known = _parameters(kernel_map)
    made = [build(name, (K,), e, parameters=known) for name, e in zip(names, (flow, flow.diff(K), chi), strict=True)]
    return made[0], made[1], made[2]


def with_kernel(
    found: tuple[FixedPoint, ...], kernel_map: Quantity, params: Mapping[str, Number]
) -> tuple[FixedPoint, ...]:
    """Fixed points of the variance over a batch, with the kernel in the place of the variance.

    Args:
        found: whose K is the variance.
        kernel_map: K' of one input.
        params: a number for every parameter, by name.

    Raises:
        NoClosedForm: the kernel depends on the covariance, or has not one fixed point of its own.
    """
    asked, remedy = "the fixed points of a batch", "iterate kernels()"
    if kernel_map.defined.has(C):
        raise NoClosedForm(asked, "its kernel depends on the covariance of inputs", remedy)
    known = _parameters(kernel_map)
    definitions = kernel_map.defined, kernel_map.defined.diff(K)
    flow, slope = (build("kernel_map", (K,), e, parameters=known) for e in definitions)
    kernels = fixed_points((flow, slope, slope), params)
    if len(kernels) != 1:
        raise NoClosedForm(asked, f"the kernel has {len(kernels)}", remedy)
    return tuple(replace(point, K=kernels[0].K) for point in found)


def _parameters(quantity: Quantity) -> tuple[sp.Symbol, ...]:
    return tuple(s for s in (*quantity.symbols, *quantity.unused) if s not in (K, C))


def _in_variance(expression: sp.Expr) -> sp.Expr:
    """A function of K - C as one of K."""
    apart = expression.subs(K, K + C)
    apart = apart.replace(lambda e: isinstance(e, sp.Add) and e.has(C), sp.expand)
    apart = sp.expand(apart) if apart.has(C) else apart
    if apart.has(C):
        found = "the next variance over the batch depends on the kernel, too"
        raise NoClosedForm("the flow of a batch", found, "iterate kernels() at given parameters")
    return apart
