"""The usual layers. Adding one is one function and its name in the table below."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from .. import symbols
from ..scalars import scalar
from .activation import Activation
from .catalogue import activation
from .layer import Layer
from .nodes import Dense


def mlp(phi: Activation | str) -> Layer:
    """Multilayer perceptron, ``z' = Dense(phi(z))``."""
    return Layer(Dense(activation(phi)(symbols.z)), "mlp")


def residual(phi: Activation | str, gamma: Any = symbols.gamma, xi: Any = 1) -> Layer:
    """Residual perceptron, ``z' = gamma*z + xi*Dense(phi(z))`` (PDLT (B.3))."""
    branch = Dense(activation(phi)(symbols.z))
    return Layer(scalar(gamma, "gamma") * symbols.z + scalar(xi, "xi") * branch, "residual")


architectures: Mapping[str, Callable[..., Layer]] = MappingProxyType({"mlp": mlp, "residual": residual})
