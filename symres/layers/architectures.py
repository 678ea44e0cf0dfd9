"""The usual layers, as functions of an activation. Adding one is one function and its name in the table below.

The first line of a docstring, up to the comma, is what ``symres list layers`` prints. gamma is the weight of the skip
connection, xi that of the branch; both may be numbers or parameters.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from types import MappingProxyType
from typing import ParamSpec, TypeVar

import sympy as sp

from ..activations.catalogue import Declared, activation
from ..activations.formula_parser import nearest
from ..core import symbols
from ..core.errors import DeclarationError
from ..core.scalars import Number, scalar, whole
from .layer import Layer
from .mixing import Attention, Conv, TokenMix
from .nodes import Dense
from .normalisation import BatchNorm, LayerNorm, RMSNorm

_P = ParamSpec("_P")
Choice = TypeVar("Choice")


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


@_architecture
def transformer(
    phi: Declared,
    norm: str = "layer",
    place: str = "pre",
    gated: bool = False,
    gamma: Number = 1,
    C_A: Number = symbols.C_A,
    C_Q: Number = 1,
    C_K: Number = 1,
    C_1: Number = symbols.C_1,
    C_2: Number = symbols.C_2,
    C_3: Number = symbols.C_3,
    C_b: Number = 0,
) -> Layer:
    """Transformer block, ``h = gamma*z + Attention(norm(z))`` and ``z' = gamma*h + Dense(phi(Dense(norm(h))))``.

    Args:
        phi: the activation.
        norm: "layer" for LayerNorm, "rms" for RMSNorm.
        place: of the normalisers, "pre" for branches' inputs, "post" for sums.
        gated: whether the activation multiplies a second dense layer, of variance C_3 (SwiGLU).
        gamma: weight of the skip connections.
        C_A: of the attention, C_O*C_V.
        C_Q: of its queries.
        C_K: of its keys.
        C_1: of the first dense layer.
        C_2: of the second.
        C_3: of the one that the activation multiplies.
        C_b: variance of the biases of dense layers and behind the heads.

    Examples:
        >>> theory = sr.transformer("relu", C_A=1, C_1=2, C_2=1).derive(positions=sr.Tokens(1))
        >>> theory.kernel_map.expr  # attention to oneself is a dense layer
        K + 2
    """
    function = activation(phi)
    normalise = _choice("norm", norm, {"layer": LayerNorm, "rms": RMSNorm})
    before, after = _choice("place", place, {"pre": (normalise, _same), "post": (_same, normalise)})

    def perceptron(u: sp.Expr) -> sp.Expr:
        hidden = function(Dense(u, C_1, C_b))
        return Dense(hidden * Dense(u, C_3, C_b) if gated else hidden, C_2, C_b)

    h = after(_skip(gamma) + Attention(before(symbols.z), C_A, C_b, C_Q, C_K))
    return Layer(after(scalar(gamma, "gamma") * h + perceptron(before(h))), "transformer")


@_architecture
def conv_resnet(
    phi: Declared,
    norm: str = "layer",
    gamma: Number = 1,
    size: int = 3,
    C_1: Number = symbols.C_1,
    C_2: Number = symbols.C_2,
    C_b: Number = 0,
) -> Layer:
    """Pre-activation convolutional block, ``z' = gamma*z + Conv(phi(norm(Conv(phi(norm(z))))))``.

    Args:
        phi: the activation.
        norm: "layer" for LayerNorm, "rms" for RMSNorm, "batch" for BatchNorm.
        gamma: weight of the skip connection.
        size: of windows, along each axis.
        C_1: of the first convolution.
        C_2: of the second.
        C_b: variance of their biases.

    Examples:
        >>> sr.conv_resnet("relu", C_1=2, C_2=2).derive().kernel_map.expr  # each branch has the mean square 2/2
        K + 1
    """
    function = activation(phi)
    normalise = _choice("norm", norm, {"layer": LayerNorm, "rms": RMSNorm, "batch": BatchNorm})
    inner = Conv(function(normalise(symbols.z)), C_1, C_b, size)
    return Layer(_skip(gamma) + Conv(function(normalise(inner)), C_2, C_b, size), "conv_resnet")


@_architecture
def mixer(phi: Declared, gamma: Number = 1, C_1: Number = symbols.C_1, C_2: Number = symbols.C_2) -> Layer:
    """MLP-Mixer block, a perceptron over tokens and one over neurons, each behind a LayerNorm.

    Args:
        phi: the activation.
        gamma: weight of the skip connections.
        C_1: of the first layer of each perceptron.
        C_2: of the second.

    Examples:
        >>> sr.mixer("erf", C_1=1, C_2=3).derive(positions=sr.Tokens("oo")).kernel_map.expr
        K + 12*asin(2/3)/pi
    """
    function = activation(phi)
    h = _skip(gamma) + TokenMix(function(TokenMix(LayerNorm(symbols.z), C_1)), C_2)
    return Layer(scalar(gamma, "gamma") * h + Dense(function(Dense(LayerNorm(h), C_1, 0)), C_2, 0), "mixer")


def _skip(gamma: Number) -> sp.Expr:
    return scalar(gamma, "gamma") * symbols.z


def _same(u: sp.Expr) -> sp.Expr:
    return u


def _choice(name: str, value: str, choices: Mapping[str, Choice]) -> Choice:
    """What a word stands for.

    Raises:
        DeclarationError: it is another.
    """
    if value not in choices:
        remedy = f"pass {' or '.join(choices)}"
        raise DeclarationError(f"a layer with {name} = {value}", "it is unknown", remedy)
    return choices[value]


_ALL = (mlp, residual, pre_ln, ln_act, batch_norm, two_layer_block, transformer, conv_resnet, mixer)
architectures: Mapping[str, Callable[..., Layer]] = MappingProxyType({build.__name__: build for build in _ALL})
