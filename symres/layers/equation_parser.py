"""Layers from the text of their forward equation, ``gamma*z + Dense(phi(z))``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

import sympy as sp

from ..activations.activation import Activation
from ..activations.catalogue import activation, activations
from ..activations.formula_parser import NAME, PARSED_FUNCTIONS, VARIABLE, Function, parse
from ..core.errors import DeclarationError
from ..core.symbols import gamma, xi, z
from . import normalisation as normalisation  # its nodes are known to equations
from .layer import Layer
from .nodes import PHI, Node, node_classes

_DEFINITION = re.compile(r"\s*([A-Za-z]\w*)\s*=(.*)", re.ASCII | re.DOTALL)


def is_equation(text: str) -> bool:
    """Whether text is meant as a forward equation, and not as the name of a layer."""
    return "(" in text


def written(text: str, phi: Activation, parameters: Mapping[str, sp.Expr] = MappingProxyType({})) -> Layer:
    """The layer of a forward equation.

    Args:
        text: in z, ``phi``, every declared node by the name of its class (``Dense``, ``LayerNorm``...), activations
            by name, gamma, xi and numbers. Every ``Dense`` draws weights of its own; what is used several times is
            given a name behind the equation: ``Dense(phi(h)*h), h = Dense(z)``.
        phi: the activation that ``phi`` stands for, and its own name as well.
        parameters: further names, and numbers for any.

    Raises:
        DeclarationError: what cannot be read, with its place; an equation without phi.
        UnsupportedLayer: what cannot be derived.
    """
    used: list[Activation] = []

    def chosen(u: sp.Expr) -> sp.Expr:
        used.append(phi)
        return phi(u)

    functions: dict[str, Function] = {name: partial(_pointwise, name) for name in (*PARSED_FUNCTIONS, *activations)}
    functions |= {name: partial(_node, node) for name, node in node_classes.items()}
    known = {s.name: s for s in (gamma, xi)} | dict(parameters)
    functions[PHI] = chosen
    own = phi.formula.label()[0]
    if own is not None and own in activations:  # its name says phi too
        functions[own] = lambda u, *values: _pointwise(own, u, *values) if values else chosen(u)
    equation, definitions = _parts(text)
    known |= _defined(text, definitions, functions, known)
    forward = parse(equation, functions, known)
    if not used:
        raise DeclarationError(f"the layer {text}", f"{phi.name} does not occur in it", "write phi(...) where it acts")
    return Layer(forward, " ".join(text.split()))


def _defined(
    text: str, definitions: list[tuple[str, str]], functions: dict[str, Function], known: dict[str, sp.Expr]
) -> dict[str, sp.Expr]:
    """What the names stand for, whatever their order."""
    names = [name for name, _ in definitions]
    for name in names:
        if name in known or name in functions or name in VARIABLE or names.count(name) > 1:
            raise DeclarationError(f"the layer {text}", f"{name} has a meaning already", "take another name")
    pending, found = dict(definitions), dict[str, sp.Expr]()
    while pending:
        ready = [name for name, side in pending.items() if not pending.keys() & set(NAME.findall(side))]
        if not ready:
            raise DeclarationError(f"the layer {text}", f"{', '.join(pending)} are made of each other", "end with z")
        found |= {name: parse(pending.pop(name), functions, known | found) for name in ready}
    return found


def _parts(text: str) -> tuple[str, list[tuple[str, str]]]:
    """The equation, and the names with their meanings behind it."""
    depth, parts = 0, [""]
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    found = [_DEFINITION.fullmatch(part) for part in parts[1:]]
    definitions = [(match[1], match[2]) for match in found if match is not None]
    return (parts[0], definitions) if len(definitions) == len(found) else (text, [])


def _node(node: type[Node], *arguments: sp.Expr) -> sp.Expr:
    names = node.argument_names
    if len(arguments) > len(names):
        found = f"{len(arguments)} arguments"
        raise DeclarationError(f"the node {node.__name__}", found, f"write {node.__name__}({', '.join(names)})")
    return node(*arguments)


def _pointwise(name: str, *arguments: sp.Expr) -> sp.Expr:
    """An activation of the catalogue, with numbers for its parameters, or a function of formulas as one."""
    u, *values = arguments
    if name in activations:
        return activation(f"{name}({', '.join(map(str, values))})" if values else name)(u)
    return PARSED_FUNCTIONS[name][0](*arguments) if values else Activation(name, PARSED_FUNCTIONS[name][0](z), ())(u)
