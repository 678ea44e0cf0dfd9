"""Modules that are meant where nobody says which: residual blocks, or else dense and convolutional layers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from torch import nn

_CONTAINERS = (nn.ModuleList, nn.Sequential)
_DENSE = (nn.Linear, nn.Bilinear, nn.modules.conv._ConvNd)


def residual_blocks(model: nn.Module) -> dict[str, nn.Module]:
    """The repeated blocks of a model, by qualified name, in the order of declaration.

    Blocks are children of a ``ModuleList`` or ``Sequential`` that have children themselves and whose type occurs at
    least twice among such children. Of nested ones the outermost counts, but a plain container whose children are
    blocks (the stage of a ResNet) is opened.

    Returns:
        Empty where nothing is repeated.
    """
    found: dict[str, nn.Module] = {}
    _collect(model, "", found)
    counts = Counter(map(type, found.values()))
    return {name: module for name, module in found.items() if counts[type(module)] > 1}


def block_finder(model: nn.Module) -> Callable[[str], str]:
    """A function that gives the repeated block in which a module is, by its name; empty for none."""
    blocks = residual_blocks(model)
    return lambda name: next((block for block in blocks if f"{name}.".startswith(f"{block}.")), "")


def _collect(module: nn.Module, prefix: str, found: dict[str, nn.Module]) -> None:
    for name, child in module.named_children():
        path = f"{prefix}{name}"
        if isinstance(module, _CONTAINERS) and any(True for _ in child.children()):
            inner: dict[str, nn.Module] = {}
            if isinstance(child, _CONTAINERS):
                _collect(child, f"{path}.", inner)
            found.update(inner or {path: child})
        else:
            _collect(child, f"{path}.", found)


def dense_layers(model: nn.Module) -> dict[str, nn.Module]:
    """The dense and convolutional layers of a model, by qualified name, in the order of declaration."""
    return {name: module for name, module in model.named_modules() if isinstance(module, _DENSE)}
