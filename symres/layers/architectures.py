"""The usual layers, as functions of an activation. Adding one is one function and its name in the table below.

The first line of a docstring, up to the comma, is what ``symres list layers`` prints. gamma is the weight of the skip
connection, xi that of the branch; both may be numbers or parameters.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from types import MappingProxyType
from typing import ParamSpec

import sympy as sp

from ..activations.catalogue import Declared, activation
from ..activations.formula_parser import nearest
from ..core import symbols
from ..core.errors import DeclarationError
from ..core.scalars import Number, scalar, whole
from .layer import Layer
from .nodes import Dense
from .normalisation import BatchNorm, LayerNorm

_P = ParamSpec("_P")


def _architecture(build: Callable[_P, Layer]) -> Callable[_P, Layer]:
    """A function whose arguments are refused in words; numbers of what it leaves free are given to the layer."""
    signature = inspect.signature(build)
    arguments_of_build = list(signature.parameters)[1:]

    @wraps(build)
    def built(*arguments: _P.args, **numbers: _P.kwargs) -> Layer:
        expected = {name: value for name, value in numbers.items() if name in signature.parameters}
        try:
            signature.bind(*arguments, **expected)
        except TypeError as error:
            remedy = f"write {build.__name__}({', '.join(['phi', *arguments_of_build])})"
            raise DeclarationError(f"the layer {build.__name__}", str(error), remedy) from None
        layer = build(*arguments, **expected)  # type: ignore[arg-type]
        for name in numbers.keys() - expected.keys():
            raise _refused(layer, name, numbers[name], arguments_of_build)
        return layer

    return built


def _refused(layer: Layer, name: str, value: object, arguments: list[str]) -> DeclarationError:
    """An argument that the function of a layer does not have: C_W and C_b are numbers of the layer that it returns."""
    others = [str(s) for s in layer.parameters if str(s) not in arguments]
    if name in others:
        remedy = f"give that number to the layer: {layer.name}(...).subs({name}={value})"
    else:
        choice = f"it takes {', '.join(arguments)}" if arguments else "it takes the activation only"
        remedy = nearest(name, [*arguments, *others]) or f"{choice}, and its subs() {', '.join(others)}"
    return DeclarationError(f"the layer {layer.name}", f"it has no argument {name}", remedy)


@_architecture
def mlp(phi: Declared) -> Layer:
    """Multilayer perceptron, ``z' = Dense(phi(z))``.

    Examples:
        >>> sr.mlp("threshold(0, 1)").derive().kernel_map.expr  # z above 0, else 1
        C_W*(K/2 + 1/2) + C_b
    """
    return Layer(Dense(activation(phi)(symbols.z)), "mlp")


@_architecture
def residual(phi: Declared, gamma: Number = symbols.gamma, xi: Number = 1) -> Layer:
    """Residual perceptron, ``z' = gamma*z + xi*Dense(phi(z))`` (PDLT (B.3)).

    Examples:
        >>> sr.residual("abs(z)*z", gamma="1/2", xi="1/3").derive().kernel_map.expr  # <z^4> = 3 K^2
        C_W*K**2/3 + C_b/9 + K/4
    """
    branch = Dense(activation(phi)(symbols.z))
    return Layer(_skip(gamma) + scalar(xi, "xi") * branch, "residual")


@_architecture
def pre_ln(phi: Declared, gamma: Number = 0) -> Layer:
    """LayerNorm on preactivations, ``z' = gamma*z + Dense(phi(LayerNorm(z)))`` (Doshi et al. (61)).

    Examples:
        >>> sr.pre_ln("abs", gamma=1).derive().chi_perp.expr
        C_W/K + 1
    """
    return Layer(_skip(gamma) + Dense(activation(phi)(LayerNorm(symbols.z))), "pre_ln")


@_architecture
def ln_act(phi: Declared, gamma: Number = 0) -> Layer:
    """LayerNorm on activations, ``z' = gamma*z + Dense(LayerNorm(phi(z)))`` (Doshi et al. (49)).

    Examples:
        The variance of relu is ``K/2 - K/(2 pi)``, and the mean square of its slope 1/2:

        >>> sr.ln_act("relu").derive().chi_perp.expr
        pi*C_W/(K*(-1 + pi))
    """
    return Layer(_skip(gamma) + Dense(LayerNorm(activation(phi)(symbols.z))), "ln_act")


@_architecture
def batch_norm(phi: Declared, gamma: Number = 0, units: int = 1) -> Layer:
    """BatchNorm on preactivations, ``z' = gamma*z + branch`` with so many units ``u -> Dense(phi(BatchNorm(u)))``.

    One unit is Doshi et al. (24) and (25), two are the block of (26).

    Examples:
        >>> theory = sr.batch_norm("relu").derive()
        >>> theory.kernel_map.expr, theory.covariance_map.expr
        (C_W/2 + C_b, C_W/(2*pi) + C_b)
    """
    branch = symbols.z
    for _ in range(whole(units, "units", 1)):
        branch = Dense(activation(phi)(BatchNorm(branch)))
    return Layer(_skip(gamma) + branch, "batch_norm")


@_architecture
def two_layer_block(phi: Declared, gamma: Number = 1, xi: Number = symbols.xi) -> Layer:
    """Residual two-layer block, ``z' = gamma*z + xi*Dense(phi(Dense(z)))`` (Chizat, section 1.1, for wide streams).

    Examples:
        >>> sr.two_layer_block("relu").derive().kernel_map.expr
        C_W**2*K*xi**2/2 + C_W*C_b*xi**2/2 + C_b*xi**2 + K
    """
    return Layer(_skip(gamma) + scalar(xi, "xi") * Dense(activation(phi)(Dense(symbols.z))), "two_layer_block")


def _skip(gamma: Number) -> sp.Expr:
    return scalar(gamma, "gamma") * symbols.z


architectures: Mapping[str, Callable[..., Layer]] = MappingProxyType(
    {build.__name__: build for build in (mlp, residual, pre_ln, ln_act, batch_norm, two_layer_block)}
)
