"""Recursions through the layers of a network, whose results are differentiated, and arguments of procedures.

A library that differentiates has ``_of_one_type`` of its own, which makes arrays of arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as xp

from ..runtime.array_types import Apart, Bools, Floats, Own
from ..runtime.error_free import _possible
from ..runtime.layer_recursion import _inputs, _Network, _separated, _through_layers
from .two_inputs import _of_type

_LOST = 1.0  # the kernel of an input without a direction, so that gradients of other inputs are what they are


def _of_one_type(*values: Floats | float) -> list[Floats]:
    """The arguments as arrays of one floating type."""
    return [xp.asarray(value, dtype=xp.float64) for value in values]


def _widened(a: Floats | float, like: Floats) -> Floats:
    """An argument as an array in the type in which networks are computed, where another one is."""
    return xp.asarray(a, dtype=xp.float64)


def _deep(
    network: _Network,
    K1: Floats | float,
    K2: Floats | float,
    C: Floats | float,
    Theta: Floats | float,
    parameters: Sequence[Own],
    every_layer: bool,
    same: Bools | None = None,
) -> tuple[Floats, ...]:
    """All layers; an excess of C over the kernel of equal inputs is equality.

    ``same`` says which inputs are equal, where C has been cut off at sqrt(K1*K2); without it, those with C = K1 = K2.
    """
    arguments = [K1, K2, C, Theta, *(value for row in parameters for value in row)]
    like = _of_one_type(*arguments)[0]
    k1, k2, c, theta, *others = arrays = [_widened(a, like) for a in arguments]
    shape, values = xp.broadcast_shapes(*(a.shape for a in arrays)), iter(others)
    parameters = [tuple([next(values) for _ in row]) for row in parameters]
    if same is None:
        c = xp.where(_possible(k1, k2, c, like.dtype), c, xp.nan)
    (first, lost), (second, gone) = (_inputs(network, k, parameters) for k in (k1, k2))
    c, theta = xp.broadcast_to(c, shape), xp.broadcast_to(theta, shape)
    same = (c == first[0][0]) & (c == second[0][0]) if same is None else same
    kernels: list[tuple[Floats, ...]] = list(_through_layers(network, first, second, c, theta, same, parameters))
    if network.directed:
        kernels = [tuple([xp.where(a | b, xp.nan, v) for v in row]) for a, b, row in zip(lost, gone, kernels)]
    results = [xp.stack(rows) for rows in zip(*kernels)] if every_layer else kernels[-1]
    return tuple([_of_type(a, like) for a in results])


def _separated_behind(K1: Floats, K2: Floats, C: Floats, same: Bools, sharp: bool) -> Apart:
    """What is known behind a layer is as before the first one: derivatives go through it."""
    return _separated(K1, K2, C, same, sharp)


def _full(a: Floats | float, like: Floats) -> Floats:
    """An array of the shape of another one."""
    return xp.broadcast_to(a, like.shape)


def _arguments(K: Floats | float, parameters: Mapping[str, Floats | float]) -> tuple[Floats, dict[str, Floats]]:
    """The kernel in the shape that all arguments have together, and the parameters."""
    kernel, *values = _of_one_type(K, *parameters.values())
    kernel = xp.broadcast_to(kernel, xp.broadcast_shapes(kernel.shape, *(a.shape for a in values)))
    return kernel, dict(zip(parameters, values))
