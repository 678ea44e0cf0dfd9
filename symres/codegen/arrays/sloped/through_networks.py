"""Recursions through the layers of a network, whose results are differentiated, and arguments of procedures.

A library that differentiates has ``_of_one_type`` of its own, which makes arrays of arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as xp

from ..runtime.array_types import Apart, Bools, Floats, Own
from ..runtime.error_free import _possible
from ..runtime.layer_recursion import _changes_of, _inputs, _Network, _separated, _through_layers
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
    first: Own,
    second: Own,
    both: Own,
    tangents: tuple[Floats | float, ...],
    parameters: Sequence[Own],
    every_layer: bool,
    same: Bools | None = None,
) -> tuple[Floats, ...]:
    """All layers; an excess of C over the kernel of equal inputs is equality.

    ``same`` says which inputs are equal, where C has been cut off at sqrt(K1*K2); without it, those with C = K1 = K2.
    """
    like, shape, (one, other, both, moving), rows = _broadcast((first, second, both, tangents), parameters)
    if same is None:
        both = tuple([xp.where(_possible(one[0], other[0], c, like.dtype), c, xp.nan) for c in both])
    (inputs, lost), (others, gone) = (_inputs(network, own, rows) for own in (one, other))
    both, moving = (tuple([xp.broadcast_to(a, shape) for a in group]) for group in (both, moving))
    if same is None:
        same = _equal(both, inputs[0], others[0])
    kernels: list[tuple[Floats, ...]] = list(_through_layers(network, inputs, others, both, moving, same, rows))
    if network.directed:
        kernels = [tuple([xp.where(a | b, xp.nan, v) for v in row]) for a, b, row in zip(lost, gone, kernels)]
    results = [xp.stack(rows) for rows in zip(*kernels)] if every_layer else kernels[-1]
    return tuple([_of_type(a, like) for a in results])


def _deep_alone(
    network: _Network, state: Own, changes: Own, parameters: Sequence[Own], every_layer: bool
) -> tuple[Floats, ...]:
    """The numbers of one input behind all layers, and the covariances of its changes."""
    like, shape, (own, moved), rows = _broadcast((state, changes), parameters)
    own = (own[0], *[xp.where(_possible(own[0], own[0], c, like.dtype), c, xp.nan) for c in own[1:]])
    inputs, _ = _inputs(network, own, rows)
    behind = [(*a[: len(own)], *b) for a, b in zip(inputs, _changes_of(network, inputs, moved, rows))]
    whole = [tuple([xp.broadcast_to(a, shape) for a in row]) for row in (behind if every_layer else behind[-1:])]
    return tuple([_of_type(xp.stack(column) if every_layer else column[0], like) for column in zip(*whole)])


def _broadcast(
    groups: Sequence[tuple[Floats | float, ...]], parameters: Sequence[Own]
) -> tuple[Floats, tuple[int, ...], list[Own], list[Own]]:
    """An array of the type of the arguments, their common shape, and each as an array in the widest type."""
    arguments = [value for group in (*groups, *parameters) for value in group]
    like = _of_one_type(*arguments)[0]
    arrays = [_widened(a, like) for a in arguments]
    values = iter(arrays)
    widened = [tuple([next(values) for _ in group]) for group in (*groups, *parameters)]
    return like, xp.broadcast_shapes(*(a.shape for a in arrays)), widened[: len(groups)], widened[len(groups) :]


def _equal(both: Own, first: Own, second: Own) -> Bools:
    """Where two inputs are equal: their covariances are those of each."""
    pairs = [(c == a) & (c == b) for c, a, b in zip(both, first, second)]
    return pairs[0] & pairs[-1]


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
