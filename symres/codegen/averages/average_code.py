"""Averages at run time: the code of a sum of averages, and of its slopes.

Nodes and weights are in arrays/runtime/quadrature_nodes.py, averages of two variables in pair_series.py beside it,
what they take is written here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import sympy as sp

from ...core.atoms import ActivationNode, AverageNode
from ...core.symbols import K1, K2, C, K, z
from ..emission.emitter import Dialect, Emitter, Source, defined, variable
from ..stable.primitives import determinant
from ..stable.rewrites import stabilise
from . import singular_slopes
from .features import features, may_be_faint_at_zero
from .integrands import PiecewiseIntegrand, is_polynomial
from .rules import rule_of
from .tail_growth import largest_exponent, load, polynomial_degree, rate, wave

Terms = tuple[tuple[sp.Expr, tuple[PiecewiseIntegrand, ...]], ...]

FAR = "38.0"  # standard deviations behind which the normal law is no float
ROWS = {False: 256, True: 1 << 22}  # entries at a time of averages over one and two variables
WAVY = 16  # over one variable, where waves take many nodes


def source(name: str, symbols: tuple[sp.Symbol, ...], expr: sp.Expr, dialect: Dialect) -> Source:
    """Code that evaluates an expression with unevaluated averages of one or two variables.

    Args:
        name: prefix of the part functions.
        symbols: the arguments: K or K1, K2, C, then parameters.
        expr: a linear combination of averages, coefficients in ``symbols``.
        dialect: of an array library.
    """
    is_pair = C in symbols
    kernels = 3 if is_pair else 1
    parameters = symbols[kernels:]
    rest = "".join(f", {variable(p)}" for p in parameters)
    library = dialect.library
    parts: dict[sp.Expr, str] = {}
    preamble: list[str] = []
    names = {s: variable(s) for s in symbols}

    def part(formula: sp.Expr) -> str:
        if formula not in parts:
            parts[formula] = f"{name}_part_{len(parts) + 1}"
            clipped = replace(dialect, at_most=f"{library}.clip({{0}}, None, {{1}})")
            preamble.append(function_text(parts[formula], stabilise(formula), parameters, clipped))
        return parts[formula]

    kernel = variable(symbols[0])
    factors_: dict[PiecewiseIntegrand, str] = {}
    lines: list[str] = []

    def of_entries(value: sp.Expr) -> str:
        """A number or a function of parameters, one value for each entry."""
        code = Emitter(dialect, names).function([("return", value)])
        text = code[-1].removeprefix("return ")
        if len(code) > 1:  # with intermediate results
            text = f"{name}_place_{len(preamble) + 1}({rest.removeprefix(', ')})"
            preamble.append(defined(text, code))
        if value.free_symbols:  # a constant changes nowhere: its place is 0/0 or infinite
            text = f"{library}.nan_to_num({text}, nan=0.0, posinf=1e100, neginf=-1e100)"
        return f"{text} + 0.0*{kernel}"

    def listed(places: Iterable[sp.Expr]) -> str:
        """Points of the line."""
        return "(" + "".join(f"{of_entries(place)}, " for place in places).strip() + ")"

    def factor(f: PiecewiseIntegrand) -> str:
        """The variable that holds a factor, as arrays/runtime/entries.py describes it."""
        if f not in factors_:
            factors_[f] = f"f{len(factors_) + 1}"
            polynomial = is_polynomial(f)
            others, width = features(f)
            places = f.breaks if f.breaks and (polynomial or 0 in f.breaks) else (*f.breaks, sp.Integer(0))
            places = (*places, *(place for place in others if place not in places))
            functions = "".join(f"{part(p)}, " for p in f.parts).strip()
            flat = (sp.oo, sp.S.Zero, sp.S.Zero, sp.S.Zero)
            facts = flat if polynomial else (width, rate(f), load(f), wave(f))
            steps = "_refined" if refines(f) else "None"
            far = FAR if may_be_faint_at_zero(f) else "_REACH"
            rest_ = f"{listed(facts)}, {far}, {polynomial_degree(f)}, {steps}, None"
            lines.append(f"{factors_[f]} = ({functions}), {listed(f.breaks)}, {listed(places)}, {rest_}")
        return factors_[f]

    def ruled(factors: Sequence[PiecewiseIntegrand]) -> str:
        rule = rule_of(*factors)
        return f"{rule.helper}, {rule.cost}, {rule.few}"

    def over_one(rule: str, function: PiecewiseIntegrand, *law: str) -> str:
        """The call of a rule over one variable."""
        # the entries of a matrix come all at once, and their nodes would not fit into the memory
        head = f"_over_one({rule}, " if is_pair or refines(function) else f"{rule}("
        return f"{head}{', '.join((factor(function), *law))}{rest})"

    def held_by_variable(call: str) -> sp.Symbol:
        """The symbol of a variable that holds what is called."""
        average = f"a{len(lines) + 1}"
        lines.append(f"{average} = {call}")
        names[symbol := sp.Dummy(average)] = average
        return symbol

    values: dict[sp.Expr, sp.Expr] = {}
    conditional = sorted(expr.atoms(singular_slopes.ConditionalAverage), key=sp.default_sort_key)
    held = {conditioned.args[0] for conditioned in conditional}
    for node in (node for node in averages(expr) if node not in held):
        total = sp.Integer(0)
        for coefficient, factors in _joined(node):
            called = ", ".join(factor(f) for f in factors)
            if is_pair:
                call = f"_pair_average({ruled(factors)}, {called}, K1, K2, C{rest})"
            else:
                call = over_one("_kernel_average", factors[0], "K")
            total += coefficient * held_by_variable(call)
        values[node] = total
    for n, conditioned in enumerate(conditional, 1):
        node, *law = conditioned.args
        results = [(f"mean{n}", law[0]), (f"variance{n}", law[1])]
        lines += Emitter(dialect, names | {determinant: "determinant"}).function(results, prefix=f"s{n}_")
        values[conditioned] = sp.Integer(0)
        for coefficient, (function,) in _joined(node):
            call = over_one("_beside", function, f"mean{n} + 0.0*K1", f"variance{n} + 0.0*K1")
            values[conditioned] += coefficient * held_by_variable(call)
    expr = expr.xreplace(values)
    lines += Emitter(dialect, names | {determinant: "determinant"}).function([("return", expr)])
    if any(e.has(determinant) for e in (expr, *(law for conditioned in conditional for law in conditioned.args[1:]))):
        lines.insert(0, "determinant = _determinant(K1, K2, C)")
    arguments = ", ".join(variable(s) for s in symbols)
    for s in symbols[:kernels]:  # quotients such as <z f f'>/K have their limit at K = 0
        if any(p.base == s and p.exp.is_negative for p in expr.atoms(sp.Pow)):
            lines.insert(0, f"{variable(s)} = {library}.clip({variable(s)}, {1e-20 if is_pair else 1e-100}, None)")
    preamble.append(defined(f"{name}_rule({arguments})", lines))
    step = WAVY if not is_pair and any(wave(f) != 0 for f in factors_) else ROWS[is_pair]
    return Source((f"return _flat({name}_rule, {step}, {arguments})",), (), tuple(preamble))


def function_text(name: str, stable: sp.Expr, parameters: Sequence[sp.Symbol], dialect: Dialect) -> str:
    """A stable function of z and of parameters, its exponentials kept below the largest float."""
    exponent = dialect.at_most.format("{0}", f"{largest_exponent(stable)}.0")
    capped = dialect.functions[sp.exp].format(exponent)
    inside = replace(dialect, functions={**dialect.functions, sp.exp: capped})
    names = {z: "z", **{p: variable(p) for p in parameters}}
    return defined(f"{name}({', '.join(names.values())})", Emitter(inside, names).function([("return", stable)]))


def refines(factor: PiecewiseIntegrand) -> bool:
    """Whether averages are computed with several steps: parameters may act inside of functions in ways not seen."""
    inside = (e for part in factor.parts for e in part.atoms(sp.Function, sp.Pow) if e.has(z) and e.free_symbols != {z})
    return any(not (isinstance(e, sp.Pow) and e.exp.is_integer and e.exp.is_nonnegative) for e in inside)


def _joined(node: AverageNode) -> Terms:
    """The terms of an average; over one variable a single one, whose parts may cancel before they are integrated."""
    if node.dimension > 1:
        return node.terms
    first, *rest = (f.map(lambda u, c=coefficient: c * u) for coefficient, (f,) in node.terms)
    return ((sp.Integer(1), (first.map(sp.Add, *rest),)),)


def slopes(expr: sp.Expr, symbols: Sequence[sp.Symbol]) -> dict[sp.Symbol, sp.Expr]:
    """The derivative of a sum of averages in each argument, in averages."""
    out = {}
    nodes = {node: sp.Dummy() for node in averages(expr)}
    linear = expr.xreplace(nodes)
    for s in symbols:
        if s in (K1, K2):
            out[s] = sp.Add(*(linear.diff(d) * variance_slope(node, s == K1) for node, d in nodes.items()))
        elif s == C:
            out[s] = sp.Add(*(linear.diff(d) * covariance_slope(node) for node, d in nodes.items()))
        elif s == K:
            out[s] = expr.diff(s)
        elif C in symbols and any(_moves_a_jump(s, node) for node in nodes):
            back = {d: node for node, d in nodes.items()}
            moved = (linear.diff(d) * singular_slopes.parameter_slope(node, s) for node, d in nodes.items())
            out[s] = sp.Add(linear.diff(s).xreplace(back), *moved)
        else:
            out[s] = expr.xreplace({node: _written_out(node, s) for node in nodes}).diff(s)
    return out


def _written_out(node: AverageNode, parameter: sp.Symbol) -> sp.Expr:
    """An average with formulas for the activations that have a parameter, so that derivatives see the parameter."""
    hidden = {e for e in sp.preorder_traversal(node.integrand) if isinstance(e, ActivationNode)}
    atoms = {e: e.expanded for e in hidden if any(value.has(parameter) for value in e.values.values())}
    return node.func(node.integrand.xreplace(atoms), *node.covariance)


def _moves_a_jump(parameter: sp.Symbol, node: AverageNode) -> bool:
    factors = [f for _, fs in node.terms for f in fs]
    return any(not f.is_continuous and any(b.has(parameter) for b in f.breaks) for f in factors)


def variance_slope(node: AverageNode, first: bool) -> sp.Expr:
    """The derivative of a pair average in K1 (or K2), regular on the diagonal.

    Price's <f'' g>/2 for smooth f. With kinks, Stein's lemma <z1 f'(z1) g(z2)> = K1 <f'' g> + C <f' g'> gives the same
    without second derivatives.
    """
    if singular_slopes.has_jump(node):
        return singular_slopes.variance_slope(node, first)
    i = 0 if first else 1
    x, y = singular_slopes.inputs(node)[i], singular_slopes.inputs(node)[1 - i]
    v = (K1, K2)[i]
    f = node.integrand
    covariance = node.covariance
    if all(factors[i].is_continuous and factors[i].diff().is_continuous for _, factors in node.terms):
        return node.func(f.diff(x, 2), *covariance) / 2
    return (node.func(x * f.diff(x), *covariance) - C * node.func(f.diff(x, y), *covariance)) / (2 * v)


def covariance_slope(node: AverageNode) -> sp.Expr:
    """The derivative of a pair average in C: Price's theorem, <f' g'>."""
    if singular_slopes.has_jump(node):
        return singular_slopes.covariance_slope(node)
    x, y = singular_slopes.inputs(node)
    return node.func(node.integrand.diff(x, y), *node.covariance)


def averages(expr: sp.Expr) -> list[AverageNode]:
    """The unevaluated averages in an expression, in a fixed order."""
    found = {node for node in sp.preorder_traversal(expr) if isinstance(node, AverageNode)}
    return sorted(found, key=lambda e: (len(str(e)), str(e)))


def entry_time(expr: sp.Expr) -> str:
    """How long the quadrature of one entry of a matrix takes, by the slowest rule that it needs."""
    rules = [rule_of(*factors) for node in averages(expr) for _, factors in node.terms]
    return max(rules, key=lambda rule: rule.cost).time
