"""An activation: a formula in ``z`` with its facts, and the atom ``phi(u)`` that stands for it in equations."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import mpmath as mp
import sympy as sp

from ..core.display import Fact, Shown
from ..core.errors import DeclarationError
from ..core.foreign import THEORIES, reader_of
from ..core.scalars import equation, parameter, scalar
from ..core.symbols import SHARED, z
from ..core.words import with_digest
from ..core.work_budget import Stage, limited
from ..functions.companions import Function, in_basic_functions
from ..functions.function_record import explained
from ..functions.tails import TailGrowth
from ..notation.facts import equation as fact
from ..notation.latex import latex
from .atom import PARAMETRISED, Formula, Phi
from .formula_parser import parse
from .piecewise import PiecewiseFunction, split
from .symmetries import Parity, homogeneity, parity
from .validation import require_supported, validate

__all__ = ["Activation", "Formula", "Phi", "identifier"]

# names that no parameter may have: it would print like the symbol of a layer and be another symbol
RESERVED = frozenset({"x", *SHARED})
_ASSUMPTIONS = ("positive", "negative", "nonnegative", "nonpositive", "nonzero", "integer", "rational", "real")
_OPERATOR_WORDS = {"**": "pow", "^": "pow", "*": "times", "/": "over", "+": "plus", "-": "minus", "<": "lt", ">": "gt"}

_MAX_STEM_LENGTH = 32  # characters of the name of a file without its ending


@dataclass(frozen=True)
class Activation(Shown):
    """A pointwise nonlinearity, declared by its formula.

    Args:
        name: how it is called in text, code and files.
        expr: its formula, a real sympy expression in ``sr.z`` and the declared parameters, or text for ``parse``.
            Decimals are taken exactly; other activations in it (``relu(z)**2``) are replaced by their formulas.
        parameters: the symbols in ``expr`` other than ``z``, each with its assumptions (``positive=True``...).
        source: where the formula comes from, for documents.

    Attributes:
        pieces: the formula between its breakpoints.
        parity: "even", "odd" or None.
        homogeneity: p if phi(a z) = a**p phi(z) for all a > 0, else None.
        growth: how fast it grows for large ``|z|``.
        jumps: (place, height) of every discontinuity.

    Raises:
        DeclarationError: the formula contains no ``z`` or an undeclared symbol, is not real and finite on the
            whole line, or grows so fast that it has no Gaussian average.

    Examples:
        >>> bent = sr.Activation("bent_identity", "(sqrt(z^2 + 1) - 1)/2 + z")
        >>> round(sr.expect(bent)(K=1), 9)
        0.177265403
        >>> from sympy import Symbol
        >>> slope = Symbol("slope", positive=True)
        >>> sr.expect(sr.Activation("hinge", "where(z > 0, z, -slope*z)", (slope,))).expr
        sqrt(2)*sqrt(K)*(slope + 1)/(2*sqrt(pi))
    """

    functions: ClassVar[Mapping[str, Function]] = MappingProxyType({})  # activations in formulas: the catalogue sets it

    name: str
    expr: sp.Expr
    parameters: tuple[sp.Symbol, ...] = ()
    source: str = field(default="", compare=False)
    pieces: PiecewiseFunction = field(init=False, repr=False, compare=False)
    parity: Parity | None = field(init=False, repr=False, compare=False)
    homogeneity: sp.Rational | None = field(init=False, repr=False, compare=False)
    growth: TailGrowth = field(init=False, repr=False, compare=False)
    jumps: tuple[tuple[sp.Expr, sp.Expr], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        name = self.name
        if not isinstance(name, str) or not (name.strip() and name.isascii() and name.isprintable()) or len(name) > 100:
            found, remedy = "this is not a usable name", "use up to 100 printable ASCII characters"
            raise DeclarationError(f"activation {name!a:.60}", found, remedy)
        parameters = _required_parameters(self.name, self.parameters)
        expr = _formula(self.name, self.expr, parameters)
        with limited(Stage.DECLARATION, f"activation {self.name}"):
            self._analyse(parameters, expr)

    def _analyse(self, parameters: tuple[sp.Symbol, ...], expr: sp.Expr) -> None:
        """The facts of the formula."""
        pieces = split(expr)
        constant = not any(part.has(z) for part in pieces.parts) and not pieces.breaks
        if constant and pieces.parts[0].is_finite:
            raise self._refused("the formula does not depend on z", "write a formula in z")
        set_ = object.__setattr__
        set_(self, "expr", expr)
        set_(self, "parameters", parameters)
        set_(self, "pieces", pieces)
        set_(self, "growth", validate(self.name, pieces))
        set_(self, "jumps", tuple((b, h) for b, h in zip(pieces.breaks, pieces.jumps, strict=True) if h != 0))
        set_(self, "parity", parity(pieces))
        set_(self, "homogeneity", homogeneity(pieces))

    def __call__(self, u: Any) -> sp.Expr:
        """The activation of an expression, kept as an atom: ``phi(z)`` prints as phi(z); of a number, its value.

        Examples:
            >>> square = sr.activation("square")
            >>> square(sr.z + 1), square(3)
            (square(z + 1), 9)
        """
        phi = Phi(self.formula, equation(u, f"the argument of {self.name}"), sp.Integer(0), *self.parameters)
        return phi.expanded if phi.argument.is_number else phi

    def derive(self) -> Any:
        """The theory of multilayer perceptrons of the activation, what ``sr.derive`` returns of it.

        Examples:
            >>> sr.activation("step").derive().kernel_map.expr
            C_W/2 + C_b
        """
        return reader_of(THEORIES)(self)

    def _title(self) -> str:
        return f"activation {self.name}"

    def _facts(self) -> list[Fact]:
        """The formula, and what was found out about it."""
        words = (("parity", self.parity), ("tails", str(self.growth)), ("source", self.source))
        formulas = [fact("phi(z)", r"\phi(z)", self.expr)]
        for record, definition in explained(self.expr):
            formulas.append(fact(str(record.kind(z)), latex(record.kind(z)), definition))
        return [*formulas, *(Fact(label, text) for label, text in words if text)]

    @property
    def breakpoints(self) -> tuple[sp.Expr, ...]:
        """Where the formula changes, at kinks of some order and at jumps.

        Examples:
            >>> sr.activation("hard_swish").breakpoints
            (-3, 3)
        """
        return self.pieces.breaks

    @property
    def is_continuous(self) -> bool:
        """True if phi has no jump.

        Examples:
            >>> phi = sr.activation("hardshrink(1/2)")
            >>> phi.is_continuous, phi.jumps
            (False, ((-1/2, 1/2), (1/2, 1/2)))
        """
        return not self.jumps

    @property
    def identifier(self) -> str:
        """The name as an identifier, for files and functions.

        Examples:
            >>> sr.activation("leaky_relu(1/10)").identifier
            'leaky_relu_slope_1_over_10'
        """
        return identifier(self.name)

    @cached_property
    def formula(self) -> Formula:
        """The formula as an atom of expressions.

        Examples:
            >>> sr.activation("tanhshrink").formula.expr
            z - tanh(z)
        """
        return Formula(self.name, self.expr, self.parameters)

    def subs(self, /, **values: Any) -> Activation:
        """The same activation with numbers in the place of parameters; they become part of its name.

        Args:
            values: parameter name = int, float, str, Fraction or sympy number (decimals are taken exactly).

        Raises:
            DeclarationError: no such parameter, no number, or a number that the parameter's assumptions exclude.

        Examples:
            >>> sr.activation("celu").subs(alpha=2).expr
            Piecewise((z, z > 0), (2*exp(z/2) - 2, True))
        """
        by_name = {str(p): p for p in self.parameters}
        unknown = sorted(set(values) - set(by_name))
        if unknown:
            remedy = f"its parameters are: {', '.join(by_name) or 'none'}"
            left = sorted(set(by_name) - set(values))
            if len(unknown) == len(left) == 1:  # a name of another library
                remedy += f"; write {left[0]}={values[unknown[0]]}"
            raise self._refused(f"it has no parameter {', '.join(unknown)}", remedy)
        if not values:
            return self
        for key, value in values.items():
            if isinstance(value, sp.Expr) and value.free_symbols:
                new = f"phi.expr.subs({key}, ...), parameters=(...)"
                remedy = f"declare an activation of the formula that you want: Activation('name', {new})"
                raise self._refused(f"{key} = {value} is not a number", remedy)
        numbers = {by_name[key]: parameter(value, key) for key, value in values.items()}
        for symbol, value in numbers.items():
            wanted = [a for a in _ASSUMPTIONS if getattr(symbol, f"is_{a}") and not getattr(value, f"is_{a}")]
            if wanted:
                raise self._refused(f"{symbol} = {value}", f"{symbol} must be {wanted[0]}")
        free = tuple(p for p in self.parameters if p not in numbers)
        expr = self.expr.subs(numbers, simultaneous=True)
        named, written = PARAMETRISED.fullmatch(self.name), [f"{s}={_brief(v)}" for s, v in numbers.items()]
        if named is None:
            name = formula_name("; ".join([self.name, *written]))
        else:
            name = f"{named['base']}({', '.join(filter(None, [named['values'], *written]))})"
        return Activation(name, expr, free, self.source)

    def _refused(self, found: str, remedy: str) -> DeclarationError:
        return DeclarationError(f"activation {self.name}", found, remedy)


def identifier(name: str) -> str:
    """A name as a Python identifier and safe file stem; different names give different identifiers.

    Plain names stay as they are, "elu(alpha=1/2)" becomes "elu_alpha_1_over_2", and a formula gets words for its
    signs and a digest at the end.
    """
    if name.isidentifier() and name.isascii():
        return f"{name}_" if keyword.iskeyword(name) else name
    words = re.sub(r"\*\*|[-^*/+<>]", lambda sign: f"_{_OPERATOR_WORDS[sign.group()]}_", name)
    words = re.sub(r"[^A-Za-z0-9]+", "_", words).strip("_")
    if not PARAMETRISED.fullmatch(name):
        words = with_digest(words[:40], name)
    return words if words[0].isalpha() else f"f_{words}"


def formula_name(text: str) -> str:
    """The name of an activation that is given by its formula alone: the formula, normalised and not too long."""
    text = "".join(text.replace("**", "^").split())
    if len(text) <= 60:
        return text
    return with_digest(text[:48], text, "...")


def _brief(value: sp.Expr) -> str:
    """A number in a name, as formulas are written: exact if that is short."""
    text = str(value.xreplace({sp.E: sp.Symbol("exp(1)")}))
    return text if len(text) <= 24 else mp.nstr(mp.mpf(sp.N(value, 20)), 15)


def _required_parameters(name: str, parameters: Iterable[sp.Symbol]) -> tuple[sp.Symbol, ...]:
    if isinstance(parameters, sp.Symbol):
        parameters = (parameters,)
    parameters = tuple(parameters)
    for position, p in enumerate(parameters):
        if not isinstance(p, sp.Symbol):
            found, remedy = f"the parameter {p!r} is not a sympy symbol", "pass sympy.Symbol('a', positive=True)"
        elif str(p) in RESERVED:
            found, remedy = f"the name {p} of a parameter is taken by symres", "choose another name"
        elif not p.is_extended_real:
            found, remedy = f"the parameter {p} may be complex", f"declare it as Symbol('{p}', real=True)"
        elif str(p) in map(str, parameters[:position]):
            found, remedy = f"two parameters are called {p}", "give every parameter a name of its own"
        else:
            continue
        raise DeclarationError(f"activation {name}", found, remedy)
    return parameters


def _formula(name: str, expr: Any, parameters: tuple[sp.Symbol, ...]) -> sp.Expr:
    """The expression with exact numbers, in ``z`` and the parameters only."""
    asked = f"activation {name}"
    if isinstance(expr, str):
        expr = parse(expr, Activation.functions, {str(p): p for p in parameters})
    if isinstance(expr, Formula | Activation):
        raise DeclarationError(asked, f"{expr} is an activation, not an expression", "pass its formula in z, .expr")
    if not isinstance(expr, sp.Expr | int | float):
        raise DeclarationError(asked, f"{expr!r} is not a formula", "pass an expression in sr.z, or text: 'z*tanh(z)'")
    expr = scalar(expr, "the formula")
    expr = in_basic_functions(expr.replace(lambda e: isinstance(e, Phi), lambda e: e.expanded))
    strangers = sorted(map(str, expr.free_symbols - {z, *parameters}))
    if strangers:
        found = f"undeclared symbol{'s' * (len(strangers) > 1)} {', '.join(strangers)}"
        remedy = "use sr.z for the preactivation and declare the others: Activation(..., parameters=(symbol, ...))"
        if set(strangers) <= {"z", "x"}:
            remedy = "write the formula in sr.z: a symbol of the same name made elsewhere is a different one"
        raise DeclarationError(asked, found, remedy)
    if not expr.has(z):
        raise DeclarationError(asked, "the formula does not contain z", "write a formula in z")
    unused = sorted(map(str, set(parameters) - expr.free_symbols))
    if unused:
        raise DeclarationError(asked, f"the formula does not contain {', '.join(unused)}", "leave the parameter out")
    require_supported(name, expr)
    return expr


def file_stem(formula: Formula) -> str:
    """The stem of the names of files about an activation: its identifier, or a digest for a long formula."""
    stem = identifier(formula.name)
    named = formula.label()[0] is not None or len(stem) <= _MAX_STEM_LENGTH
    return stem if named else f"formula_{stem.rpartition('_')[2]}"
