"""What code generation knows of the functions in an average; the rooms that derive averages make them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import Field
from typing import ClassVar, Protocol

import sympy as sp

from ...core.symbols import z


class PiecewiseIntegrand(Hashable, Protocol):
    """A real function of z, smooth between increasing breakpoints; a data class."""

    __dataclass_fields__: ClassVar[dict[str, Field]]

    @property
    def breaks(self) -> tuple[sp.Expr, ...]:
        """The breakpoints, increasing."""

    @property
    def parts(self) -> tuple[sp.Expr, ...]:
        """The formulas in z between the breakpoints, from left to right."""

    @property
    def jumps(self) -> tuple[sp.Expr, ...]:
        """Value on the right minus value on the left, at every breakpoint."""

    @property
    def is_continuous(self) -> bool:
        """Whether no breakpoint is a jump."""

    @property
    def free_symbols(self) -> set[sp.Symbol]:
        """The parameters: every symbol but z."""

    @property
    def has_finite_slopes(self) -> bool:
        """Whether both derivatives at every breakpoint are finite."""

    def part_at(self, point: sp.Expr) -> sp.Expr:
        """The formula that holds at a point that is no breakpoint."""

    def diff(self) -> PiecewiseIntegrand:
        """The derivative away from the breakpoints."""

    def map(self, operation: Callable[..., sp.Expr], *others: PiecewiseIntegrand) -> PiecewiseIntegrand:
        """An operation on this and other functions, between all of their breakpoints."""

    def as_expr(self) -> sp.Expr:
        """The function as one formula."""


def is_polynomial(f: PiecewiseIntegrand) -> bool:
    """Whether a function is a polynomial on each of its pieces."""
    return all(part.is_polynomial(z) for part in f.parts)
