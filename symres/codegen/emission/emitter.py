"""Straight-line code from sympy expressions: hash-consed nodes, literals folded, one name for what is used twice."""

from __future__ import annotations

import itertools
import keyword
import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.core.sorting import default_sort_key

from ...core.errors import DeclarationError
from ...core.symbols import SHARED, ascii_name
from ...functions.function_record import spelled_out
from ..stable.primitives import GeneratedSymbol

WIDTH = 100  # an inlined expression longer than this gets a name of its own
LINE = 110  # a named one longer than this has its longest part named first
OUT = "out"  # the argument of NumPy functions that receives the result
_ATOM, _PRODUCT, _SUM = 3, 2, 1  # how tightly the text of a node binds


class NoSpelling(DeclarationError):
    """A formula with a function that the target language does not have."""

    @classmethod
    def of(cls, language: str, formula: sp.Basic, head: str) -> NoSpelling:
        """The error for a formula and the name of the function in it."""
        return cls(
            f"{language} code for {beginning(str(formula))}",
            f"the target has no function {head}",
            "export it for another target or as LaTeX, or rewrite it with functions that `symres list` shows",
        )


def beginning(formula: str, width: int = 80) -> str:
    """A formula, or its first terms if it is longer than a number of characters."""
    if len(formula) <= width:
        return formula
    ends = [
        m.start()
        for m in re.finditer(r" [+-] ", formula)
        if formula.count("(", 0, m.start()) == formula.count(")", 0, m.start())
    ]
    first = max((end for end in ends if end <= width), default=0)
    return f"{formula[:first]} + ..." if first else f"{formula[: width - 3]}..."


class LosesDigits(NoSpelling):
    """A formula in special functions whose terms cancel in floats."""


def not_integrated(formula: sp.Basic, language: str) -> NoSpelling:
    """The error for an average that would be integrated when the code runs, where that is no way of the language."""
    return NoSpelling(
        f"{language} code for {beginning(str(formula))}",
        "averages without a closed form need another target",
        "export it for NumPy or PyTorch",
    )


@dataclass(frozen=True)
class Dialect:
    """How one target language spells operations.

    Args:
        name: for messages.
        functions: sympy class -> template with ``{0}``, ``{1}`` for the arguments.
        sqrt: template of a square root whose argument stays away from zero.
        root: template of a square root whose argument may vanish.
        radical: template of a power below 1 of an argument that may vanish.
        power: template of a general power.
        infinity: spelling of the float infinity.
        quotient: template of a division; empty: the operator.
        library: the name of the array library in code, which has ``exp``, ``where``, ``clip``.
        nan: spelling of no number.
        reduced: the function that splits kernels into numbers of order 1 and powers of 2; empty if there is always a
            wider type to compute in.
    """

    name: str
    functions: Mapping[type, str]
    sqrt: str
    root: str
    radical: str
    power: str
    infinity: str
    quotient: str = ""
    library: str = ""
    nan: str = "math.nan"
    reduced: str = ""

    def unspelled(self, expr: sp.Expr) -> str:
        """The name of a function in an expression that the language has no spelling for; empty if there is none."""
        for e in sorted(expr.atoms(sp.Function), key=default_sort_key):
            if type(e) in self.functions or isinstance(e, AppliedUndef) or is_constant(e):
                continue
            definition = spelled_out(e)
            if definition is None or self.unspelled(definition):
                return getattr(e, "written", type(e).__name__)
        return ""


@dataclass(frozen=True)
class Source:
    """Code of one function.

    Args:
        lines: its body.
        tables: (name, text) of the constants that it reads.
        preamble: functions that it calls and nobody else.
        tile: the same for parts of a matrix, where there is such.
    """

    lines: tuple[str, ...]
    tables: tuple[tuple[str, str], ...] = ()
    preamble: tuple[str, ...] = ()
    tile: Tile | None = None


@dataclass(frozen=True)
class Tile:
    """The bodies of a tile function and of the function that prepares it, see tiles.py.

    Args:
        axes: text that computes and returns what depends on one kernel alone.
        lines: text that computes the rest; the result is in ``scratch[0]``.
        kept: how many results ``axes`` returns.
        arrays: how many scratch arrays there must be, the result among them.
        cost: of the operations on whole tiles.
        factor: what the result is to be multiplied with, by the caller, who may have other factors.
        bounded: whether covariances beyond sqrt(K1*K2) are left to functions without tiles.
    """

    axes: tuple[str, ...]
    lines: tuple[str, ...]
    kept: int
    arrays: int
    cost: int
    factor: sp.Expr = sp.S.One
    bounded: bool = False


@dataclass
class _Node:
    """One operation; ``text`` is a template over the operands, ``binding`` how tightly it binds."""

    render: Callable[[Callable[[int, int], str]], str]
    operands: tuple[int, ...]
    binding: int
    uses: int = 0
    name: str = ""


@dataclass
class Emitter:
    """Turns expressions into assignments.

    Args:
        dialect: the target language.
        names: symbol -> the variable that holds it; a symbol of the code that is not listed has its own name.
    """

    dialect: Dialect
    names: Mapping[sp.Symbol, str]
    _nodes: list[_Node] = field(default_factory=list)
    _index: dict[object, int] = field(default_factory=dict)
    _terms: dict[int, Sequence[tuple[bool, int]]] = field(default_factory=dict)
    _results: list[int] = field(default_factory=list)

    def function(self, results: Sequence[tuple[str, sp.Expr]], prefix: str = "t") -> list[str]:
        """Assignments that compute ``results`` (name, expression), the shared parts first.

        A sum that contains a result before it adds to that.

        Raises:
            DeclarationError: a node that the target language has no spelling for.
        """
        roots = [(name, self._result(expr)) for name, expr in results]
        lines: list[str] = []
        counter = itertools.count()

        def text(i: int, binding: int) -> str:
            node = self._nodes[i]
            if not node.name:
                body = node.render(text)
                is_leaf = not node.operands  # a name or a number, however long it is
                if is_leaf or (node.uses <= 1 and len(body) <= WIDTH):
                    return f"({body})" if node.binding < binding else body
                name(node, body)
            return node.name

        def name(node: _Node, body: str, called: str = "") -> None:
            inner = [n for n in map(self._nodes.__getitem__, node.operands) if n.operands and not n.name]
            while len(body) > LINE and inner:
                longest = max(inner, key=lambda n: len(n.render(text)))
                inner.remove(longest)
                name(longest, longest.render(text))
                body = node.render(text)
            node.name = called or f"{prefix}{next(counter)}"
            lines.append(assigned(node.name, body))

        def assigned(name: str, body: str) -> str:
            return f"return {body}" if name == "return" else f"{name} = {body}"

        for result, root in roots:
            node = self._nodes[root]
            if node.operands and not node.name:
                name(node, node.render(text), result)
            else:
                lines.append(assigned(result, text(root, 0)))
                node.name = node.name or result
        return lines

    def _result(self, expr: sp.Expr) -> int:
        root = self._visit(expr)
        self._nodes[root].uses += 1
        self._results.append(root)
        return root

    # ---- nodes -------------------------------------------------------------------------------------------------

    def _add_node(self, key: object, render: Callable, operands: Sequence[int] = (), binding: int = _ATOM) -> int:
        if key not in self._index:
            self._nodes.append(_Node(render, tuple(operands), binding))
            self._index[key] = len(self._nodes) - 1
            for i in operands:
                self._nodes[i].uses += 1
        return self._index[key]

    def _literal(self, value: float) -> int:
        if math.isnan(value):
            text = self.dialect.nan
        elif math.isinf(value):
            text = self.dialect.infinity if value > 0 else f"-{self.dialect.infinity}"
        else:
            text = repr(value)
        return self._add_node(("literal", text), lambda _: text, (), _SUM if value < 0 else _ATOM)

    def _call(self, template: str, operands: Sequence[int]) -> int:
        return self._add_node((template, *operands), lambda t: template.format(*(t(i, 0) for i in operands)), operands)

    def _product(self, factors: Sequence[int]) -> int:
        """Left-associated product of at least one factor."""
        if len(factors) == 1:
            return factors[0]
        first, *rest = factors
        negative = self._nodes[first].binding == _SUM and not self._nodes[first].operands  # -2.0*K, not (-2.0)*K
        return self._add_node(
            ("*", *factors),
            lambda t: "*".join([t(first, 0 if negative else _PRODUCT), *(t(i, _PRODUCT) for i in rest)]),
            factors,
            _SUM if negative else _PRODUCT,
        )

    def _quotient(self, over: int, under: int) -> int:
        if self.dialect.quotient:
            return self._call(self.dialect.quotient, [over, under])
        return self._add_node(
            ("/", over, under), lambda t: f"{t(over, _PRODUCT)}/{t(under, _ATOM)}", (over, under), _PRODUCT
        )

    def _sum(self, terms: Sequence[tuple[bool, int]]) -> int:
        """Sum of (positive?, node)."""
        for result in self._results:
            if (known := self._terms.get(result, ())) and set(known) < set(terms):
                terms = [(True, result), *(term for term in terms if term not in known)]
        if len(terms) == 1 and terms[0][0]:
            return terms[0][1]

        def render(t: Callable[[int, int], str]) -> str:
            positive, first = terms[0]
            out = t(first, _SUM) if positive else f"-{t(first, _PRODUCT)}"
            for positive, i in terms[1:]:
                out += f" + {t(i, _PRODUCT)}" if positive else f" - {t(i, _PRODUCT)}"
            return out

        node = self._add_node(("+", *terms), render, [i for _, i in terms], _SUM)
        self._terms[node] = terms
        return node

    # ---- sympy to nodes ----------------------------------------------------------------------------------------

    def _visit(self, e: sp.Expr) -> int:
        if e in self._index:
            return self._index[e]
        i = self._lower(e)
        self._index[e] = i
        return i

    def _lower(self, e: sp.Expr) -> int:
        if isinstance(e, sp.Symbol):
            name = self.names.get(e, e.name if isinstance(e, GeneratedSymbol) else "")
            if not name:
                raise self._unknown(e)
            return self._add_node(("symbol", name), lambda _: name)
        if is_constant(e):
            return self._literal(literal(e))
        if isinstance(e, sp.Add):
            split = [constant_factor(term) for term in sorted(e.args, key=default_sort_key)]
            # a positive term first: no leading minus where it can be helped
            split.sort(key=lambda pair: bool(pair[0] < 0))
            return self._sum([(bool(c >= 0), self._scaled(abs(c), factor)) for c, factor in split])
        if isinstance(e, sp.Mul):
            return self._scaled(*constant_factor(e))
        if isinstance(e, sp.Pow):
            return self._lower_power(e.base, e.exp)
        if isinstance(e, AppliedUndef):  # a function that the module itself defines
            call = f"{e.func.__name__}(" + ", ".join(f"{{{i}}}" for i in range(len(e.args))) + ")"
            return self._call(call, [self._visit(a) for a in e.args])
        template = self.dialect.functions.get(type(e))
        if template is None:
            definition = spelled_out(e)
            if definition is None:
                raise self._unknown(e)
            return self._visit(definition)
        if isinstance(e, sp.Max | sp.Min):
            first, *others = sorted(e.args, key=default_sort_key)
            return reduce(lambda out, a: self._call(template, [out, self._visit(a)]), others, self._visit(first))
        return self._call(with_constants(template, e), [self._visit(a) for a in e.args])

    def _scaled(self, coefficient: sp.Expr, rest: sp.Expr) -> int:
        """A constant times an expression (sympy would multiply the constant into a sum)."""
        over, under = [], []
        for factor in sorted(sp.Mul.make_args(rest), key=default_sort_key):
            base, exponent = factor.as_base_exp()
            if exponent.is_Rational and exponent < 0:
                under.append(self._visit(base**-exponent))
            elif factor != 1:
                over.append(self._visit(factor))
        value = literal(coefficient)
        if value == -1.0 and over:
            inner = self._product(over)
            if under:
                inner = self._quotient(inner, self._product(under))
            return self._sum([(False, inner)])
        if value != 1.0 or not over:
            over.insert(0, self._literal(value))
        top = self._product(over)
        return self._quotient(top, self._product(under)) if under else top

    def _lower_power(self, base: sp.Expr, exponent: sp.Expr) -> int:
        if exponent.is_Rational and exponent < 0:
            return self._quotient(self._literal(1.0), self._visit(base**-exponent))
        if exponent.is_Integer and exponent <= 12:
            return self._integer_power(self._visit(base), int(exponent))
        if exponent.is_Rational and exponent.q == 2 and exponent <= 12:
            template = self.dialect.sqrt if away_from_zero(base) else self.dialect.root
            root = self._call(template, [self._visit(base)])
            whole = int(exponent - sp.Rational(1, 2))
            return root if not whole else self._product([self._integer_power(self._visit(base), whole), root])
        rooted = exponent.is_Rational and exponent < 1 and not away_from_zero(base)
        template = self.dialect.radical if rooted else self.dialect.power
        return self._call(template, [self._visit(base), self._visit(exponent)])

    def _integer_power(self, base: int, exponent: int) -> int:
        if exponent == 1:
            return base
        half = self._integer_power(base, exponent // 2)
        square = self._product([half, half])
        return square if exponent % 2 == 0 else self._product([square, base])

    def _unknown(self, e: sp.Basic) -> NoSpelling:
        return NoSpelling.of(self.dialect.name, e, getattr(e, "written", type(e).__name__))


def with_constants(template: str, e: sp.Expr) -> str:
    """The template of a function with what it contains besides arguments, such as orders of derivatives."""
    for name, text in getattr(e, "constants", {}).items():
        template = template.replace(f"{{{name}}}", text)
    return template


def is_constant(e: sp.Expr) -> bool:
    """A number, whatever its spelling."""
    return not e.free_symbols and e.is_number is not False


def literal(e: sp.Expr) -> float:
    """The nearest float of a constant expression.

    Raises:
        NoSpelling: it is finite and beyond the range of floats, whose inf and 0 would be other numbers.
    """
    value = float(e if e in (sp.oo, -sp.oo) else sp.N(e, 40))
    if (math.isinf(value) and e.is_finite) or (value == 0 and e.is_nonzero):
        asked, found = f"code for {str(e)[:40]}", "the number is beyond the range of float64, 5e-324 to 1.8e308"
        raise NoSpelling(asked, found, "take constants whose squares are in this range")
    return value


def constant_factor(e: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """Split a product into its constant and the rest."""
    constants = [f for f in sp.Mul.make_args(e) if is_constant(f)]
    rest = [f for f in sp.Mul.make_args(e) if not is_constant(f)]
    return sp.Mul(*constants), sp.Mul(*rest)


def away_from_zero(radicand: sp.Expr) -> bool:
    """True if a positive constant stands in a sum of nonnegative terms."""
    constant = radicand.as_coeff_Add()[0]
    return bool(constant.is_positive) and bool((radicand - constant).is_nonnegative)


def variable(symbol: sp.Symbol) -> str:
    """The name of a symbol inside a module: that of a parameter ends in an underscore, and no other name there does."""
    return symbol.name if _is_own(symbol) else f"{identifier(ascii_name(symbol.name))}_"


def argument(symbol: sp.Symbol) -> str:
    """The name of a symbol in the signature of a public function: the user's own, where that can be a name there."""
    name = symbol.name if _is_own(symbol) else identifier(symbol.name)
    return f"{name}_" if keyword.iskeyword(name) or name == OUT else name


def distinct(symbols: Sequence[sp.Symbol], named: Callable[[sp.Symbol], str] = variable) -> dict[sp.Symbol, str]:
    """The names of arguments.

    Raises:
        DeclarationError: two of them would have one name.
    """
    known: dict[str, sp.Symbol] = {}
    for symbol in symbols:
        other = known.setdefault(named(symbol), symbol)
        if other != symbol:
            asked = f"code with the arguments {other} and {symbol}"
            raise DeclarationError(asked, f"both would be called {named(symbol)}", "rename one of them")
    return {symbol: name for name, symbol in known.items()}


def _is_own(symbol: sp.Symbol) -> bool:
    return isinstance(symbol, GeneratedSymbol) or SHARED.get(symbol.name) == symbol


def identifier(name: str) -> str:
    """A name as Python reads it, without what a name cannot contain; it begins with a letter."""
    name = unicodedata.normalize("NFKC", name)
    name = "".join(c if f"a{c}".isidentifier() else "_" for c in name).lstrip("_")  # private names are the module's
    return name if name.isidentifier() else f"p{name}"


def defined(head: str, lines: Sequence[str]) -> str:
    """The text of a function."""
    return "\n".join([f"def {head}:", *(f"    {line}" for line in lines)])


def rows(table: Sequence[Sequence[float]]) -> list[str]:
    """Rows of numbers as list displays, a few numbers a line."""
    out = []
    for row in table:
        lines, line = [], ""
        for text in (repr(value) for value in row):
            if len(line) + len(text) > WIDTH:
                lines.append(line)
                line = ""
            line += f"{text}, "
        out.append("[" + ("\n" + " " * 8).join(part.rstrip() for part in [*lines, line]).rstrip(",") + "]")
    return out
