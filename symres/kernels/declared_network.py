"""Which network a name, a layer or a list of layers stands for, and its generated modules."""

from __future__ import annotations

from functools import lru_cache
from types import ModuleType
from typing import TypeAlias

from ..activations.activation import Activation
from ..core.errors import DeclarationError
from ..core.scalars import Number, whole
from ..core.symbols import z
from ..layers.layer import Layer
from ..layers.nodes import Dense
from ..report.export import export
from ..theory.depth.network import Network
from ..theory.theory import Theory, derive, network
from .generated_module import KERNELS, place_of, without_tangent_kernel

Declared: TypeAlias = Network | Theory | Layer | Activation | str


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
        asked = f"the tangent kernel of {_names(declared)}"
        if all(theory.ntk_map.expr is not None for theory in declared.layers):
            raise without_tangent_kernel(asked)
        raise without_tangent_kernel(asked, "use another activation")  # there is no code for such a network at all
    return place


@lru_cache(maxsize=32)
def loaded_export(declared: Network, target: str) -> ModuleType:
    """The generated module of a network: it is made once, optimisers evaluate kernels hundreds of times."""
    return export(declared, target).load()


def _names(declared: Network) -> str:
    """The activations of a network, in the order of its layers."""
    names = dict.fromkeys(formula.name for theory in declared.layers for formula in theory.layer.formulas)
    return ", ".join(names) or "linear layers"
