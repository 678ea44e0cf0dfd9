"""The atom ``phi(u)`` of equations: an activation that is not expanded to its formula."""

from __future__ import annotations

import re

import sympy as sp
from flint import arb
from sympy.core.sympify import _sympify
from sympy.printing.printer import Printer

from ..core.atoms import ActivationNode, FormulaAtom
from ..core.errors import DeclarationError
from ..core.scalars import number
from ..core.symbols import z
from .piecewise import PiecewiseFunction, split

# A plain name, possibly with the values of parameters: "gelu", "elu(alpha=1)", "elu(alpha=sqrt(2)/2)".
_VALUE = r"\w+=([^()=,]|\([^()=,]*\))+"
PARAMETRISED = re.compile(rf"(?P<base>[A-Za-z]\w*)(\((?P<values>{_VALUE}(, {_VALUE})*)\))?", re.ASCII)


class Formula(FormulaAtom, sp.Atom):
    """The formula of an activation inside an expression.

    An atom, so that substituting ``z`` in an equation never rewrites the formula itself.

    Args:
        name: the activation's name.
        expr: the formula in ``z`` and the parameters.
        parameters: the parameters, in the order of the values of a ``Phi``.
    """

    __slots__ = ("expr", "name", "parameters")
    is_commutative = True

    def __new__(cls, name: str, expr: sp.Expr, parameters: tuple[sp.Symbol, ...]) -> Formula:
        """Make the atom."""
        self = super().__new__(cls)
        self.name, self.expr, self.parameters = name, expr, tuple(parameters)
        return self

    def __getnewargs__(self) -> tuple[object, ...]:
        return (self.name, self.expr, self.parameters)

    def _hashable_content(self) -> tuple[object, ...]:
        return (self.name, self.expr, *self.parameters)

    @property
    def pieces(self) -> PiecewiseFunction:
        """The formula between its breakpoints."""
        return split(self.expr)

    def label(self) -> tuple[str | None, list[str]]:
        """The plain name, None for a formula without one, and the parameter values in it ("alpha=1")."""
        named = PARAMETRISED.fullmatch(self.name)
        if named is None:
            return None, []
        return named["base"], named["values"].split(", ") if named["values"] else []

    def _sympystr(self, printer: Printer) -> str:
        base, values = self.label()
        return f"[{self.name}]" if base is None or values else base

    def _sympyrepr(self, printer: Printer) -> str:
        parameters = "".join(f"{printer._print(p)}, " for p in self.parameters)
        return f"Formula({self.name!r}, {printer._print(self.expr)}, ({parameters}))"

    def _latex(self, printer: Printer) -> str:
        base, values = self.label()
        if base is None:
            return r"\phi"
        shown = []
        for key, value in (text.split("=") for text in values):
            exact = sp.latex(number(value, key)) if any(map(str.isalpha, value)) else value  # sqrt(2), not 1/2
            shown.append(f"{sp.latex(sp.Symbol(key))}={exact}")
        name = base.replace("_", r"\_")
        return rf"\operatorname{{{name}}}" + (f"_{{{','.join(shown)}}}" if values else "")

    def sort_key(self, order: str | None = None) -> tuple[object, ...]:
        """Sort by name and formula."""
        return self.class_key(), (1, (self.name, str(self.expr))), sp.S.One.sort_key(), sp.S.One


class Phi(ActivationNode, sp.Expr):
    """``phi^(k)(u)``: an activation or its derivative away from breakpoints, not expanded.

    Differentiating drops what a jump contributes: before differentiating an atom, ask ``is_continuous``.

    Args:
        formula: the activation's formula.
        u: the argument.
        order: number k of derivatives.
        values: what stands in the place of the formula's parameters.
    """

    is_commutative = True
    is_extended_real = True
    is_real = True

    def __new__(cls, formula: Formula, u: sp.Expr, order: sp.Integer, *values: sp.Expr) -> Phi:
        """Make the atom; nothing is evaluated."""
        return super().__new__(cls, formula, _sympify(u), sp.Integer(order), *map(_sympify, values))

    @property
    def formula(self) -> Formula:
        """The activation's formula."""
        return self.args[0]

    @property
    def argument(self) -> sp.Expr:
        """The argument u."""
        return self.args[1]

    @property
    def order(self) -> int:
        """The number of derivatives."""
        return int(self.args[2])

    @property
    def values(self) -> dict[sp.Symbol, sp.Expr]:
        """The value of each parameter of the formula."""
        return dict(zip(self.formula.parameters, self.args[3:], strict=True))

    @property
    def free_symbols(self) -> set[sp.Symbol]:
        """The symbols of the argument and of the parameters' values, not those of the formula."""
        return set().union(*(a.free_symbols for a in self.args[1:]))

    @property
    def pieces(self) -> PiecewiseFunction:
        """The function ``phi^(k)`` of ``z`` between its breakpoints, with this atom's parameter values."""
        result = self.formula.pieces.subs(self.values)
        for _ in range(self.order):
            result = result.diff()
        return result

    @property
    def is_continuous(self) -> bool:
        """True if ``phi^(k)`` has no jump, so that its derivative is an ordinary function."""
        return self.pieces.is_continuous

    @property
    def expanded(self) -> sp.Expr:
        """The formula itself, at the argument."""
        formula = self.formula.expr
        function = self.pieces.as_expr() if self.order else formula.subs(self.values, simultaneous=True)
        return function.subs(z, self.argument)

    @property
    def _ball_arguments(self) -> tuple[sp.Expr, ...]:
        return (self.expanded,)

    def _ball(self, arguments: list[arb], bits: int) -> arb:
        """The enclosure of the formula: for an atom of a number, such as the constant ``phi(0)`` inside a layer."""
        return arguments[0]

    def _eval_derivative(self, s: sp.Symbol) -> sp.Expr:
        if any(value.has(s) for value in self.args[3:]):
            found = f"{s} is a parameter of the activation"
            raise DeclarationError(f"d/d{s} of {self}", found, "differentiate with respect to the kernel")
        return Phi(self.formula, self.argument, sp.Integer(self.order + 1), *self.args[3:]) * self.argument.diff(s)

    def _substituted_parameters(self) -> list[tuple[sp.Symbol, sp.Expr]]:
        return [(symbol, value) for symbol, value in self.values.items() if symbol != value]

    def _sympystr(self, printer: Printer) -> str:
        base, values = self.formula.label()
        head = f"[{self.formula.name}]" if base is None else base
        values = values + [f"{symbol}={printer._print(value)}" for symbol, value in self._substituted_parameters()]
        return f"{head}{chr(39) * self.order}({'; '.join([printer._print(self.argument), *values])})"

    def _latex(self, printer: Printer) -> str:
        head = printer._print(self.formula)
        values = ",".join(
            f"{printer._print(symbol)}={printer._print(value)}" for symbol, value in self._substituted_parameters()
        )
        if values:
            head = f"{head[:-1]},{values}}}" if head.endswith("}") and "_{" in head else f"{head}_{{{values}}}"
        primes = "'" * self.order if self.order <= 3 else f"^{{({self.order})}}"
        return rf"{head}{primes}\left({printer._print(self.argument)}\right)"
