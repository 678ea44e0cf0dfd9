"""Passes of a model in which every tensor has its graph, and the sums of two tensors that a pass comes by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from ...core.errors import DeclarationError
from ..models.arguments_of_models import CallArguments
from ..models.model_state import first_nonfinite, first_without_gradients
from ..models.wording import first_line, passing
from ..probing.network_passes import plain_attention

_SUMS = {torch.add, torch.Tensor.add, torch.Tensor.__add__, torch.Tensor.__radd__}
_IN_PLACE = {torch.Tensor.add_, torch.Tensor.__iadd__}

SumAction: TypeAlias = Callable[[int, torch.Tensor, torch.Tensor], torch.Tensor | None]


class Additions(TorchFunctionMode):
    """A context in which something is done at every sum of two tensors of floating-point numbers of one shape.

    Args:
        action: of the number of the sum (from 0) and both terms; a tensor that it returns takes the place of the sum.
    """

    def __init__(self, action: SumAction) -> None:
        super().__init__()
        self._action = action
        self._paused = False
        self.count = 0

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Inside of the context sums are neither counted nor acted upon."""
        before, self._paused = self._paused, True
        try:
            yield
        finally:
            self._paused = before

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: tuple[object, ...] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        if not self._paused and not kwargs and len(args) == 2 and (func in _SUMS or func in _IN_PLACE):
            left, right = args
            if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor) and _alike(left, right):
                number, self.count = self.count, self.count + 1
                new = self._action(number, left, right)
                if new is not None and func in _IN_PLACE:
                    left.data = new.detach()  # whoever holds the left term sees the sum
                    return left
                if new is not None:
                    return new
        return func(*args, **(kwargs or {}))


def _alike(left: torch.Tensor, right: torch.Tensor) -> bool:
    parameter = isinstance(left, torch.nn.Parameter) or isinstance(right, torch.nn.Parameter)
    return left.is_floating_point() and right.is_floating_point() and left.shape == right.shape and not parameter


def run_with_gradients(model: nn.Module, arguments: CallArguments, additions: Additions) -> None:
    """One pass in which every tensor has its graph, also behind integer inputs.

    Raises:
        DeclarationError: the model does not take the inputs.
    """
    for parameter in model.parameters():
        if parameter.is_floating_point():
            parameter.requires_grad_()
    if arguments.differentiable is not None:
        arguments = arguments.with_differentiable(arguments.differentiable.detach().requires_grad_())
    with torch.enable_grad(), plain_attention(), additions, passing(model):
        arguments.call(model)


def sums_in(model: nn.Module, arguments: CallArguments) -> int:
    """How many sums of two tensors that depend on inputs or parameters a pass comes by."""
    found: list[int] = []

    def summed(number: int, left: torch.Tensor, right: torch.Tensor) -> None:
        if left.requires_grad and right.requires_grad:
            found.append(number)

    run_with_gradients(model, arguments, Additions(summed))
    return len(found)


@contextmanager
def named_in_place(model: nn.Module, arguments: CallArguments) -> Iterator[None]:
    """Around passes with gradients: where an operation in place makes them impossible, its module is named.

    Args:
        model: the model.
        arguments: of the passes.

    Raises:
        DeclarationError: a pass failed; with the module from whose output no gradients go back, if there is one.
    """
    try:
        yield
    except DeclarationError as failed:
        error = failed.__cause__
        if not isinstance(error, RuntimeError) or not (where := first_without_gradients(model, arguments)):
            raise
        said = first_line(error)
        remedy = "do not change tensors in place there"
        raise DeclarationError(f"gradients through {where}", said, remedy) from error


class NonFinitePlace(Exception):  # it stops a pass and becomes an error behind it
    """Numbers are not finite at the module whose name it has."""


@contextmanager
def finite_numbers(model: nn.Module, arguments: CallArguments, doing: str) -> Iterator[None]:
    """Passes in which ``NonFinitePlace`` may be raised.

    Args:
        model: the model.
        arguments: of the passes.
        doing: what is done with a module, for the message.

    Raises:
        DeclarationError: it was raised; says where such numbers appear first, as a pass without hooks shows.
    """
    try:
        yield
    except NonFinitePlace as place:
        where = first_nonfinite(model, arguments)
        raise DeclarationError(
            f"{doing} {place}", f"numbers are not finite: {where}", "begin with weights that give finite numbers"
        ) from None
