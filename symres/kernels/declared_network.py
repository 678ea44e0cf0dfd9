"""Networks as users declare them, and their generated modules: known by functions and text, never by a target."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.abc import InspectLoader
from types import ModuleType
from typing import Any, TypeAlias

from ..activations.activation import Activation
from ..codegen.module import Module
from ..core.errors import DeclarationError
from ..core.scalars import Number, whole
from ..core.symbols import z
from ..layers.layer import Layer
from ..layers.nodes import Dense
from ..report.export import export
from ..theory.depth.network import Network
from ..theory.theory import Theory, derive, network

Declared: TypeAlias = Network | Theory | Layer | Activation | str

KERNELS = ("nngp", "tangent")  # in the order in which a generated module returns them


def place_of(kernel: str) -> int:
    """The place of a kernel in what ``dual_kernel`` returns.

    Raises:
        DeclarationError: there is no such kernel.
    """
    if kernel not in KERNELS:
        raise DeclarationError(f"the kernel {kernel!r}", "unknown kernel", f"use one of {', '.join(KERNELS)}")
    return KERNELS.index(kernel)


def without_tangent_kernel(asked: str, remedy: str = 'use kernel="nngp"') -> DeclarationError:
    """The error of a network whose tangent kernel is infinite for equal inputs."""
    found = "it is infinite for equal inputs: after a trained layer, the slope of an activation has no mean square"
    return DeclarationError(asked, found, remedy)


def function_of(module: ModuleType, name: str) -> Callable[..., tuple[Any, Any]]:
    """A public function of the module of a network.

    Raises:
        DeclarationError: the module has none of this name: it is no network's.
    """
    function = vars(module).get(name)
    if not callable(function):
        asked = f"the kernel of the module {module.__name__}"
        raise DeclarationError(asked, f"it has no function {name}", "pass the export of a network")
    return function


def parameters_of(module: ModuleType) -> tuple[str, ...]:
    """The names of the parameters that ``dual_kernel_matrix`` takes."""
    arguments = inspect.signature(function_of(module, "dual_kernel_matrix")).parameters.values()
    return tuple(a.name for a in arguments if a.kind is a.KEYWORD_ONLY)


@dataclass(frozen=True)
class ModuleSource:
    """A module that other processes can make again, and that is known by its text."""

    text: str  # of the module
    exported: Module | None = None  # what makes the module of it; None where running the text does

    @lru_cache(maxsize=8)  # noqa: B019 (sources are equal by their text, and so few are kept that they may live on)
    def load(self) -> ModuleType:
        """The module, made once in each process."""
        if self.exported is not None:
            return self.exported.load()
        module = ModuleType("symres_kernel_of_a_file")
        exec(compile(self.text, f"<{module.__name__}>", "exec"), module.__dict__)
        return module


def loaded(module: Module | ModuleType) -> ModuleType:
    """A module that can be called.

    Args:
        module: what ``sr.export`` returned, loaded or not, or a module that was imported from its file.

    Raises:
        DeclarationError: it is no module.
    """
    found = module.load() if isinstance(module, Module) else module
    if not isinstance(found, ModuleType):
        remedy = "pass what sr.export(network) returns"
        raise DeclarationError(f"the kernel matrix of {module!r}", "it is not a generated module", remedy)
    return found


def source_of(module: Module | ModuleType) -> ModuleSource:
    """A module by its text.

    Args:
        module: what ``sr.export`` returned, or a module that was imported from its file.

    Raises:
        DeclarationError: it is no module, or it does not know its text.
    """
    if isinstance(module, Module):
        return ModuleSource(module.text, module)
    module = loaded(module)
    loader = module.__loader__
    text = loader.get_source(module.__name__) if isinstance(loader, InspectLoader) else None
    if not text:
        remedy = "pass what sr.export returned, without .load(), or a module imported from its file"
        raise DeclarationError(f"the text of the module {module.__name__}", "the module does not keep its text", remedy)
    return ModuleSource(text)


def declared_network(declared: Declared, depth: Number | None) -> Network:
    """The network of a declaration.

    Args:
        declared: a Network, taken as it is; or a layer, its theory, an activation, its name or its formula.
        depth: so many of these layers stand behind a read-in ``Dense(z)``; None for a Network.

    Raises:
        DeclarationError: it is none of these; a depth is missing, or given for a Network.
    """
    if isinstance(declared, Network):
        if depth is not None:
            found = f"a network of {declared.depth} layers has a depth already"
            raise DeclarationError(f"a kernel of depth {depth}", found, "leave depth out, or pass a layer")
        return declared
    if not isinstance(declared, Theory | Layer | Activation | str):
        remedy = "pass a network, a layer, an activation or its name"
        raise DeclarationError(f"the kernel of {declared!r}", "it is not a network", remedy)
    if depth is None:
        raise DeclarationError(f"the kernel of {declared}", "the depth is missing", "pass depth=, the number of layers")
    return _of_layers(derive(declared).layer, whole(depth, "depth", 1))


@lru_cache(maxsize=32)
def _of_layers(layer: Layer, depth: int) -> Network:
    """So many layers behind a read-in: declared once, scikit-learn makes copies of its kernels at every step."""
    return network([Layer(Dense(z)), *[layer] * depth])


@lru_cache(maxsize=32)
def require_kernel(declared: Network, kernel: str) -> int:
    """Make sure that a network has a kernel.

    Args:
        declared: the network.
        kernel: "nngp" or "tangent".

    Returns:
        its place in what the module of a network returns.

    Raises:
        DeclarationError: there is no kernel of this name, or it is infinite.
    """
    place = place_of(kernel)
    if KERNELS[place] == "tangent" and not declared.has_tangent_kernel:
        names = dict.fromkeys(formula.name for theory in declared.layers for formula in theory.layer.formulas)
        asked = f"the tangent kernel of {', '.join(names) or 'linear layers'}"
        if all(theory.ntk_map.expr is not None for theory in declared.layers):
            raise without_tangent_kernel(asked)
        raise without_tangent_kernel(asked, "use another activation")  # there is no code for such a network at all
    return place


@lru_cache(maxsize=32)
def loaded_export(declared: Network, target: str) -> ModuleType:
    """The generated module of a network: it is made once, optimisers evaluate kernels hundreds of times."""
    return export(declared, target).load()
