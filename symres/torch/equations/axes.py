"""Which axis of a tensor counts neurons, and which neurons a slice has: found by moving their indices about."""

from __future__ import annotations

import math
from dataclasses import replace

import torch

from ..tracing.run_record import RecordedCall, made_again
from .formula_values import FormulaValue, NotRead

VIEWS = frozenset(
    {"view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "transpose", "permute", "swapaxes", "swapdims"}
    | {"movedim", "moveaxis", "T", "mT", "t", "view_as", "reshape_as", "contiguous"}
)
SLICES = frozenset({"chunk", "split", "split_with_sizes", "getitem", "narrow", "tensor_split", "unsafe_chunk"})


def after_view(call: RecordedCall, value: FormulaValue, before: torch.Size, after: torch.Size) -> FormulaValue:
    """A value behind a call that moves axes, or joins or divides positions: the shape is another one after it.

    An axis of neurons that is not known is taken for the last.

    Raises:
        NotRead: neurons are spread over several axes, or joined with positions.
    """
    where = -1 if value.axis is None else value.axis
    (moved,) = _moved(call, _indices(before, where))
    axes = [a for a in range(-len(after), 0) if after[a] == before[where] and torch.equal(moved, _indices(after, a))]
    if not axes:
        raise NotRead(call, f"the operation {call.name} spreads neurons over several axes or joins them with positions")
    axis = where if where in axes else axes[-1]
    (places,) = _moved(call, _positions(before, where))
    order = places.movedim(axis, -1).reshape(-1, after[axis])[:, 0]
    known = torch.arange(len(order)) if value.order is None else torch.tensor(value.order)
    order = known[order]
    is_same = torch.equal(order, torch.arange(len(order)))
    return replace(value.after(call, axis=axis), order=None if is_same else tuple(order.tolist()))


def parts(call: RecordedCall, axis: int, before: torch.Size) -> list[tuple[int, ...]]:
    """Which neurons each tensor has that a call takes out of one with so many entries before; the axis is negative.

    Raises:
        NotRead: it takes some of the positions.
    """
    found = []
    positions = before.numel() // max(1, before[axis])
    for moved in _moved(call, _indices(before, axis)):
        if moved.ndim != len(before) or moved.numel() != positions * moved.shape[axis] or not moved.numel():
            raise NotRead(call, f"the operation {call.name} selects some of the positions or of the inputs")
        lines = moved.movedim(axis, -1).reshape(-1, moved.shape[axis])
        if not bool((lines == lines[0]).all()):
            raise NotRead(call, f"symres has no rule for the operation {call.name}")
        found.append(tuple(map(int, lines[0])))
    return found


def _indices(shape: torch.Size, axis: int) -> torch.Tensor:
    """A tensor that holds the index of the neuron at every entry."""
    line = torch.arange(shape[axis]).reshape([-1, *[1] * (-1 - axis)])
    return line.expand(shape)


def _positions(shape: torch.Size, axis: int) -> torch.Tensor:
    """A tensor that holds the flat index of the position at every entry."""
    others = [size for a, size in enumerate(shape, -len(shape)) if a != axis]
    return torch.arange(math.prod(others)).reshape(others).unsqueeze(axis).expand(shape)


def _moved(call: RecordedCall, entries: torch.Tensor) -> list[torch.Tensor]:
    try:
        return [moved for _, moved in made_again(call, dict.fromkeys(call.sources, entries.clone()))]
    except Exception as error:  # whatever an operation makes of integers
        raise NotRead(call, f"symres has no rule for the operation {call.name}") from error
