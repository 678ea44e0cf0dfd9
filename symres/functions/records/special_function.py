"""Functions that formulas get from the theory alone, with balls of their own: their numbers, and how they print."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import sympy as sp
from flint import arb
from sympy.printing.printer import Printer

from ...core.atoms import Enclosable
from ...core.errors import SymresError
from ...numerics.deferred_numpy import np
from ..balls import as_float, evaluate

_DIGITS = 16  # those of double precision
_kinds: list[type[SpecialFunction]] = []


class SpecialFunction(Enclosable, sp.Function):
    """A real function with a ball evaluation; the declaration of the class is all there is to do.

    Attributes:
        meaning: for the reader of a page.
        tex: and of a document.
        digits: of its numbers in double precision.
    """

    is_real = True
    is_extended_real = True
    is_commutative = True
    meaning: ClassVar[str]
    tex: ClassVar[str]
    digits: ClassVar[int] = _DIGITS
    _enclosed: ClassVar[Callable[..., arb]]  # on balls

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not cls.__name__.startswith("_"):  # bases of several functions
            _kinds.append(cls)

    @classmethod
    def number(cls, *arguments: float) -> float:
        """The value in double precision, from a ball; nan where the function is not defined."""
        symbols = sp.symbols(f"a:{len(arguments)}", real=True)
        try:
            value, _ = evaluate(cls(*symbols), dict(zip(symbols, cls._within(arguments), strict=True)), cls.digits)
        except SymresError:
            return float("nan")
        return float(value)

    @classmethod
    def values(cls, *arguments: Any) -> Any:
        """The numbers of arrays, entry by entry."""
        return np.vectorize(cls.number, [float])(*arguments)

    @classmethod
    def _within(cls, arguments: Sequence[float]) -> Sequence[float]:
        """Arguments without the rounding that takes them out of the domain."""
        return arguments

    @property
    def written(self) -> tuple[str, tuple[sp.Expr, ...]]:
        """Its name in text, and the arguments that stand behind it."""
        return type(self).__name__, self.args

    @property
    def constants(self) -> Mapping[str, str]:
        """What its spellings in code contain besides arguments, by name."""
        return {}

    @property
    def _symbol(self) -> str:
        """Its LaTeX without arguments."""
        return rf"\mathrm{{{self.written[0]}}}"

    def _sympystr(self, printer: Printer) -> str:
        name, arguments = self.written
        return f"{name}({', '.join(map(printer._print, arguments))})"

    def _ball(self, arguments: list[arb], bits: int) -> arb:
        return type(self)._enclosed(*arguments)

    def _eval_evalf(self, prec: int) -> sp.Expr | None:
        try:
            return as_float(self, prec)
        except SymresError:  # sympy, which asks for values even to print, then keeps the node
            return None

    def _latex(self, printer: Printer, exp: str | None = None) -> str:
        arguments = ", ".join(map(printer._print, self.written[1]))
        power = f"^{{{exp}}}" if exp else ""
        return rf"{self._symbol}{power}\!\left({arguments}\right)"


def digits_of_floats(*expressions: sp.Basic) -> int:
    """The digits that some expressions have at small cost: those of the special function with the fewest."""
    functions = set().union(*(e.atoms(SpecialFunction) for e in expressions))
    return min((function.digits for function in functions), default=_DIGITS)


def legend(*expressions: sp.Basic) -> list[type[SpecialFunction]]:
    """The special functions in some expressions; each has a ``meaning`` to print, and one in ``tex``."""
    present = {type(f) for e in expressions for f in e.atoms(SpecialFunction)}
    return [kind for kind in _kinds if kind in present]
