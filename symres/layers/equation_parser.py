"""Layers from the text of their forward equation, ``gamma*z + Dense(phi(z))``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import sympy as sp

from ..activations.activation import Activation
from ..activations.catalogue import Declared, activation, activations
from ..activations.foreign_names import foreign_remedy
from ..activations.formula_parser import NAME, PARSED_FUNCTIONS, VARIABLE, Function, nearest, parse
from ..core.errors import DeclarationError
from ..core.scalars import Number, scalar
from ..core.symbols import C_W, C_b, gamma, xi, z
from . import architectures
from . import mixing as mixing  # its nodes are known to equations
from . import normalisation as normalisation  # its nodes are known to equations
from .layer import Layer
from .nodes import PHI, Node, node_classes

_DEFINITION = re.compile(r"\s*([A-Za-z]\w*)\s*=(.*)", re.ASCII | re.DOTALL)
_LEFT_SIDE = re.compile(r"\s*[zx]'\s*=")  # of an equation as papers write it: the next stream
_ANSWERS = {"yes": True, "true": True, "on": True, "1": True, "no": False, "false": False, "off": False, "0": False}


def is_equation(text: str) -> bool:
    """Whether text is meant as a forward equation, and not as the name of a layer."""
    return "(" in text


def names_node(text: str) -> bool:
    """Whether text is a forward equation, and not a formula of an activation: a node occurs in it."""
    return not node_classes.keys().isdisjoint(NAME.findall(text))


def layer(text: str, /, phi: Declared | None = None, **parameters: Number) -> Layer:
    """The layer of a forward equation that is written as text, or of a name: what ``--layer`` takes.

    Args:
        text: the equation, ``"z + Dense(phi(z))"``, see ``written``; or a name of ``sr.architectures``.
        phi: the activation that ``phi`` stands for: an Activation, its name or its formula.
        parameters: numbers for names in the equation, for parameters of the activation and of the layer; a sympy
            symbol declares a name of the equation as a parameter.

    Raises:
        DeclarationError: what cannot be read, with its place; an equation that names phi, if there is none.
        UnsupportedLayer: what cannot be derived.

    Examples:
        A gated layer, ReGLU: the product of two wide dense layers, one of them rectified:

        >>> reglu = sr.layer("Dense(relu(Dense(z, 1, 0))*Dense(z, 1, 0))")
        >>> reglu.derive().kernel_map.expr  # K/2 times K
        C_W*K**2/2 + C_b
    """
    if not isinstance(text, str):
        remedy = 'pass text, as in layer="residual"; sr.derive takes an sr.Layer in the place of an activation'
        shown = getattr(text, "name", repr(text))
        raise DeclarationError(f"the layer {shown:.60}", "it is not a name or an equation", remedy)
    values = {name: scalar(value, name) for name, value in parameters.items()}
    inside = {name: value for name, value in values.items() if name in NAME.findall(text)}
    build = builder(text, inside, "the layer")
    inside |= {name: value for name, value in values.items() if name in options(build)}
    chosen, names = None, set[str]()
    if phi is not None:
        of_formula = set(NAME.findall(phi)) & values.keys() if isinstance(phi, str) else set[str]()
        chosen = activation(phi, **{name: values[name] for name in of_formula})
        names = {str(p) for p in chosen.parameters} & values.keys()
        chosen, names = chosen.subs(**{name: values[name] for name in names}), names | of_formula
    built = build(chosen, **{name: inside[name] for name in options(build) & inside.keys()})
    left = {name: value for name, value in values.items() if name not in names | inside.keys()}
    return built.subs(**left) if left else built


def builder(text: str, numbers: Mapping[str, sp.Expr], asked: str) -> Callable[..., Layer]:
    """The architecture of a name, or of a forward equation, as a function of the activation.

    Args:
        text: the name or the equation.
        numbers: what stands for names in the equation.
        asked: what the text was given as, for messages.

    Raises:
        DeclarationError: there is no such layer.
    """
    if is_equation(text):
        return lambda phi: written(text, phi, numbers)
    build = architectures.architectures.get(text.strip())
    if build is None:
        names = list(architectures.architectures)
        remedy = f"use {', '.join(names)}, or an equation: 'gamma*z + Dense(phi(LayerNorm(z)))'"
        remedy = foreign_remedy(text) or nearest(text, names) or remedy
        raise DeclarationError(f"{asked} {text}", "unknown layer", remedy)
    return build


def options(build: Callable[..., Layer]) -> set[str]:
    """The parameters of an architecture besides the activation."""
    return set(list(inspect.signature(build).parameters)[1:])


def words(build: Callable[..., Layer], settings: Mapping[str, str]) -> dict[str, str | bool]:
    """Settings of an architecture that are no numbers, ``norm=rms`` or ``gated=yes``, as it takes them.

    Raises:
        DeclarationError: neither yes nor no, for what is one of both.
    """
    chosen: dict[str, str | bool] = {}
    for name, argument in inspect.signature(build).parameters.items():
        if name in settings and isinstance(argument.default, bool):
            if (answer := _ANSWERS.get(settings[name].lower())) is None:
                raise DeclarationError(f"{name}={settings[name]}", "it is neither yes nor no", f"write {name}=yes")
            chosen[name] = answer
        elif name in settings and isinstance(argument.default, str):
            chosen[name] = settings[name]
    return chosen


def declared_layer(what: Layer | Declared, name: str | None = None, **numbers: Number) -> Layer:
    """The layer that something stands for.

    Args:
        what: a layer; text with a node in it, a forward equation; or an activation, its name or its formula.
        name: of an architecture for the activation, or a forward equation with ``phi``; by default "mlp".
        numbers: for parameters, by name.

    Raises:
        DeclarationError: a layer in the place of an activation; what ``layer`` refuses.
    """
    if isinstance(what, Layer) or (isinstance(what, str) and names_node(what)):
        if name is not None:
            remedy = 'name the activation first: "gelu" in the layer "z + Dense(phi(z))"'
            asked = f"the layer {name} of {getattr(what, 'name', what):.60}"
            raise DeclarationError(asked, "the subject is a layer already", remedy)
        return layer(what, **numbers) if isinstance(what, str) else what.subs(**numbers) if numbers else what
    if isinstance(what, str) and what.strip() in architectures.architectures:
        remedy = f'name an activation for it: sr.derive("gelu", layer="{what.strip()}")'
        raise DeclarationError(f"the theory of {what}", f"{what} is a layer of an activation", remedy)
    return layer("mlp" if name is None else name, phi=what, **numbers) if name or numbers else architectures.mlp(what)


def written(text: str, phi: Activation | None, parameters: Mapping[str, sp.Expr] = MappingProxyType({})) -> Layer:
    """The layer of a forward equation.

    Args:
        text: in z, ``phi``, every declared node by the name of its class (``Dense``, ``LayerNorm``...), activations
            by name, gamma, xi, variances, whose names begin with C_, and numbers: functions of numbers and parameters
            are numbers, ``z/sqrt(2)``. Every ``Dense`` draws weights of its own; what is used several times is given a
            name before or behind the equation: ``h = Dense(z); Dense(phi(h)*h)``, ``Dense(phi(h)*h), h = Dense(z)``. A
            left side ``z' =`` may stand before it. Arguments of nodes may be given by name: ``Dense(z, C_b=0)``.
        phi: the activation that ``phi`` stands for, and its own name as well; None if the equation does not name it.
        parameters: further names, and numbers for any.

    Raises:
        DeclarationError: what cannot be read, with its place; an equation without phi.
        UnsupportedLayer: what cannot be derived.
    """
    text = text[left.end() :] if (left := _LEFT_SIDE.match(text)) else text
    used: list[Activation] = []

    def chosen(u: sp.Expr) -> sp.Expr:
        if phi is None:
            remedy = 'pass one, sr.layer("...", phi="gelu") or symres derive gelu --layer "...", or write gelu(z)'
            raise DeclarationError(f"the layer {text}", "it contains phi, but no activation is passed for it", remedy)
        used.append(phi)
        return _value_or_atom(phi, u)

    functions: dict[str, Function] = {name: partial(_pointwise, name) for name in (*PARSED_FUNCTIONS, *activations)}
    functions |= {name: _NodeCall(node) for name, node in node_classes.items()}
    known = _variances(text) | {s.name: s for s in (gamma, xi, C_W, C_b)} | dict(parameters)
    functions[PHI] = chosen
    name_of_phi = None if phi is None else phi.formula.label()[0]
    if name_of_phi is not None and name_of_phi in activations:  # its name says phi too
        functions[name_of_phi] = lambda u, *values: _pointwise(name_of_phi, u, *values) if values else chosen(u)
    equation, definitions = _parts(text)
    known |= _defined(text, definitions, functions, known)
    forward = parse(equation, functions, known)
    if phi is not None and not used:
        raise DeclarationError(f"the layer {text}", f"the activation {phi.name} is not in it", "write phi(...)")
    return Layer(forward, " ".join(text.split()))


def _variances(text: str) -> dict[str, sp.Expr]:
    """The names of an equation that can only be variances: C_1 of a weight, C_b1 of a bias."""
    names = {name for name in NAME.findall(text) if name.startswith("C_")}
    is_bias = {name: name.startswith(C_b.name) for name in names}
    return {n: sp.Symbol(n, nonnegative=True) if b else sp.Symbol(n, positive=True) for n, b in is_bias.items()}


def _defined(
    text: str, definitions: list[tuple[str, str]], functions: dict[str, Function], known: dict[str, sp.Expr]
) -> dict[str, sp.Expr]:
    """What the names stand for, whatever their order."""
    names = [name for name, _ in definitions]
    for name in names:
        if name in known or name in functions or name in VARIABLE or names.count(name) > 1:
            raise DeclarationError(f"the layer {text}", f"the name {name} is already used", "take another name")
    pending, found = dict(definitions), dict[str, sp.Expr]()
    while pending:
        ready = [name for name, side in pending.items() if not pending.keys() & set(NAME.findall(side))]
        if not ready:
            raise DeclarationError(f"the layer {text}", f"{', '.join(pending)} refer to each other", "write one in z")
        found |= {name: parse(pending.pop(name), functions, known | found) for name in ready}
    return found


def _parts(text: str) -> tuple[str, list[tuple[str, str]]]:
    """The equation, and the names with their meanings behind it."""
    *before, last = text.split(";")  # none stands inside of brackets
    depth, parts = 0, [""]
    for character in last:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    matches = [_DEFINITION.fullmatch(part) for part in (*before, *parts[1:])]
    definitions = [(match[1], match[2]) for match in matches if match is not None]
    return (parts[0], definitions) if len(definitions) == len(matches) else (text, [])


@dataclass(frozen=True)
class _NodeCall:
    """A node as a function of equations.

    Args:
        node: its class.
    """

    node: type[Node]

    @property
    def settings(self) -> tuple[str, ...]:
        """The names of its arguments."""
        return self.node.argument_names[1:]

    @property
    def elsewhere(self) -> Mapping[str, str]:
        """What to do instead of passing it arguments that it does not have."""
        return self.node.elsewhere

    @property
    def words(self) -> Mapping[str, str]:
        """Words that stand for themselves, with the names of the arguments that they are values of."""
        return self.node.words

    def __call__(self, *arguments: sp.Expr, **named: Any) -> sp.Expr:
        """The node of some arguments.

        Raises:
            DeclarationError: too many.
        """
        names = self.node.argument_names
        if len(arguments) > len(names):
            found = f"{len(arguments)} arguments were passed, it takes at most {len(names)}"
            remedy = f"write {self.node.__name__}({', '.join(names)})"
            raise DeclarationError(f"the node {self.node.__name__}", found, remedy)
        return self.node(*arguments, **named)


def _pointwise(name: str, u: sp.Expr, *values: sp.Expr) -> sp.Expr:
    """An activation of the catalogue, with numbers for its parameters, or a function of formulas as one."""
    if name in activations:
        return _value_or_atom(activations.called(name, *values), u)
    if values or not u.has(z, Node):  # of several arguments; or a function of numbers and parameters is such a one
        return PARSED_FUNCTIONS[name][0](u, *values)
    return Activation(name, PARSED_FUNCTIONS[name][0](z), ())(u)


def _value_or_atom(phi: Activation, u: sp.Expr) -> sp.Expr:
    """An activation of neurons as an atom, of numbers and parameters as the function of these that it is."""
    return phi(u) if u.has(z, Node) else phi.expr.subs(z, u)
