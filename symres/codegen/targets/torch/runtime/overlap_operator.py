"""The overlap of two softmax vectors as an operator of PyTorch, whose derivatives are further overlaps."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from ....arrays.runtime.softmax_sums import _overlaps
from .operators import Key, _operators
from .tensors import _alike


def _softmax_overlap(S1: Tensor, S2: Tensor, k: Tensor, T: Tensor | float, *orders: int) -> Tensor:
    """The overlap of two softmax vectors of T keys, or a derivative of it in S1, S2 and k."""
    return _OVERLAP.overlap(orders, _alike(S1, S2, k, T))


def _overlap_values(orders: Sequence[int], arguments: Sequence[Tensor]) -> Tensor:
    """The values, computed in float64."""
    columns, slack = [a.reshape(-1).to(torch.float64) for a in arguments], 4096.0 * torch.finfo(arguments[0].dtype).eps
    values = torch.tensor(list(map(float, _overlaps(tuple(orders), slack, *columns))), dtype=torch.float64)
    return values.reshape(arguments[0].shape).to(arguments[0])


def _slopes_of_overlaps(key: Key, needed: Sequence[bool], arguments: Sequence[Tensor]) -> list[Tensor | None]:
    """The derivatives, each an overlap with one order more; nan in the number of keys, which is a whole one."""
    slopes = []
    for place, wanted in enumerate(needed):
        raised = [order + (place == n) for n, order in enumerate(key[0])]
        slope = _OVERLAP.overlap(raised, arguments) if place < 3 else torch.full_like(arguments[3], math.nan)
        slopes.append(slope if wanted else None)
    return slopes


def _like_overlaps(orders: Sequence[int], arguments: Sequence[Tensor]) -> Tensor:
    """A tensor like the values."""
    return torch.empty_like(arguments[0], memory_format=torch.contiguous_format)


_OVERLAP = _operators("overlap", "int[] orders", _overlap_values, _like_overlaps, _slopes_of_overlaps)
