"""One record for each function that may stand in a formula, and the register of them.

A record holds what is special about its function. What follows from other fields is not written: the range of a
monotone function follows from its balls and limits, its behaviour far out from its limits, its Taylor series from its
definition or its slope, the rounding of its code from its derivative. The algorithms that read a column stand in the
modules of this room (``balls``, ``ranges``, ``tails``) and of the rooms above it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import Any, Literal

import sympy as sp

from ..core.errors import DeclarationError
from ..numerics.ball_functions import BallRule
from ..numerics.interval_arithmetic import LINE, Operation, Range

Parity = Literal["even", "odd"]
_U, _E = sp.Dummy("u", real=True), sp.Dummy("E", positive=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class FunctionRecord:
    """A function of real numbers with the rules that are its own.

    Args:
        kind: its class in sympy, with its derivative.
        names: what it is called in formulas; empty for functions that occur in derived formulas only.
        definition: the function in simpler ones, an identity for all real arguments; None for a primitive one.
        ball: the function on real and on complex balls; None: that of the definition.
        limits: of a strictly monotone function its limits, or values, at both ends of its domain.
        domain: where it is real and finite.
        range: the range over an interval; None: from limits and balls.
        tail: the ``Scale`` of ``f(u)`` for large arguments from that of u; None: from limits, values and definition.
        inverse: the argument where a monotone function has a value.
        parity: whether ``f(-u)`` is ``f(u)`` or ``-f(u)``.
        complements: ``1 - f(u)`` and ``1 + f(u)`` where they vanish for some u, without cancellation; None for one that
            does not vanish.
        product: ``f(s + d) - f(s - d)`` without cancellation.
    """

    kind: type[sp.Function]
    names: tuple[str, ...] = ()
    definition: Callable[..., sp.Expr] | None = None
    ball: BallRule | None = None
    limits: tuple[sp.Expr, sp.Expr] | None = None
    domain: Range = LINE
    range: Operation | None = None
    tail: Callable[[Any], Any] | None = None
    inverse: Callable[[sp.Expr], sp.Expr] | None = None
    parity: Parity | None = None
    complements: Callable[[sp.Expr], tuple[sp.Expr | None, sp.Expr | None]] | None = None
    product: Callable[[sp.Expr, sp.Expr], sp.Expr] | None = None

    @cached_property
    def value_at_0(self) -> sp.Expr:
        """The value at 0, which may be infinite."""
        return self.kind(0) if self.definition is None else self.definition(sp.Integer(0))

    @cached_property
    def slope_at_0(self) -> sp.Expr:
        """The derivative at 0."""
        return self.kind(_U).diff(_U).subs(_U, 0)

    @cached_property
    def is_exponential(self) -> bool:
        """Whether it is a rational function of ``exp(u)``."""
        if self.kind is sp.exp:
            return True
        if self.definition is None or len(signature(self.definition).parameters) != 1:
            return False
        return bool(self.definition(sp.log(_E)).is_rational_function(_E))

    @cached_property
    def is_polynomial(self) -> bool:
        """Whether its definition is a polynomial in simpler functions: sinh(u) is, tanh(u) is a quotient."""
        return self.definition is not None and not any(
            power.exp.is_negative for power in self.definition(_U).atoms(sp.Pow)
        )

    @property
    def is_increasing(self) -> bool:
        """Whether it increases on its whole domain."""
        return self.limits is not None and bool(self.limits[0] < self.limits[1])


RECORDS: dict[type, FunctionRecord] = {}


def register(*records: FunctionRecord) -> None:
    """Add functions to those that may stand in a formula.

    Raises:
        DeclarationError: a class or a name that another function has.
    """
    for record in records:
        taken = {name for other in RECORDS.values() for name in other.names}
        if record.kind in RECORDS or taken & set(record.names):
            found = "its class or one of its names is that of another function"
            raise DeclarationError(f"the function {record.kind.__name__}", found, "choose another name")
        RECORDS[record.kind] = record


def record_of(node: sp.Basic) -> FunctionRecord | None:
    """The record of the function that a node applies; None for what is no function with a record."""
    return RECORDS.get(type(node))
