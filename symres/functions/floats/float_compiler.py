"""Formulas compiled to NumPy, as the records of functions spell them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import sympy as sp
from flint import acb, arb, ctx

from ...core.atoms import AverageNode
from ...core.errors import DeclarationError
from ...core.words import abbreviated
from ...numerics.deferred_numpy import Array, np
from ..balls.compiler import compile_ball
from ..balls.exponential_forms import HALF_LINE, TwoForms, exponential_forms, group_exponentials
from ..companions import Log1p
from ..function_record import definition_of, record_of, spelled
from ..records.special_function import SpecialFunction

_BITS = 128  # of balls, where NumPy does not have a function or its numbers overflow
_MOST_BALLS = 4096  # at once: they take milliseconds
_MULTIPLIED = 4  # powers up to this one are products


class CompiledFormula:
    """A function for arrays; without SciPy where only elementary functions are in it, because that loads slowly.

    It is pickled by its formula, and compiled again where it is loaded.

    Args:
        symbols: the arguments, in their order.
        expressions: what it computes, one or several.
    """

    def __init__(self, symbols: Sequence[sp.Symbol], expressions: sp.Expr | Sequence[sp.Expr]) -> None:
        self._formula = symbols, expressions
        self._on_half_line = HALF_LINE[0] in symbols  # of what exponentials were written in there is no other form
        self._names: dict[sp.Basic, str] = {s: f"x{k}" for k, s in enumerate(symbols)}
        self._lines: list[str] = []  # one for each distinct node
        self._namespace: dict[str, Any] = {"np": np, "inf": math.inf, "nan": math.nan}
        head = f"def function({', '.join(self._names.values())}):"
        if isinstance(expressions, sp.Expr):
            values = self._name(expressions)
        else:
            values = f"[{', '.join(map(self._name, expressions))}]"
        exec("\n ".join([head, *self._lines, f"return {values}"]), self._namespace)
        self._function = self._namespace["function"]

    def __call__(self, *arguments: Array | float) -> Any:
        """The values, each of the shape of the arguments together, silently not finite; a constant is a number."""
        with np.errstate(all="ignore"):
            return self._function(*arguments)

    def __reduce__(self) -> tuple[type[CompiledFormula], tuple[Any, ...]]:
        return CompiledFormula, self._formula

    def _name(self, node: sp.Basic) -> str:
        """The variable of a node, its line written where it is first asked for; numbers stand for themselves."""
        if node not in self._names:
            text = self._text(node)
            if node.free_symbols or node.has(AverageNode):
                self._lines.append(f"v{len(self._lines)} = {text}")
                text = f"v{len(self._lines) - 1}"
            self._names[node] = text
        return self._names[node]

    def _text(self, node: sp.Basic) -> str:
        """The right-hand side of the line of a node."""
        if isinstance(node, AverageNode):
            return self._called(node.float_value, *node.float_arguments)
        if node.is_number and not node.has(AverageNode):
            return _number(node)
        if isinstance(node, SpecialFunction):
            return self._called(node.values, *node.args)
        if not self._on_half_line and (forms := exponential_forms(node)) is not None:
            return self._called(_on_half_lines(forms[1]), forms[0])
        if isinstance(node, sp.log) and node.args[0].is_Add and sp.S.One in node.args[0].args:
            return self._name(Log1p(node.args[0] - 1))
        match node:
            case sp.Add():
                return f"({' + '.join(map(self._name, node.args))})"
            case sp.Mul():  # divided by what has a negative power
                factors = node.args if self._on_half_line else group_exponentials(node.args)
                above = [f for f in factors if not (f.is_Pow and f.exp.is_Rational and f.exp.is_negative)]
                below = [f.base**-f.exp for f in factors if f not in above]
                texts = [" * ".join(map(self._name, part)) or "1.0" for part in (above, below)]
                return f"({texts[0]})" if not below else f"({texts[0]} / ({texts[1]}))"
            case sp.Pow():
                return self._power(node.base, node.exp)
            case sp.Piecewise():
                text = "nan"
                for value, condition in reversed(node.args):
                    text = f"np.where({self._name(condition)}, {self._name(value)}, {text})"
                return text
            case sp.Max() | sp.Min():
                first, *others = node.args
                return self._spelled(node.func, first, node.func(*others, evaluate=len(others) == 1))
            case sp.logic.boolalg.BooleanAtom():
                return str(bool(node))
            case sp.core.relational.Relational():
                return f"({self._name(node.lhs)} {node.rel_op} {self._name(node.rhs)})"
            case sp.And() | sp.Or() | sp.Not():
                return f"np.logical_{node.func.__name__.lower()}({', '.join(map(self._name, node.args))})"
        if _template(node.func):
            return self._spelled(node.func, *node.args)
        if (definition := definition_of(node)) is not None:
            return self._name(definition)
        if record_of(node) is None:
            reason = f"{node.func.__name__} has no numbers in double precision"
            raise DeclarationError(f"the value of {abbreviated(node, 80)}", reason, "use elementary functions")
        symbols = sp.symbols(f"a:{len(node.args)}", real=True)
        number = by_balls(node.func(*symbols, evaluate=False), symbols)
        return self._called(lambda *values: np.vectorize(number, [float])(*values), *node.args)

    def _called(self, function: Callable[..., Any], *arguments: sp.Basic) -> str:
        name = f"f{len(self._namespace)}"
        self._namespace[name] = function
        return f"{name}({', '.join(map(self._name, arguments))})"

    def _spelled(self, kind: type, *arguments: sp.Basic) -> str:
        template = _template(kind)
        if "special." in template and "special" not in self._namespace:
            from scipy import special  # here, because it takes longer to import than the rest of symres

            self._namespace["special"] = special
        return template.format(*map(self._name, arguments))

    def _power(self, base: sp.Expr, exponent: sp.Expr) -> str:
        if exponent.is_Rational and exponent.is_negative:
            return f"(1.0 / {self._name(base**-exponent)})"
        if exponent == sp.Rational(1, 2):
            return f"np.sqrt({self._name(base)})"
        if exponent.is_Integer and exponent <= _MULTIPLIED:
            return f"({' * '.join([self._name(base)] * int(exponent))})"
        if exponent.is_Integer:
            return f"{self._name(base)}**{exponent}"
        return f"{self._name(base)}**{self._name(exponent)}"


@lru_cache(maxsize=1024)
def _number(node: sp.Expr) -> str:
    """A number as text; integers remain what they are, for powers of numbers."""
    if node.is_Integer and abs(node) < 2**53:
        return f"({node})" if node < 0 else str(node)
    with ctx.workprec(_BITS):
        ball = compile_ball(node, ())([])
    number = complex(ball) if isinstance(ball, acb) else float(ball.mid())
    return f"({number!r})"


@lru_cache(maxsize=256)
def _template(kind: type) -> str:
    """How NumPy or SciPy spell a function; empty if they do not have it by a name."""
    template = spelled("numpy", "arrays", library="np", special="special").get(kind, "")
    return "" if template.startswith("_") else template


@lru_cache(maxsize=512)
def _on_half_lines(forms: TwoForms) -> Callable[[Array | float], Array]:
    """A function of u by its forms on both half-lines."""
    left, right = (CompiledFormula(HALF_LINE, form) for form in (forms.left, forms.right))

    def value(u: Array | float) -> Array:
        v = -np.abs(u)
        d = np.exp(v)
        return np.where(np.less(u, 0), left(v, d), right(v, d))

    return value


@lru_cache(maxsize=512)
def by_balls(formula: sp.Expr, symbols: tuple[sp.Symbol, ...], bits: int = _BITS) -> Callable[..., float]:
    """A formula as a function of floats, from balls of so many bits; nan where it has no value."""
    program = compile_ball(formula, symbols)

    def number(*arguments: float) -> float:
        with ctx.workprec(bits):
            ball = program([arb(float(a)) for a in arguments])
        return float(ball.mid()) if isinstance(ball, arb) and ball.is_finite() else math.nan

    return number


class WithoutOverflow:
    """A function for arrays, by balls where a part of the formula is not a finite number.

    Args:
        part: the formula.
        arguments: its symbols.
    """

    def __init__(self, part: sp.Expr, arguments: list[sp.Symbol]) -> None:
        self._part, self._arguments, self._fast = part, arguments, CompiledFormula(arguments, part)

    def __call__(self, w: Array, *parameters: float) -> Array | float:
        """The values at places; not finite where balls have none either, or too many would be needed."""
        result: Array | float = self._fast(w, *parameters)
        if np.all(np.isfinite(result)):
            return result
        values = np.array(np.broadcast_to(result, w.shape), dtype=float)
        missing = ~np.isfinite(values)
        if missing.sum() <= _MOST_BALLS:
            number = by_balls(self._part, tuple(self._arguments))
            values[missing] = [number(place, *parameters) for place in w[missing].tolist()]
        return values
