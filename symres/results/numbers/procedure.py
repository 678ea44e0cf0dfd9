"""Numbers of deep networks that are no formula, but computed from functions of one layer: step by step, or searched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from ...core.display import Fact, Shown
from ...core.symbols import C_W, C_b, gamma, xi
from ..quantity import Quantity

Sample = Mapping[str, Any]  # arguments by name

_USUAL = {C_W: "1.25", C_b: "0.05", gamma: "0.7", xi: "0.6"}
_OTHER = "0.75"


@dataclass(frozen=True, eq=False, repr=False)
class Procedure(Shown):
    """What is computed from functions of one layer: a recursion over the layers of a network, or a search.

    Its name says how; targets have a template of that name.

    Args:
        name: "vertex", "response", "branch_scale" or "optimal_gamma".
        meaning: one line that says what is computed.
        call: the Python expression that makes it from a theory, "theory.vertex_recursion".
        functions: the quantities, with the names that the procedure has for them. Those that vanish are left out.
        parameters: that the procedure takes, those of functions.
        unknowns: parameters of functions whose values the procedure finds itself.
        source: document and equation.
        constants: numbers that the procedure needs, by name.
        exact: by the name of a generated function, the same from the theory: to measure errors.
        samples: the arguments for which they are measured.
    """

    name: str
    meaning: str
    call: str
    functions: tuple[Quantity, ...]
    parameters: tuple[sp.Symbol, ...]
    unknowns: tuple[sp.Symbol, ...] = ()
    source: str = ""
    constants: Mapping[str, Any] = field(default_factory=dict)
    exact: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    samples: tuple[Sample, ...] = ()

    def __repr__(self) -> str:
        return f"<{self.name}: {self.meaning}; made of {', '.join(q.name for q in self.functions)}>"

    def _title(self) -> str:
        return self.meaning

    def _facts(self) -> Iterable[Fact]:
        """The functions that it is made of."""
        return [fact for quantity in self.functions for fact in quantity._facts()[:1]]


def present(*functions: Quantity) -> tuple[Quantity, ...]:
    """The functions that do not vanish."""
    return tuple(quantity for quantity in functions if quantity.body != 0)


def usual(parameters: Iterable[sp.Symbol]) -> Sample:
    """Numbers of parameters at which errors are measured: of a network neither large nor critical."""
    return {s.name: _USUAL.get(s, _OTHER) for s in parameters}
