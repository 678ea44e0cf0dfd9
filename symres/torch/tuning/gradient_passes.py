"""Passes of a model in which every tensor has its graph."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from ...core.errors import DeclarationError
from ..models.arguments_of_models import CallArguments
from ..models.in_place import first_without_gradients
from ..models.model_state import first_nonfinite
from ..models.passing import passing
from ..models.wording import first_line
from ..probing.network_passes import plain_attention
from .additions import Additions


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
