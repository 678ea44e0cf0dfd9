"""Whether two passes of a model on the same inputs agree, and from which module on they do not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import torch
from torch import nn

from .arguments_of_models import CallArguments
from .observing import hooked
from .passing import passing
from .structures import tensors
from .wording import module_in_words

_Sums: TypeAlias = list[tuple[float, float]]  # stand for tensors
_CLOSE = 1e-6  # relative difference of sums that an order of summation makes


def outputs_of(model: nn.Module, arguments: CallArguments) -> list[torch.Tensor]:
    """All tensors that a pass without gradients returns, copied."""
    with torch.no_grad(), passing(model):
        return [tensor.clone() for tensor in tensors(arguments.call(model))]


def varies(model: nn.Module, arguments: CallArguments, first: Sequence[torch.Tensor] | None = None) -> bool:
    """Whether two passes on the same inputs differ by more than rounding: something is random, or kept from before.

    Args:
        model: the model, in the mode that is meant.
        arguments: the inputs.
        first: what one pass has returned, if there was one.
    """
    one = outputs_of(model, arguments) if first is None else first
    other = outputs_of(model, arguments)
    return len(one) != len(other) or any(map(_differ, one, other))


def where_passes_differ(model: nn.Module, arguments: CallArguments) -> str:
    """The innermost module that gives two outputs for the same input in two passes, in words."""
    one, other = _calls(model, arguments), _calls(model, arguments)
    for (words, entered, left), (words_again, entered_again, left_again) in zip(one, other, strict=False):
        if words != words_again:
            break  # other modules are called each time
        if _same(entered, entered_again) and not _same(left, left_again):
            return words
    return type(model).__name__


def _calls(model: nn.Module, arguments: CallArguments) -> list[tuple[str, _Sums, _Sums]]:
    """All calls of modules in one pass, in the order in which they end: the module, what entered and what left it."""
    calls: list[tuple[str, _Sums, _Sums]] = []
    entered: list[_Sums] = []

    def entering(name: str, module: nn.Module, args: object, kwargs: object) -> None:
        entered.append(_sums((args, kwargs)))

    def leaving(name: str, module: nn.Module, args: object, kwargs: object, output: object) -> None:
        calls.append((module_in_words(name, module), entered.pop(), _sums(output)))

    with hooked(dict(model.named_modules()), entering, leaving):
        outputs_of(model, arguments)
    return calls


def _sums(value: object) -> _Sums:
    """The sum of each tensor, and that of the sizes of its entries."""
    found = []
    for tensor in tensors(value):
        numbers = torch.nan_to_num(tensor.detach().to(torch.float32))
        found.append((float(numbers.sum()), float(numbers.abs().sum())))
    return found


def _same(one: _Sums, other: _Sums) -> bool:
    return len(one) == len(other) and all(
        math.isclose(a, b, rel_tol=_CLOSE, abs_tol=_CLOSE * size)
        for (total, size), (again, size_again) in zip(one, other, strict=True)
        for a, b in ((total, again), (size, size_again))
    )


def _differ(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return True
    if not one.is_floating_point():
        return not torch.equal(one, other)
    if one.numel() == 0 or torch.equal(one, other):
        return False
    first, second = (torch.nan_to_num(tensor.to(torch.float32)) for tensor in (one, other))
    rounding = torch.finfo(one.dtype).eps ** 0.75 if one.dtype != torch.float64 else torch.finfo(torch.float32).eps
    return bool((first - second).abs().max() > rounding * first.abs().max())
