"""What the names of exported functions begin with, in languages with one space of names for all modules."""

from __future__ import annotations

from typing import Any

from ..activations.activation import Formula, file_stem, identifier
from ..codegen import targets
from ..codegen.generate import checked_prefix
from ..codegen.module import LATEX
from ..core.errors import DeclarationError
from ..layers.equation_parser import is_equation
from ..layers.layer import Layer
from ..results.observable import Procedure
from ..results.quantity import Quantity
from ..results.subjects import DerivedLayer, DerivedNetwork

_PLAIN = "mlp"  # the layer of an activation alone


def default_prefix(subject: Any, target: str) -> str:
    """The activations of a subject and its layers, for a target with global names; else, and for a mapping, nothing.

    Args:
        subject: what ``generate`` takes; the names of a mapping are the user's.
        target: the name of a target, or "latex".

    Returns:
        an identifier, such as ``gelu``, ``gelu_residual``, or ``formula_`` and a digest for a long formula.
    """
    if target == LATEX or not targets.find(target).has_global_names:
        return ""
    return "_".join(dict.fromkeys(_parts(subject)))


def require_prefix(prefix: str, target: str) -> None:
    """Make sure that names of functions can begin so, or that nothing is asked for.

    Args:
        prefix: what they are to begin with; empty for nothing.
        target: the name of a target, or "latex".

    Raises:
        DeclarationError: they cannot, or need not: only some targets have global names.
    """
    if target != LATEX:
        checked_prefix(prefix, targets.find(target))
    elif prefix:
        raise DeclarationError(f"the prefix {prefix!r}", "LaTeX has no names of functions", "leave it out")


def _parts(subject: Any) -> list[str]:
    match subject:
        case DerivedNetwork():
            return [part for theory in subject.layers for part in _parts(theory)]
        case DerivedLayer(layer=Layer() as layer):
            plain = "layer" if is_equation(layer.name) else identifier(layer.name)
            return [*map(file_stem, layer.formulas), *([plain] if layer.name != _PLAIN else [])]
        case Procedure(functions=quantities):
            return [part for quantity in quantities for part in _parts(quantity)]
        case Quantity():
            expressions = [subject.definition, *(step.definition for step in subject.steps)]
            formulas = {formula for e in expressions for formula in e.atoms(Formula)}
            return sorted(map(file_stem, formulas))
    return []
