"""Layers near one that nothing saves: with a whole skip connection, or with normalised preactivations."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import sympy as sp

from ...core.errors import SymresError
from ...core.symbols import z
from ...layers.layer import Layer
from ...layers.nodes import Node
from ...layers.normalisation import LayerNorm
from ...results.advice.advice import Advice
from ...results.advice.parts import Suggestion
from ...theory.theory import Theory


def nearest(theory: Theory, advise: Callable[[Theory], Advice]) -> Suggestion | None:
    """The first layer near it for which advice holds, with that advice; None if there is none.

    Args:
        theory: of the layer.
        advise: what gives advice on a layer, without looking for others.
    """
    for layer in _near(theory.layer):
        try:
            found = advise(Theory(layer))
        except SymresError:
            continue
        if found.holds and found.C_W is not None and found.C_b is not None and found.kernel is not None:
            return Suggestion(layer.text, found.C_W, found.C_b, found.parameters, found.kernel)
    return None


def _near(layer: Layer) -> Iterator[Layer]:
    """The same branch beside a whole skip connection; the same on normalised preactivations."""
    skip = layer.forward.coeff(z) if not isinstance(layer.forward, Node) else sp.Integer(0)
    branch = layer.forward - skip * z
    if not branch.has(z):
        return
    normalised = branch.subs(z, LayerNorm(z)) if not branch.has(LayerNorm) else None
    options = [z + branch] * (skip != 1)
    options += [] if normalised is None else [skip * z + normalised, z + normalised]
    for forward in options:
        try:
            yield Layer(forward)
        except SymresError:  # no layer
            continue
