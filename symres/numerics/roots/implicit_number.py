"""Numbers that equations define: known to any number of digits, printed as decimals."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

import mpmath as mp
import sympy as sp
from flint import arb
from sympy.printing.printer import Printer

from ...core.atoms import Opaque
from ..balls import enclose

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
        ball = self._ball([], prec + 4)
        mantissa, exponent = ball.mid().man_exp()
        with mp.workprec(prec + 10):
            return sp.Float(mp.ldexp(mp.mpf(int(mantissa)), int(exponent)), precision=prec)

    def _sympystr(self, printer: Printer) -> str:
        return str(self.evalf(15))

    def _latex(self, printer: Printer) -> str:
        return rf"{self.evalf(15)}\ldots"


class Value(ImplicitNumber):
    """The value of an expression without symbols that is too long to be read.

    Args:
        expression: positive.
    """

    def __new__(cls, expression: sp.Expr) -> Value:
        """The value of an expression."""
        return super().__new__(cls, expression)

    @cached_property
    def _known(self) -> dict[int, arb]:
        return {}

    def _ball(self, arguments: list[arb], bits: int) -> arb:
        if bits not in self._known:
            self._known[bits] = enclose(self.args[0], {}, bits + _GUARD)
        return self._known[bits]
