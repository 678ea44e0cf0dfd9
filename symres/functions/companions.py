"""Companions of the elementary functions: the same values in spellings that keep their digits and do not overflow.

``exp(u) - 1`` next to u = 0, ``1 - erf(u)`` far out and ``exp(a)*cosh(b)`` with large a and b are harmless numbers
whose naive spelling loses digits or overflows, in floats and in balls. The docstring of each class is its definition;
its record has the definition as a formula.

Formulas are brought to few kinds of functions, and what reads them later meets no others: ``2^z`` is
``exp(z*log(2))``, and so is every power whose exponent depends on z; atanh and acosh are logarithms; the sigmoid and
its integral are recognised where they are spelled out in exponentials.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

import sympy as sp
from mpmath.libmp import prec_to_dps
from sympy.printing.printer import Printer

from ..core.errors import DeclarationError
from ..core.symbols import z
from .function_record import RECORDS, definition_of, record_of

Function = Callable[..., sp.Expr]


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

    def inverse(self, argindex: int = 1) -> Callable[[sp.Expr], sp.Expr]:
        """The argument where it has a value."""
        return lambda value: sp.log(value / (1 - value))


class Softplus(Companion, nargs=1, slopes=(lambda u: Sigmoid(u),)):
    """log(1 + exp(u))."""

    is_positive = True

    def inverse(self, argindex: int = 1) -> Callable[[sp.Expr], sp.Expr]:
        """The argument where it has a value."""
        return lambda value: sp.log(sp.exp(value) - 1)


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
    written = "exp(u)*erfc(w)"  # for readers of messages, who do not know its name


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


def raised(base: sp.Expr, exponent: sp.Expr, functions: Mapping[str, Function] = MappingProxyType({})) -> sp.Expr:
    """A power; an exponential where the exponent depends on z and the base may be positive.

    Args:
        base: what is raised.
        exponent: to what.
        functions: by their names, exp and log where they are not sympy's: those of an equation are activations.

    Raises:
        DeclarationError: the exponent depends on z, and the base is not positive.
    """
    if not exponent.has(z) or base in (1, sp.E):
        return base**exponent
    if base.is_nonpositive:
        found = f"the base of {base**exponent} is not positive"
        raise DeclarationError("a power", found.replace("**", "^"), "raise positive numbers to powers of z")
    logarithm = sp.log(base) if not base.has(z) else functions.get("log", sp.log)(base)
    return functions.get("exp", sp.exp)(exponent * logarithm)


def in_basic_functions(expr: sp.Expr) -> sp.Expr:
    """A formula without abbreviations and exponents that depend on z, the sigmoid and its integral by their names."""
    for kind, record in RECORDS.items():
        if record.is_abbreviation:
            expr = expr.replace(kind, record.definition)
    expr = expr.replace(lambda e: e.is_Pow and e.exp.has(z), lambda e: raised(*e.as_base_exp()))
    return expr.replace(lambda e: e.has(z) and logistic(e) != e, logistic)


def logistic(e: sp.Expr) -> sp.Expr:
    """A node with its name: ``1/(1 + exp(u))``, ``log(1 + exp(u))``, and products of the sigmoid with ``exp(u)``."""
    if isinstance(e, sp.log):
        u = one_plus_exp(e.args[0])
        return e if u is None else Softplus(u)
    if isinstance(e, sp.Pow) and e.exp.is_Integer and e.exp.is_negative:
        u = one_plus_exp(e.base)
        return e if u is None else Sigmoid(-u) ** -e.exp
    return _merged(e) if isinstance(e, sp.Mul) and e.has(Sigmoid) and e.has(sp.exp) else e


def one_plus_exp(e: sp.Basic) -> sp.Expr | None:
    """The exponent u of ``1 + exp(u)``; None for anything else."""
    if not isinstance(e, sp.Add) or len(e.args) != 2 or sp.S.One not in e.args:
        return None
    exponential = e - 1
    return exponential.exp if isinstance(exponential, sp.exp) and not exponential.has(sp.I) else None


def _merged(e: sp.Mul) -> sp.Expr:
    """exp(m*u)*sigmoid(-u)**n -> sigmoid(u)**m*sigmoid(-u)**(n-m) for integers 0 < m <= n."""
    for exponential in (f for f in e.args if isinstance(f, sp.exp)):
        for factor in e.args:
            base, n = factor.as_base_exp()
            if isinstance(base, Sigmoid) and n.is_Integer:
                u = -base.args[0]
                m = sp.cancel(exponential.exp / u)
                if m.is_Integer and 0 < m <= n:
                    others = [f for f in e.args if f not in (exponential, factor)]
                    return sp.Mul(*others, Sigmoid(u) ** m, Sigmoid(-u) ** (n - m))
    return e
