"""Nodes of expressions as every room may know them; the rooms that make them derive from these classes.

Rooms that print, check or translate expressions must not see where a node comes from, only what it is.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import sympy as sp

from .symbols import bound_variables, variables

if TYPE_CHECKING:
    from flint import arb


class Enclosable:
    """A node with an enclosure of its own."""

    __slots__ = ()

    @abstractmethod
    def _ball(self, arguments: list[arb], bits: int) -> arb:
        """A ball around its value, from balls around its arguments."""


class Opaque(Enclosable):
    """An enclosable node whose ``args`` are no parts of a formula: it is enclosed from ``_ball_arguments``."""

    __slots__ = ()

    @property
    @abstractmethod
    def _ball_arguments(self) -> tuple[sp.Expr, ...]: ...

    @property
    def free_symbols(self) -> set[sp.Symbol]:
        """The symbols that need a value; variables are bound."""
        return set().union(*(argument.free_symbols for argument in self._ball_arguments))


class FormulaAtom:
    """The declared formula ``expr`` of an activation ``name``, in z and ``parameters``."""

    __slots__ = ()

    name: str
    expr: sp.Expr
    parameters: tuple[sp.Symbol, ...]


class ActivationNode(Opaque):
    """An activation, or a derivative of one, of an argument."""

    @property
    @abstractmethod
    def formula(self) -> FormulaAtom:
        """What was declared."""

    @property
    @abstractmethod
    def values(self) -> Mapping[sp.Symbol, sp.Expr]:
        """What stands in the place of the formula's parameters."""

    @property
    @abstractmethod
    def expanded(self) -> sp.Expr:
        """The formula itself, at the argument."""


class AverageNode(Opaque):
    """An unevaluated Gaussian average."""

    integrand: sp.Expr
    func: Callable[..., sp.Expr]

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The number of Gaussian variables."""

    @property
    @abstractmethod
    def covariance(self) -> tuple[sp.Expr, ...]:
        """The upper triangle of the covariance matrix, row by row."""

    @property
    @abstractmethod
    def float_arguments(self) -> tuple[sp.Expr, ...]:
        """What ``float_value`` takes."""

    @abstractmethod
    def float_value(self, *arguments: Any) -> Any:
        """The value in double precision, of numbers or arrays of them; nan in an array where there is none."""

    @property
    def printed_integrand(self) -> sp.Expr:
        """The integrand with the variables as they are called in print."""
        return self.integrand.xreplace(dict(zip(variables, bound_variables(self.dimension), strict=False)))

    @property
    @abstractmethod
    def terms(self) -> tuple[tuple[sp.Expr, tuple[Any, ...]], ...]:
        """The integrand as a sum of coefficients times products of a function of each variable."""


class PowerSumNode(Opaque):
    """A sum of a function over the powers of a number."""

    @property
    @abstractmethod
    def shown(self) -> tuple[sp.Expr, sp.Symbol, tuple[sp.Expr, ...]]:
        """The function, its variable, and the first values that the variable takes."""
