"""A model, and the random numbers of the process, as they were before, whatever is done inside of a context.

And a pass of a model whose own mistakes are one clear error.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn

from ...core.errors import DeclarationError, SymresError
from ...core.words import abbreviated
from .call_arguments import converted

_COPIED = (dict, OrderedDict, list, set)  # attributes of modules whose contents are put back
_SEEDS = 2**32  # of NumPy
# what the code of a model raises for inputs that it cannot take, or by a mistake of its own
_MISTAKES = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
_DRAWN = 2**53  # seeds that are drawn: integers that JSON keeps


def required_module(model: object) -> None:
    """Refuse what is not a model.

    Raises:
        DeclarationError: it is no module of PyTorch.
    """
    if not isinstance(model, nn.Module):
        raise DeclarationError(f"a model of the type {type(model).__name__}", "it is not an nn.Module", "pass a module")


def in_train_mode(mode: str | None) -> bool | None:
    """What a user calls "train", "eval" or None: whether a model is in train mode; None: as it is.

    Raises:
        DeclarationError: there is no such mode.
    """
    modes = {"train": True, "eval": False, None: None}
    if mode not in modes:
        raise DeclarationError(f"mode={mode!r}", "unknown mode", "use 'eval', 'train' or None")
    return modes[mode]


@contextmanager
def kept(
    model: nn.Module,
    *,
    train: bool | None = None,
    dtype: torch.dtype | None = None,
    device: torch.device | None = None,
) -> Iterator[None]:
    """Let a model work on copies of its weights and buffers, without gradients of weights; afterwards all is as before.

    Put back are weights, buffers, gradients, ``requires_grad``, modes, hooks and other attributes of the modules, also
    after an exception. A pass that renormalises weights or updates statistics changes copies only.

    Args:
        model: the model.
        train: train mode, eval mode, or None: each module's own.
        dtype: of floating-point weights inside of the context; None: their own.
        device: of the copies; None: their own.

    Raises:
        DeclarationError: a module has no weights yet (a lazy one).
    """
    for name, parameter in model.named_parameters():
        if nn.parameter.is_lazy(parameter):
            raise DeclarationError(
                f"the model {type(model).__name__}", f"{name} has no shape yet", "call the model once on its inputs"
            )
    attributes = [(module, dict(module.__dict__)) for module in model.modules()]
    contents: list[tuple[Any, Any]] = [
        (value, value.copy()) for _, values in attributes for value in values.values() if type(value) in _COPIED
    ]
    parameters = [(p, p.data, p.grad, p.requires_grad) for p in model.parameters()]
    try:
        for parameter, data, _, _ in parameters:
            parameter.grad = None
            parameter.requires_grad_(False)
            parameter.data = converted(data, dtype, device)
        copies: dict[int, torch.Tensor] = {}
        for module in model.modules():
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    module._buffers[name] = copies.setdefault(id(buffer), converted(buffer, dtype, device))
        if train is not None:
            model.train(train)
        yield
    finally:
        for parameter, data, gradient, wanted in parameters:
            parameter.data = data
            parameter.requires_grad_(wanted)
            parameter.grad = gradient
        for module, values in attributes:
            module.__dict__.clear()
            module.__dict__.update(values)
        for value, content in contents:
            value.clear()
            (value.extend if isinstance(value, list) else value.update)(content)


@contextmanager
def seeded(seed: int, device: torch.device | None = None) -> Iterator[None]:
    """Random numbers of PyTorch, NumPy and Python from a seed; afterwards they go on as if nothing had been drawn.

    Args:
        seed: of all of them.
        device: an accelerator whose random numbers are meant too.
    """
    devices = [device] if device is not None and device.type == "cuda" else []
    plain, array = random.getstate(), np.random.get_state()
    try:
        with torch.random.fork_rng(devices=devices):
            torch.manual_seed(seed)
            random.seed(seed)
            np.random.seed(seed % _SEEDS)
            yield
    finally:
        random.setstate(plain)
        np.random.set_state(array)


def drawn_seed(source: torch.Generator) -> int:
    """A seed from a generator."""
    return int(torch.randint(_DRAWN, (), generator=source, device=source.device))


def device_of(model: nn.Module, otherwise: torch.Tensor) -> torch.device:
    """The device of the first weight or buffer; of a model that has none, that of a tensor."""
    first = next(model.parameters(), None)
    first = next(model.buffers(), otherwise) if first is None else first
    return first.device


def first_line(error: BaseException) -> str:
    """What an error says first; its type where it says nothing."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def on_one_line(error: BaseException, most: int = 200) -> str:
    """What an error says, on one line of so many characters; its type where it says nothing."""
    return abbreviated(" ".join(str(error).split()) or type(error).__name__, most)


@contextmanager
def passing(model: nn.Module) -> Iterator[None]:
    """Around a call of a model.

    Raises:
        DeclarationError: the model raised; memory that does not suffice is left to who can ask for less.
    """
    try:
        yield
    except (SymresError, torch.cuda.OutOfMemoryError):
        raise
    except _MISTAKES as error:
        raise DeclarationError(
            f"a pass of {type(model).__name__}",
            f"it raised {type(error).__name__}: {first_line(error)}",
            "pass inputs that it takes: a tensor, a tuple by position, a dict by name",
        ) from error
