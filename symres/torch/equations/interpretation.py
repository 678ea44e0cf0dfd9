"""What the calls of a stretch of a model compute, as one forward equation."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from ...activations.activation import Activation
from .formula_values import DenseUse


@dataclass(frozen=True)
class Interpretation:
    """What calls compute.

    Args:
        expression: of the last one, in ``sr.z`` and nodes.
        dense: the draws in it, in order.
        activations: in order, each once.
        norms: the names of modules that normalise.
        axis: of neurons in the last value, negative; None where nothing says it.
        is_uneven: whether the last value is a norm whose weights differ between neurons.
    """

    expression: sp.Expr
    dense: tuple[DenseUse, ...]
    activations: tuple[Activation, ...]
    norms: tuple[str, ...]
    axis: int | None
    is_uneven: bool


@dataclass(frozen=True)
class HiddenCalls:
    """Calls that are not read: a function of what goes in.

    Args:
        name: of the function.
        calls: their numbers.
        given: stream values that go in.
        made: stream values that come out and are used.
    """

    name: str
    calls: frozenset[int]
    given: tuple[int, ...]
    made: tuple[int, ...]
