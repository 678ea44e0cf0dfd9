"""What a model changes in place: its input, or a tensor that its gradients need."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import nn

from .arguments_of_models import CallArguments
from .structures import first_tensor, tensors

_NAMED = 4  # modules in a message


@dataclass
class InputChanges:
    """Modules that change what the model is given in place.

    Args:
        modules: by name and type, the innermost that was running.
    """

    modules: dict[str, None] = field(default_factory=dict)

    @property
    def remarks(self) -> list[str]:
        """What a user should know, a line if there is something."""
        if not self.modules:
            return []
        return [f"{_some(self.modules)} changes the model's input in place: each pass was given a copy of it"]


@contextmanager
def input_changes(model: nn.Module) -> Iterator[InputChanges]:
    """Around a pass: which modules change in place what enters the model. Tensors are not kept alive."""
    found = InputChanges()
    followed: list[tuple[weakref.ref[torch.Tensor], int]] = []
    running: list[str] = []
    handles = []

    def look() -> None:
        """Note what has changed since the last module began or ended."""
        kept = []
        for each, version in followed:
            tensor = each()
            if tensor is not None and tensor._version == version:
                kept.append((each, version))
            elif tensor is not None and running:
                found.modules[running[-1]] = None
        followed[:] = kept

    def entering(name: str) -> Callable[..., None]:
        def hook(module: nn.Module, args: object, kwargs: object) -> None:
            look()
            running.append(_told(name, module))
            if module is model:
                followed.extend((weakref.ref(t), t._version) for t in tensors((args, kwargs)))

        return hook

    def leaving(module: nn.Module, args: object, output: object) -> None:
        look()
        running.pop()

    try:
        for name, module in model.named_modules():
            if not isinstance(module, torch.jit.ScriptModule):  # these take no hooks
                handles.append(module.register_forward_pre_hook(entering(name), with_kwargs=True))
                handles.append(module.register_forward_hook(leaving))
        yield found
    finally:
        for handle in handles:
            handle.remove()


class _Broken(Exception):  # it stops a pass
    """A module from whose output no gradients go back."""


def first_without_gradients(model: nn.Module, arguments: CallArguments) -> str:
    """The first module from whose output gradients cannot go back to the input, in words; empty if there is none.

    Where an operation in place has overwritten what gradients need, it is the module that ends first after it.
    """
    found: list[str] = []
    given = arguments.map(torch.clone)
    weights = [parameter for parameter in model.parameters() if parameter.requires_grad]
    leaf = given.differentiable
    if leaf is not None:
        leaf = leaf.detach().requires_grad_()
        given = given.with_differentiable(leaf.clone())
        weights = [leaf, *weights]

    def watch(name: str, module: nn.Module) -> torch.utils.hooks.RemovableHandle:
        def hook(_: nn.Module, args: object, output: object) -> None:
            tensor = first_tensor(output)
            if tensor is None or not tensor.requires_grad or not weights:
                return
            try:
                torch.autograd.grad(tensor.sum(), weights, retain_graph=True, allow_unused=True)
            except RuntimeError:
                found.append(_told(name, module))
                raise _Broken from None

        return module.register_forward_hook(hook)

    handles = []
    try:
        for name, module in model.named_modules():
            if not isinstance(module, torch.jit.ScriptModule):
                handles.append(watch(name, module))
        with torch.enable_grad():
            model(*given.args, **given.kwargs)
    except (_Broken, RuntimeError):
        pass
    finally:
        for handle in handles:
            handle.remove()
    return found[0] if found else ""


def _told(name: str, module: nn.Module) -> str:
    return f"{name} ({type(module).__name__})" if name else type(module).__name__


def _some(names: dict[str, None]) -> str:
    listed = list(names)
    return ", ".join(listed[:_NAMED]) + (f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else "")
