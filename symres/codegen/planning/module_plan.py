"""What a module contains, before any language."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from ...results.observable import Procedure
from ...results.quantity import Quantity
from .plan import Component, Function


@dataclass(frozen=True)
class Extra:
    """A procedure that stands in a module beside the functions that it calls.

    Args:
        procedure: a recursion in depth, or a search.
        error: the sentence about its error.
    """

    procedure: Procedure
    error: str


def procedure_names(extra: Extra | None) -> tuple[str, ...]:
    """The names of the functions of a procedure, if there is one."""
    return () if extra is None else tuple(extra.procedure.exact)


@dataclass(frozen=True)
class ModulePlan:
    """The functions of a module.

    Args:
        title: the first line.
        command: the command that generates the text again.
        functions: those that users call.
        missing: quantities without code, with the reason.
        extra: what else stands there.
        prefix: what the names of its functions begin with, where the target has global names.
    """

    title: str
    command: str
    functions: tuple[Function, ...]
    missing: tuple[str, ...] = ()
    extra: Extra | None = None
    prefix: str = ""

    @property
    def components(self) -> tuple[Component, ...]:
        """What the functions call, each once."""
        return tuple({c.name: c for f in self.functions for c in f.components}.values())


@dataclass(frozen=True)
class PowerSum:
    """A sum over the powers of a weight, ``sum_p term(ratio**p)`` from p = first on.

    Args:
        symbol: its name in other formulas.
        term: the summand in the variable and in the arguments; None if ``series`` stands for it.
        variable: the correlation, ratio**p.
        ratio: in the arguments.
        first: the first power, 0 or 1.
        series: Chebyshev coefficients of term/variable where the target cannot compute the term itself.
    """

    symbol: sp.Symbol
    term: sp.Expr | None
    variable: sp.Symbol
    ratio: sp.Expr
    first: int
    series: tuple[float, ...] = ()


@dataclass(frozen=True)
class CurvePlan:
    """A function that contains sums over the powers of a weight.

    Args:
        title: the first line.
        command: the command that generates the text again.
        quantity: what it computes.
        sums: in the order of their symbols.
        whole: the function, in the arguments and in the symbols of the sums.
        error: its measured error, as text.
        extra: what else stands in the module.
    """

    title: str
    command: str
    quantity: Quantity
    sums: tuple[PowerSum, ...]
    whole: sp.Expr
    error: str
    extra: Extra | None = None
