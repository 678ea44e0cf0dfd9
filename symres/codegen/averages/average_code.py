"""Averages at run time: the code of a sum of averages, and of its slopes.

Nodes, weights and series are in arrays/hermite/kinked_averages.py; what these take is written here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import sympy as sp

from ...core.atoms import ActivationNode, AverageNode
from ...core.symbols import C, z
from ..emission.emitter import Dialect, Emitter, Source, defined, literal, variable
from ..stable.primitives import AtMost, determinant
from ..stable.rewrites import stabilise
from . import singular_slopes
from .integrands import PiecewiseIntegrand, is_narrow, places_of_change

Terms = tuple[tuple[sp.Expr, tuple[PiecewiseIntegrand, ...]], ...]

ROWS = {False: 256, True: 1 << 22}  # entries at a time of averages over one and two variables; series share kernels
LEAST = {False: 1e-100, True: 1e-20}  # kernels that others are divided by
LARGEST, CAREFUL = 700, 170  # exponents: the largest of a float, and of one with powers of it in quotients


def source(name: str, symbols: tuple[sp.Symbol, ...], expr: sp.Expr, dialect: Dialect) -> Source:
    """Code that evaluates an expression with unevaluated averages of one or two variables.

    Args:
        name: prefix of the functions that are averaged.
        symbols: the arguments: K or K1, K2, C, then parameters.
        expr: a linear combination of averages, coefficients in ``symbols``.
        dialect: of an array library.
    """
    is_pair = C in symbols
    kernels = 3 if is_pair else 1
    functions = _Functions(name, symbols, kernels, dialect)
    names = {s: variable(s) for s in symbols}
    lines: list[str] = []

    def integrated(node: AverageNode, rule: str, law: str) -> sp.Expr:
        """An average in symbols of variables that hold the averages of products."""
        total = sp.Integer(0)
        for coefficient, factors in _joined(node):
            average = f"a{len(lines) + 1}"
            lines.append(f"{average} = {functions.average(rule, factors, law)}")
            names[symbol := sp.Dummy(average)] = average
            total += coefficient * symbol
        return total

    values: dict[sp.Expr, sp.Expr] = {}
    conditional = sorted(expr.atoms(singular_slopes.ConditionalAverage), key=sp.default_sort_key)
    inner = {conditioned.args[0] for conditioned in conditional}
    rule, law = ("_pair_average", "K1, K2, C") if is_pair else ("_kernel_average", "K")
    for node in (node for node in averages(expr) if node not in inner):
        values[node] = integrated(node, rule, law)
    for n, conditioned in enumerate(conditional, 1):
        node, mean, variance = conditioned.args
        results = [(f"mean{n}", mean), (f"variance{n}", variance)]
        lines += Emitter(dialect, names | {determinant: "determinant"}).function(results, prefix=f"s{n}_")
        law = f"mean{n} + 0.0*K1, variance{n} + 0.0*K1"
        values[conditioned] = integrated(node, "_conditional_average", law)
    lines[:0] = functions.lines
    expr = expr.xreplace(values)
    lines += Emitter(dialect, names | {determinant: "determinant"}).function([("return", expr)])
    if any(e.has(determinant) for e in (expr, *(law for conditioned in conditional for law in conditioned.args[1:]))):
        lines.insert(0, "determinant = _determinant(K1, K2, C)")
    arguments = ", ".join(variable(s) for s in symbols)
    for s in symbols[:kernels]:  # quotients such as <z f f'>/K have their limit at K = 0
        if any(p.base == s and p.exp.is_negative for p in expr.atoms(sp.Pow)):
            lines.insert(0, f"{variable(s)} = {dialect.library}.clip({variable(s)}, {LEAST[is_pair]}, None)")
    rule = defined(f"{name}_rule({arguments})", lines)
    return Source((f"return _flat({name}_rule, {ROWS[is_pair]}, {arguments})",), (), (*functions.texts, rule))


def closer_text(
    name: str, functions: Sequence[PiecewiseIntegrand], symbols: Sequence[sp.Symbol], dialect: Dialect
) -> str:
    """The function that averages smooth functions, and derivatives of them, where nodes around 0 are too far apart.

    It is empty where those are close enough.
    """
    if not any(map(is_narrow, functions)):
        return ""
    anchors = dict.fromkeys(anchor for f in functions for anchor in _anchors(f))
    code, arguments = _Functions(name, tuple(symbols), 3, dialect), ", ".join(map(variable, symbols))
    lines = [
        '"""<f(z1) g(z2)>, with nodes where functions change that are closer than those of series."""',
        f"anchors = {code.listed(tuple(anchors))}",
        f"return _pair_average(((f,), (), anchors), ((g,), (), anchors), {arguments})",
    ]
    return "\n\n\n".join([*code.texts, defined(f"{name}_closer(f, g, {arguments})", lines)])


def _anchors(f: PiecewiseIntegrand) -> tuple[sp.Expr, ...]:
    """Where nodes crowd: at breakpoints, where a function changes, at 0."""
    anchors = (*f.breaks, *places_of_change(f))
    return anchors if 0 in anchors else (*anchors, sp.Integer(0))


class _Functions:
    """The functions that are averaged, as hermite/kinked_averages.py describes them.

    Attributes:
        texts: definitions of their parts.
        lines: assignments to the variables that hold them.
    """

    def __init__(self, name: str, symbols: tuple[sp.Symbol, ...], kernels: int, dialect: Dialect) -> None:
        self.name, self.kernel, self.parameters = name, variable(symbols[0]), symbols[kernels:]
        self.dialect = dialect
        self.texts: list[str] = []
        self.lines: list[str] = []
        self._parts: dict[sp.Expr, str] = {}
        self._variables: dict[PiecewiseIntegrand, str] = {}

    def average(self, rule: str, factors: Sequence[PiecewiseIntegrand], law: str) -> str:
        """The call of a rule for a product of functions."""
        return f"{rule}({', '.join([*map(self._variable, factors), law, *map(variable, self.parameters)])})"

    def _variable(self, f: PiecewiseIntegrand) -> str:
        """The variable that holds the parts, breakpoints and anchors of a function."""
        if f not in self._variables:
            self._variables[f] = f"f{len(self._variables) + 1}"
            parts = "".join(f"{self._part(part)}, " for part in f.parts).strip()
            listed = f"({parts}), {self.listed(f.breaks)}, {self.listed(_anchors(f))}"
            self.lines.append(f"{self._variables[f]} = {listed}")
        return self._variables[f]

    def _part(self, formula: sp.Expr) -> str:
        """The function that computes a formula between two breakpoints."""
        if formula not in self._parts:
            self._parts[formula] = f"{self.name}_part_{len(self._parts) + 1}"
            spellings = {
                **self.dialect.functions,
                _Growing: self.dialect.functions[sp.exp].format("_within({0})"),
                AtMost: f"{self.dialect.library}.clip({{0}}, None, {{1}})",
            }
            within = replace(self.dialect, functions=spellings)
            text = function_text(self._parts[formula], _marked(stabilise(formula)), self.parameters, within)
            self.texts.append(text)
        return self._parts[formula]

    def listed(self, places: Sequence[sp.Expr]) -> str:
        """Points of the line: numbers, or one for each entry where parameters move them."""
        return "(" + "".join(f"{self._anchor(place)}, " for place in places).strip() + ")"

    def _anchor(self, place: sp.Expr) -> str:
        """A point as code, which may be a call where it takes intermediate results."""
        if not place.free_symbols:
            return repr(literal(place))
        code = Emitter(self.dialect, {p: variable(p) for p in self.parameters}).function([("return", place)])
        text = code[-1].removeprefix("return ")
        if len(code) > 1:  # with intermediate results
            text = f"{self.name}_place_{len(self.texts) + 1}({', '.join(map(variable, self.parameters))})"
            self.texts.append(defined(text, code))
        library = self.dialect.library  # a constant changes nowhere: its place is 0/0 or infinite
        return f"{library}.nan_to_num({text}, nan=0.0, posinf=1e100, neginf=-1e100) + 0.0*{self.kernel}"


def function_text(name: str, stable: sp.Expr, parameters: Sequence[sp.Symbol], dialect: Dialect) -> str:
    """A stable function of z and of parameters, its exponentials kept below the largest float."""
    names = {z: "z", **{p: variable(p) for p in parameters}}
    lines = Emitter(capped(dialect, [stable]), names).function([("return", stable)])
    return defined(f"{name}({', '.join(names.values())})", lines)


class _Growing(sp.Function):
    """An exponential that is not in a denominator: where it is no float, a function is no number."""


def _marked(e: sp.Expr) -> sp.Expr:
    """A formula with marks on the exponentials that make it grow; others are cut off without harm."""
    if isinstance(e, sp.exp) and e.free_symbols:
        return _Growing(e.args[0])
    if isinstance(e, sp.Mul | sp.Add) or (isinstance(e, sp.Pow) and e.exp.is_positive):
        return e.func(*map(_marked, e.args))
    return e


def capped(dialect: Dialect, stable: Sequence[sp.Expr]) -> Dialect:
    """A dialect that keeps exponentials in stable functions below the largest float."""
    divides = any(p.exp.is_negative and p.base.has(sp.exp) for part in stable for p in part.atoms(sp.Pow))
    largest = CAREFUL if divides else LARGEST  # no infinity over infinity
    exponent = dialect.functions[AtMost].format("{0}", f"{largest}.0")
    return replace(dialect, functions={**dialect.functions, sp.exp: dialect.functions[sp.exp].format(exponent)})


def _joined(node: AverageNode) -> Terms:
    """The terms of an average; over one variable a single one, whose parts may cancel before they are integrated."""
    if node.dimension > 1:
        return node.terms
    first, *others = (f.map(lambda u, c=coefficient: c * u) for coefficient, (f,) in node.terms)
    return ((sp.Integer(1), (first.map(sp.Add, *others),)),)


def slopes(expr: sp.Expr, symbols: Sequence[sp.Symbol]) -> dict[sp.Symbol, sp.Expr]:
    """The derivative of a sum of averages in each argument, in averages."""
    nodes = averages(expr)
    if C in symbols:
        return singular_slopes.pair_slopes(expr, symbols, nodes, singular_slopes.IntegratedSlopes)
    return {s: expr.xreplace({node: _written_out(node, s) for node in nodes}).diff(s) for s in symbols}


def _written_out(node: AverageNode, parameter: sp.Symbol) -> sp.Expr:
    """An average with formulas for the activations that have a parameter, so that derivatives see the parameter."""
    hidden = {e for e in sp.preorder_traversal(node.integrand) if isinstance(e, ActivationNode)}
    atoms = {e: e.expanded for e in hidden if any(value.has(parameter) for value in e.values.values())}
    return node.func(node.integrand.xreplace(atoms), *node.covariance)


def averages(expr: sp.Expr) -> list[AverageNode]:
    """The unevaluated averages in an expression, in a fixed order."""
    nodes = {node for node in sp.preorder_traversal(expr) if isinstance(node, AverageNode)}
    return sorted(nodes, key=lambda e: (len(str(e)), str(e)))
