"""An activation: a formula in ``z`` with its facts, and the atom ``phi(u)`` that stands for it in equations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import sympy as sp

from ..errors import DeclarationError
from ..scalars import number
from ..symbols import z
from .pieces import Pieces, split
from .validate import Growth, validate

Parity = Literal["even", "odd"]


@dataclass(frozen=True)
class Activation:
    """A pointwise nonlinearity, declared by its formula.

    Args:
        name: how it is called in text, code and files.
        expr: its formula, a real sympy expression in ``sr.z`` and the declared parameters.
        parameters: the symbols in ``expr`` other than ``z``, each with its assumptions (``positive=True``...).
        source: where the formula comes from, for documents.

    Attributes:
        pieces: the formula between its breakpoints.
        parity: "even", "odd" or None.
        homogeneity: p if phi(a z) = a**p phi(z) for all a > 0, else None.
        growth: how fast it grows for large ``|z|``.

    Raises:
        DeclarationError: the formula contains no ``z`` or an undeclared symbol, is not real and finite on the
            whole line, or grows so fast that it has no Gaussian average.
    """

    name: str
    expr: sp.Expr
    parameters: tuple[sp.Symbol, ...] = ()
    source: str = ""
    pieces: Pieces = field(init=False, repr=False, compare=False)
    parity: Parity | None = field(init=False, repr=False, compare=False)
    homogeneity: int | None = field(init=False, repr=False, compare=False)
    growth: Growth = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "expr", sp.nsimplify(sp.sympify(self.expr), rational=True))
        set_(self, "parameters", tuple(self.parameters))
        unknown = sorted(map(str, self.expr.free_symbols - {z, *self.parameters}))
        if unknown:
            raise DeclarationError(
                f"activation {self.name}",
                f"undeclared symbol{'s' * (len(unknown) > 1)} {', '.join(unknown)}",
                "use z for the preactivation and declare every other symbol as a parameter",
            )
        if not self.expr.has(z):
            raise DeclarationError(f"activation {self.name}", "the formula does not contain z", "write a formula in z")
        pieces = split(self.expr)
        set_(self, "pieces", pieces)
        set_(self, "growth", validate(self.name, pieces))
        set_(self, "parity", _parity(pieces))
        set_(self, "homogeneity", _homogeneity(pieces))

    def __call__(self, u: Any) -> sp.Expr:
        """The activation of an expression, kept as an atom: ``phi(z)`` prints as phi(z)."""
        return Phi(self._formula, sp.sympify(u), sp.Integer(0), *self.parameters)

    @property
    def breakpoints(self) -> tuple[sp.Expr, ...]:
        """Where the formula changes: kinks of some order, and jumps."""
        return self.pieces.breaks

    @property
    def jumps(self) -> tuple[tuple[sp.Expr, sp.Expr], ...]:
        """(place, height) of every discontinuity."""
        return tuple(
            (b, height) for b, height in zip(self.breakpoints, self.pieces.jumps, strict=True) if not height.is_zero
        )

    def subs(self, **values: Any) -> Activation:
        """The same activation with numbers in the place of parameters.

        Args:
            values: parameter name = int, float, str, Fraction or sympy number (decimals are taken exactly).
        """
        by_name = {str(p): p for p in self.parameters}
        unknown = sorted(set(values) - set(by_name))
        if unknown:
            raise DeclarationError(
                f"activation {self.name}",
                f"it has no parameter {', '.join(unknown)}",
                f"its parameters are: {', '.join(by_name) or 'none'}",
            )
        numbers = {by_name[key]: number(value, key) for key, value in values.items()}
        for symbol, value in numbers.items():
            if symbol.is_positive and not value.is_positive:
                raise DeclarationError(f"activation {self.name}", f"{symbol} = {value}", f"{symbol} must be positive")
        rest = tuple(p for p in self.parameters if p not in numbers)
        return Activation(self.name, self.expr.subs(numbers), rest, self.source)

    @property
    def _formula(self) -> Formula:
        return Formula(self.name, self.expr, self.parameters)


class Formula(sp.Atom):
    """The formula of an activation inside an expression.

    An atom, so that substituting ``z`` in an equation never rewrites the formula itself.
    """

    __slots__ = ("expr", "name", "parameters")
    is_commutative = True

    def __new__(cls, name: str, expr: sp.Expr, parameters: tuple[sp.Symbol, ...]) -> Formula:
        self = super().__new__(cls)
        self.name, self.expr, self.parameters = name, expr, tuple(parameters)
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (self.name, self.expr, self.parameters)

    def _hashable_content(self) -> tuple[Any, ...]:
        return (self.name, self.expr, *self.parameters)

    @property
    def pieces(self) -> Pieces:
        """The formula between its breakpoints."""
        return split(self.expr)

    def _sympystr(self, printer: Any) -> str:
        return self.name

    def _latex(self, printer: Any) -> str:
        return rf"\mathrm{{{self.name}}}".replace("_", r"\_")

    def sort_key(self, order: Any = None) -> Any:
        return self.class_key(), (1, (self.name, str(self.expr))), sp.S.One.sort_key(), sp.S.One


class Phi(sp.Expr):
    """``phi^(k)(u)``: an activation or its derivative away from breakpoints, not expanded.

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
        return super().__new__(cls, formula, sp.sympify(u), sp.Integer(order), *map(sp.sympify, values))

    @property
    def formula(self) -> Formula:
        return self.args[0]

    @property
    def argument(self) -> sp.Expr:
        return self.args[1]

    @property
    def order(self) -> int:
        return int(self.args[2])

    @property
    def free_symbols(self) -> set[sp.Symbol]:
        return set().union(*(a.free_symbols for a in self.args[1:]))

    @property
    def pieces(self) -> Pieces:
        """The function ``phi^(k)`` of ``z`` between its breakpoints, with this atom's parameter values."""
        result = self.formula.pieces
        for _ in range(self.order):
            result = result.diff()
        return result.subs(dict(zip(self.formula.parameters, self.args[3:], strict=True)))

    def _eval_derivative(self, s: sp.Symbol) -> sp.Expr:
        if any(value.has(s) for value in self.args[3:]):
            raise DeclarationError(
                f"d/d{s} of {self}", f"{s} is a parameter of the activation", "differentiate with respect to the kernel"
            )
        return Phi(self.formula, self.argument, sp.Integer(self.order + 1), *self.args[3:]) * self.argument.diff(s)

    def _sympystr(self, printer: Any) -> str:
        return f"{self.formula.name}{chr(39) * self.order}({printer._print(self.argument)})"

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        primes = "'" * self.order
        name = printer._print(self.formula)
        power = "" if exp is None else rf"^{{{primes}{exp}}}"
        head = name + (power or primes)
        return rf"{head}\left({printer._print(self.argument)}\right)"


def _parity(pieces: Pieces) -> Parity | None:
    mirrored = Pieces(
        tuple(-b for b in reversed(pieces.breaks)), tuple(p.subs(z, -z) for p in reversed(pieces.parts))
    )
    if pieces.map(lambda u, v: _zero(u - v), mirrored).parts == (sp.Integer(0),):
        return "even"
    if pieces.map(lambda u, v: _zero(u + v), mirrored).parts == (sp.Integer(0),):
        return "odd"
    return None


def _homogeneity(pieces: Pieces) -> int | None:
    """Formulas homogeneous of degree p are c z**p on each side of 0."""
    if any(not b.is_zero for b in pieces.breaks):
        return None
    degrees = set()
    for part in pieces.parts:
        if part.is_zero:
            continue
        coefficient, power = sp.expand(part).as_independent(z)
        degree = sp.Integer(0) if power == 1 else power.as_base_exp()[1] if power.as_base_exp()[0] == z else None
        if degree is None or coefficient.has(z) or not degree.is_Integer:
            return None
        degrees.add(int(degree))
    return degrees.pop() if len(degrees) == 1 else None


def _zero(difference: sp.Expr) -> sp.Expr:
    """0 if the expression vanishes identically (decided symbolically), else the expression."""
    difference = sp.expand(difference)
    if difference.is_zero or sp.simplify(difference) == 0:
        return sp.Integer(0)
    return difference
