"""Companions of the elementary functions: the same values in spellings that keep their digits and do not overflow.

``exp(u) - 1`` next to u = 0, ``1 - erf(u)`` far out and ``exp(a)*cosh(b)`` with large a and b are harmless numbers
whose naive spelling loses digits or overflows, in floats and in balls. The docstring of each class is its definition;
its record has the definition as a formula.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import sympy as sp
from mpmath.libmp import prec_to_dps
from sympy.printing.printer import Printer

from .function_record import RECORDS, definition_of, record_of


class Companion(sp.Function):
    """Base of the functions below."""

    is_commutative = True
    is_extended_real = True
    is_real = True

    _slopes: tuple[Callable[..., sp.Expr], ...]  # derivatives shorter than those of the definition

    def __init_subclass__(cls, nargs: int | tuple[int, ...], slopes: tuple[Callable[..., sp.Expr], ...] = ()) -> None:
        """Let the number of arguments pass: SymPy's metaclass takes it. Assumptions are worked out by SymPy.

        Args:
            nargs: the number of arguments.
            slopes: the derivative in each argument, as a function of all; without, that of the definition.
        """
        super().__init_subclass__()
        cls._slopes = slopes

    @classmethod
    def eval(cls, *arguments: sp.Expr) -> sp.Expr | None:
        """The value at 0."""
        record = RECORDS.get(cls)
        return record.value_at_0 if record is not None and arguments == (0,) else None

    def _eval_evalf(self, prec: int) -> sp.Expr | None:
        definition = definition_of(self)
        return None if definition is None or definition.free_symbols else definition.evalf(prec_to_dps(prec))

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """The derivative in an argument."""
        if self._slopes:
            return self._slopes[argindex - 1](*self.args)
        arguments = [sp.Dummy(real=True) for _ in self.args]
        definition = definition_of(self.func(*arguments))
        if definition is None:
            return super().fdiff(argindex)
        return definition.diff(arguments[argindex - 1]).xreplace(dict(zip(arguments, self.args, strict=True)))

    @property
    def printed_name(self) -> str:
        """What formulas call it, or the name of its class."""
        record = record_of(self)
        return record.names[0] if record is not None and record.names else type(self).__name__

    def _sympystr(self, printer: Printer) -> str:
        return f"{self.printed_name}({', '.join(map(printer._print, self.args))})"

    def _latex(self, printer: Printer, exp: str | None = None) -> str:
        power = f"^{{{exp}}}" if exp else ""
        arguments = ", ".join(map(printer._print, self.args))
        return rf"\operatorname{{{self.printed_name}}}{power}\left({arguments}\right)"

    def _defined(self, printer: Printer) -> str:
        """The code of the definition, for sympy's own lambdify."""
        definition = definition_of(self)
        return str(printer._print_Function(self) if definition is None else printer._print(definition))

    _pythoncode = _numpycode = _scipycode = _mpmathcode = _torchcode = _jaxcode = _defined

    @classmethod
    def template(cls) -> str:
        """A call by the name of the class, with all arguments: ``two_tails({0}, {1}, {2}, {3})``."""
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()
        return f"{name}({', '.join(f'{{{k}}}' for k in range(max(cls.nargs)))})"


class Expm1(Companion, nargs=1):
    """exp(u) - 1."""


class Log1p(Companion, nargs=1):
    """log(1 + u)."""


class Sigmoid(Companion, nargs=1, slopes=(lambda u: Sigmoid(u) * Sigmoid(-u),)):
    """1/(1 + exp(-u))."""

    is_positive = True


class Softplus(Companion, nargs=1, slopes=(lambda u: Sigmoid(u),)):
    """log(1 + exp(u))."""

    is_positive = True


class Erfc(Companion, nargs=1):
    """1 - erf(u) for u with a minus sign: sympy's own becomes a difference."""

    is_positive = True


class Erfcx(Companion, nargs=1, slopes=(lambda u: 2 * u * Erfcx(u) - 2 / sp.sqrt(sp.pi),)):
    """exp(u**2)*erfc(u)."""

    is_positive = True


class Erfcxm1(Companion, nargs=1):
    """exp(u**2)*erfc(u) - 1, for u >= 0."""


class ScaledTail(Companion, nargs=3):
    """exp(u)*erfc(w), called as ScaledTail(u, u - w**2, w), the difference in symbols: it may cancel."""

    is_positive = True


class Dawson(Companion, nargs=1, slopes=(lambda u: 1 - 2 * u * Dawson(u),)):
    """exp(-u**2) times the integral of exp(t**2) from 0 to u."""


class ExpSinh(Companion, nargs=2, slopes=(lambda a, b: ExpSinh(a, b), lambda a, b: ExpCosh(a, b))):
    """exp(a)*sinh(b), finite wherever a + abs(b) is moderate."""


class ExpCosh(Companion, nargs=2, slopes=(lambda a, b: ExpCosh(a, b), lambda a, b: ExpSinh(a, b))):
    """exp(a)*cosh(b)."""

    is_positive = True


class ExpCoshm1(Companion, nargs=2, slopes=(lambda a, b: ExpCoshm1(a, b), lambda a, b: ExpSinh(a, b))):
    """exp(a)*(cosh(b) - 1)."""

    is_nonnegative = True
