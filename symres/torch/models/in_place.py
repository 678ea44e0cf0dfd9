"""What a model changes in place: its input, or a tensor that its gradients need."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import torch
from torch import nn

from ...core.errors import DeclarationError
from .arguments_of_models import CallArguments
from .keeping import kept
from .observing import hooked
from .structures import first_tensor, tensors
from .wording import first_line, module_in_words


@contextmanager
def input_changes(model: nn.Module) -> Iterator[dict[str, None]]:
    """Around a pass: the modules, by name and type, that change in place what enters the model.

    Of several inside of each other it is the innermost. Tensors are not kept alive.
    """
    found: dict[str, None] = {}
    followed: list[tuple[weakref.ref[torch.Tensor], int]] = []
    running: list[str] = []

    def look() -> None:
        """Note what has changed since the last module began or ended."""
        kept = []
        for each, version in followed:
            tensor = each()
            if tensor is not None and tensor._version == version:
                kept.append((each, version))
            elif tensor is not None and running:
                found[running[-1]] = None
        followed[:] = kept

    def entering(name: str, module: nn.Module, args: object, kwargs: object) -> None:
        look()
        running.append(module_in_words(name, module))
        if module is model:
            followed.extend((weakref.ref(t), t._version) for t in tensors((args, kwargs)))

    def leaving(*call: object) -> None:
        look()
        running.pop()

    with hooked(dict(model.named_modules()), entering, leaving):
        yield found


class _Broken(Exception):  # it stops a pass
    """A module from whose output no gradients go back."""


def first_without_gradients(model: nn.Module, arguments: CallArguments) -> str:
    """The first module from whose output gradients cannot go back to input and weights, in words; empty for none.

    Where an operation in place has overwritten what gradients need, it is the module that ends first after it.
    """
    broken: list[str] = []
    given = arguments.map(torch.clone)
    weights = list(model.parameters())
    leaf = given.differentiable
    if leaf is not None:
        leaf = leaf.detach().requires_grad_()
        given = given.with_differentiable(leaf.clone())
        weights = [leaf, *weights]

    def leaving(name: str, module: nn.Module, args: object, kwargs: object, output: object) -> None:
        tensor = first_tensor(output)
        if tensor is None or not tensor.requires_grad or not weights:
            return
        try:
            torch.autograd.grad(
                tensor.sum(), [w for w in weights if w.requires_grad], retain_graph=True, allow_unused=True
            )
        except RuntimeError:
            broken.append(module_in_words(name, module))
            raise _Broken from None

    modules = dict(model.named_modules())
    with kept(model, train=None, dtype=None, device=None), suppress(_Broken, RuntimeError), torch.enable_grad():
        for parameter in model.parameters():
            parameter.requires_grad_(parameter.is_floating_point())
        with hooked(modules, leaving=leaving):
            model(*given.args, **given.kwargs)
    return broken[0] if broken else ""


def without_gradients(model: nn.Module, arguments: CallArguments, error: RuntimeError) -> DeclarationError:
    """What to say of a model whose gradients PyTorch does not compute: the module, if it is found."""
    said = first_line(error).split(" Hint: ")[0]  # which is about anomaly detection
    if where := first_without_gradients(model, arguments):
        return DeclarationError(f"gradients through {where}", said, "do not change tensors in place there")
    remedy = "the model must be differentiable in reverse mode; checkpoints need use_reentrant=False"
    return DeclarationError("gradients at the places of the model", said, remedy)
