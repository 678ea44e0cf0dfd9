"""Derivatives of a model's outputs in its parameters, and the products of those of pairs of inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import torch
from torch import nn
from torch.func import functional_call, jacrev

from ...core.errors import DeclarationError
from ..models.arguments_of_models import CallArguments
from ..models.structures import first_tensor

_NUMBERS = 2**26  # of derivatives that are held at a time, half a gigabyte of doubles

Parameters = Mapping[str, torch.Tensor]
Groups = Mapping[str, frozenset[str]]


def kernel_shares(
    model: nn.Module,
    parameters: Parameters,
    one: CallArguments,
    other: CallArguments | None,
    groups: Groups,
    report: Callable[[float], None] = lambda share: None,
) -> tuple[dict[str, np.ndarray], int]:
    """``(1/n) sum_i sum_p (df_i(x)/dp) (df_i(y)/dp)`` over the n outputs, for the parameters of each group.

    Args:
        model: that works on copies of its weights.
        parameters: in which is differentiated, by name; the model's other ones stay as they are.
        one: the inputs x.
        other: the inputs y; None: the same.
        groups: names of parameters.
        report: told which share is done.

    Returns:
        Arrays of shape (inputs x, inputs y), by group, and the number of outputs of an input.

    Raises:
        DeclarationError: the model has no floating-point output.
    """
    outputs = next(iter(_rows(model, parameters, next(_each(one))).values())).shape[0]
    most = max(1, _NUMBERS // (outputs * sum(p.numel() for p in parameters.values())))
    second = one if other is None else other
    found = {name: np.zeros((one.size, second.size)) for name in groups}
    for rows, some in one.parts(most):
        left = _stacked(model, parameters, some)
        for columns, others in second.parts(most):
            if other is None and columns.start < rows.start:
                continue  # the matrix is symmetric
            is_same = other is None and columns == rows
            right = left if is_same else _stacked(model, parameters, others)
            for group, names in groups.items():
                products = (torch.einsum("aop,bop->ab", left[name], right[name]) for name in names)
                block = sum(np.asarray(product.double().cpu()) for product in products) / outputs
                found[group][rows, columns] = block
                if other is None and not is_same:
                    found[group][columns, rows] = np.transpose(block)
        report(rows.stop / one.size)
    return found, outputs


def _stacked(model: nn.Module, parameters: Parameters, arguments: CallArguments) -> dict[str, torch.Tensor]:
    """Derivatives of the outputs of some inputs, shape (inputs, outputs, entries), by parameter."""
    rows = [_rows(model, parameters, each) for each in _each(arguments)]
    return {name: torch.stack([row[name] for row in rows]) for name in parameters}


def _each(arguments: CallArguments) -> Iterator[CallArguments]:
    return (some for _, some in arguments.parts(1))


def _rows(model: nn.Module, parameters: Parameters, arguments: CallArguments) -> dict[str, torch.Tensor]:
    """Derivatives of all outputs of one input, shape (outputs, entries), by parameter."""

    def outputs(given: dict[str, torch.Tensor]) -> torch.Tensor:
        copies = arguments.map(torch.clone)
        tensor = first_tensor(functional_call(model, given, copies.args, dict(copies.kwargs)))
        if tensor is None:
            asked, remedy = f"the tangent kernel of {type(model).__name__}", "pass a model with floating-point outputs"
            raise DeclarationError(asked, "it returns no floating-point numbers", remedy)
        return tensor.reshape(-1)

    try:
        found = jacrev(outputs)(dict(parameters))
    except (RuntimeError, NotImplementedError):  # an operation that torch.func has no rule for
        leaves = {name: p.detach().clone().requires_grad_() for name, p in parameters.items()}
        with torch.enable_grad():
            rows = [
                torch.autograd.grad(row, list(leaves.values()), retain_graph=True, allow_unused=True)
                for row in outputs(leaves)
            ]
        zeros = [torch.zeros_like(leaf) for leaf in leaves.values()]
        full = ([z if g is None else g for g, z in zip(row, zeros, strict=True)] for row in rows)
        found = dict(zip(leaves, map(torch.stack, zip(*full, strict=True)), strict=True))
    return {name: rows.detach().flatten(1) for name, rows in found.items()}
