"""Closed forms that are mended where their terms cancel."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch
from torch import Tensor

from .given_slopes import _sloped

Function: TypeAlias = Callable[..., Tensor]


def _known(value: Tensor, *arguments: Tensor) -> Tensor:
    """A value that has been computed before."""
    return value.clone()


def _with_value(slope: Function) -> Function:
    """A derivative as a function of the value too."""

    def with_value(value: Tensor, *arguments: Tensor) -> Tensor:
        return slope(*arguments)

    return with_value


def _mended(
    closed: Function, doubt: Function, other: Function, slopes: Sequence[Function], *arguments: Tensor
) -> Tensor:
    """A closed form; by the other function where rounding may have cost more than 1e-12 of it.

    That is worse where it is farther off than rounding can have been. It and its slopes are nan where an argument is,
    and compute nothing there: they are asked for no other entries than those that are in doubt.
    """
    arguments = torch.broadcast_tensors(*arguments)
    fixed = [a.detach() for a in arguments]
    first, error = closed(*fixed), 1.1e-16 * doubt(*fixed)
    poor = ~(error <= 1e-12 * torch.abs(first))
    found = other(*(torch.where(poor, a, math.nan) for a in fixed))
    worse = torch.abs(found - first) > 4.0 * error
    worse = worse | (torch.isnan(found) & (error <= 1e-6 * torch.abs(first)))
    taken = poor & ~worse
    value = closed(*(torch.where(taken, f, a) for f, a in zip(fixed, arguments)))
    some = [torch.where(taken, a, math.nan) for a in arguments]
    return torch.where(taken, _sloped(_known, (None, *map(_with_value, slopes)), found, *some), value)
