"""Which axis of a tensor counts neurons, and which neurons a slice has: found by moving their indices about."""

from __future__ import annotations

import torch

from ..tracing.run_record import RecordedCall, substituted
from .formula_values import NotRead

VIEWS = frozenset(
    {"view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "transpose", "permute", "swapaxes", "swapdims"}
    | {"movedim", "moveaxis", "T", "mT", "t", "view_as", "reshape_as", "contiguous"}
)
SLICES = frozenset({"chunk", "split", "split_with_sizes", "getitem", "narrow", "tensor_split", "unsafe_chunk"})


def after_view(call: RecordedCall, axis: int | None, before: torch.Size, after: torch.Size) -> int:
    """The axis of neurons behind a call that moves axes or joins positions.

    Args:
        call: the call.
        axis: of neurons before it; None is taken for the last.
        before: the shape before.
        after: the shape after.

    Returns:
        The axis, negative.

    Raises:
        NotRead: neurons are spread over several axes, or joined with positions.
    """
    where = -1 if axis is None else axis
    (moved,) = _moved(call, where, before)
    neurons = before[where]
    for candidate in range(-len(after), 0):
        if after[candidate] == neurons and torch.equal(moved, _indices(after, candidate)):
            return candidate
    raise NotRead(call, f"{call.name} spreads the neurons over several axes, or joins them with positions")


def parts(call: RecordedCall, axis: int, before: torch.Size) -> list[tuple[int, ...]]:
    """Which neurons each tensor has that a call takes out of one.

    Args:
        call: the call.
        axis: of neurons, negative.
        before: the shape of the tensor.

    Raises:
        NotRead: it takes some of the positions.
    """
    found = []
    positions = before.numel() // max(1, before[axis])
    for moved in _moved(call, axis, before):
        if moved.ndim != len(before) or moved.numel() != positions * moved.shape[axis] or not moved.numel():
            raise NotRead(call, "it takes some positions, or some inputs, apart from the others")
        lines = moved.movedim(axis, -1).reshape(-1, moved.shape[axis])
        if not bool((lines == lines[0]).all()):
            raise NotRead(call, f"{call.name} cannot be read")
        found.append(tuple(map(int, lines[0])))
    return found


def _indices(shape: torch.Size, axis: int) -> torch.Tensor:
    """A tensor that holds the index of the neuron at every entry."""
    line = torch.arange(shape[axis]).reshape([-1, *[1] * (-1 - axis)])
    return line.expand(shape)


def _moved(call: RecordedCall, axis: int, before: torch.Size) -> list[torch.Tensor]:
    indices = {number: _indices(before, axis).clone() for number in call.sources}
    try:
        result = call.function(*substituted(call.args, indices), **substituted(dict(call.kwargs), indices))
    except Exception as error:  # whatever an operation makes of integers
        raise NotRead(call, f"{call.name} cannot be read") from error
    return [result] if isinstance(result, torch.Tensor) else list(result)
