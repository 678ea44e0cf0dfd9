"""Numbers that equations define: known to any number of digits, printed as decimals."""

from __future__ import annotations

from abc import abstractmethod
from functools import lru_cache

import sympy as sp
from flint import arb
from sympy.printing.printer import Printer

from ...core.atoms import Opaque
from ..balls import enclose, value_and_radius

_GUARD = 24  # bits beyond those asked for


class ImplicitNumber(Opaque, sp.Expr):
    """A positive number without a closed form; its sympy arguments define it."""

    is_commutative = True
    is_number = True
    is_extended_real = True
    is_real = True
    is_positive = True

    _ball_arguments: tuple[sp.Expr, ...] = ()

    @property
    def free_symbols(self) -> set[sp.Symbol]:
        """The empty set."""
        return set()

    @abstractmethod
    def _ball(self, arguments: list[arb], bits: int) -> arb:
        """An enclosure with about so many bits."""

    def _eval_evalf(self, prec: int) -> sp.Float:
        value, _ = value_and_radius(self._ball([], prec + 4))
        return sp.Float(value, precision=prec)

    def _sympystr(self, printer: Printer) -> str:
        return str(self.evalf(15))

    def _latex(self, printer: Printer) -> str:
        return rf"{self.evalf(15)}\ldots"


class Value(ImplicitNumber):
    """The value of an expression without symbols that is too long to be read.

    Args:
        expression: positive.
    """

    def _ball(self, arguments: list[arb], bits: int) -> arb:
        return _enclosed(self.args[0], bits)


@lru_cache(maxsize=1024)
def _enclosed(expression: sp.Expr, bits: int) -> arb:
    return enclose(expression, {}, bits + _GUARD)
