"""Hooks at places of a model: what leaves a module, or enters it, each time that it is called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import torch
from torch import nn

from .call_arguments import first_tensor, with_first_tensor
from .choosing import ChosenModules


@contextmanager
def hooked(
    modules: Mapping[str, nn.Module],
    entering: Callable[..., object] | None = None,
    leaving: Callable[..., object] | None = None,
) -> Iterator[None]:
    """Hooks at modules while a context lasts; those of TorchScript take none.

    Args:
        modules: by name.
        entering: of the name, the module, its arguments by position and by name; what it returns takes their place.
        leaving: of the same and what the module gives; what it returns takes the place of that.
    """
    handles = []
    try:
        for name, module in modules.items():
            if isinstance(module, torch.jit.ScriptModule):
                continue
            if entering is not None:
                handles.append(module.register_forward_pre_hook(partial(entering, name), with_kwargs=True))
            if leaving is not None:
                handles.append(module.register_forward_hook(partial(leaving, name), with_kwargs=True))
        yield
    finally:
        for handle in handles:
            handle.remove()


@dataclass(frozen=True)
class Site:
    """A place in a model: one side of one call of a module.

    Args:
        module: the qualified name of the module.
        is_input: whether it is what enters the module, or what leaves it: the first tensor of floating-point numbers.
        call: of calls in one pass of the model, from 1.
    """

    module: str
    is_input: bool
    call: int


Action: TypeAlias = Callable[[Site, torch.Tensor], torch.Tensor | None]


@contextmanager
def watching(chosen: ChosenModules, action: Action) -> Iterator[None]:
    """Do something at every place that a pass inside of the context comes by; the hooks go afterwards.

    Args:
        chosen: modules of the model.
        action: of the place and its tensor; a tensor that it returns goes on in the place of the one that came.
    """
    calls: Counter[tuple[str, bool]] = Counter()

    def at(name: str, is_input: bool, value: object) -> object:
        tensor = first_tensor(value)
        if tensor is None:
            return None
        calls[name, is_input] += 1
        new = action(Site(name, is_input, calls[name, is_input]), tensor)
        return None if new is None else with_first_tensor(value, new)

    def entering(name: str, module: nn.Module, args: object, kwargs: object) -> object:
        return at(name, True, (args, kwargs)) if name in chosen.entered else None

    def leaving(name: str, module: nn.Module, args: object, kwargs: object, output: object) -> object:
        return at(name, False, output) if chosen.left is None or name in chosen.left else None

    with hooked(chosen.modules, entering, leaving):
        yield


def sites_of(
    chosen: ChosenModules, run: Callable[[], object], visit: Callable[[Site, torch.Tensor], bool]
) -> list[Site]:
    """The places of a pass in the order in which it comes by.

    What enters a module is a place only where it is not what has just left another one.

    Args:
        chosen: modules of the model.
        run: the pass.
        visit: whether a place counts; it sees each tensor while the pass is there.
    """
    sites: list[Site] = []
    last: list[tuple[int, int, torch.Tensor]] = []  # kept alive, so that no other object gets its identity

    def note(site: Site, tensor: torch.Tensor) -> None:
        has_just_left = bool(last) and last[0][:2] == (id(tensor), tensor._version)
        if not site.is_input:
            last[:] = [(id(tensor), tensor._version, tensor)]
        if not (site.is_input and has_just_left) and visit(site, tensor):
            sites.append(site)

    with watching(chosen, note):
        run()
    return sites


def names_of(sites: list[Site]) -> list[str]:
    """What places are called: by the module; "input of h.0" is what enters h.0; "fc#2" its second call of several."""
    last = {(site.module, site.is_input): site.call for site in sites}
    names = []
    for site in sites:
        name = f"{site.module}#{site.call}" if last[site.module, site.is_input] > 1 else site.module
        names.append(f"input of {name}" if site.is_input else name)
    return names
