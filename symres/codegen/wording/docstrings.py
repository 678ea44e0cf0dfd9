"""The words in generated modules: arguments, domains, measured errors."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator

import sympy as sp

from ...core.symbols import C_W, K1, K2, KERNELS, P1, P2, C, C_b, E, K, Theta, Theta_E, gamma, n_L, xi
from ...core.words import listed
from ...functions.records.softmax_family import SoftmaxOverlap
from ...notation import is_activation, shortened
from ...results.quantity import Quantity
from ..averages.average_code import averages
from ..averages.integrands import PiecewiseIntegrand
from ..averages.singular_slopes import NEAREST, both_jump
from ..emission.emitter import argument
from ..fits.chebyshev import Fit
from ..planning.guards import EXCESS
from ..planning.network_plan import DeepLayer, NetworkPlan, NetworkState
from ..planning.plan import FEW_DIGITS, Component, Function, ParameterRange
from ..planning.slope_rules import NEARLY_PARALLEL, SlopeRule, slope_rule
from ..strategy.measured_error import round_up
from ..strategy.sample_points import MEASURED, PARAMETER

LINE = 112
_RANGES = 3  # of layers that a warning lists
ARGUMENTS = {
    K: "kernel of the preactivation, one input; K >= 0, else nan",
    K1: "kernel of the first input; K1 >= 0, else nan",
    K2: "kernel of the second input; K2 >= 0, else nan",
    C: f"covariance of the two inputs, C**2 <= K1*K2; an excess of {EXCESS} ulp counts as equality, more gives nan",
    Theta: "tangent kernel of the two inputs, of any sign",
    C_W: "fan_in times the variance of a weight; C_W >= 0",
    C_b: "variance of a bias; C_b >= 0",
    gamma: "weight of the skip connection",
    xi: "weight of the branch",
    n_L: "number of outputs; n_L > 0",
}

UNITS = "Kernels, covariances and C_b are in units of a squared preactivation, everything else is dimensionless."
ORDER = (
    "Functions take the kernels, then the parameters that they use, in the same order everywhere. The other parameters "
    "of the layer may be passed by name, so that all functions can be called alike."
)
OTHER = "parameter of the layer or of an activation"  # what every other symbol is
OVERLAPS = (
    "Overlaps of softmax vectors are sums over nodes in float64, entry by entry: B and its first derivatives are off "
    "by at most 1e-12 of max(|B|, 1/T), measured for variances of scores up to 30 and T up to 4096; "
    "nan where the sums would be longer than 512 nodes on each side, beyond variances of about 50, and where T is not "
    "a whole number."
)
OVERLAP_SLOPES = "Their derivatives are overlaps too, as often as is asked; that in T is nan."
PARAMETRISATION = (
    "The tangent kernel is that of the NTK parametrisation: weights sqrt(C_W/fan_in)*w and biases sqrt(C_b)*b, with "
    "learning rate 1 for every w and b of all layers."
)
INPUTS = "Inputs have kernels x.x'/n0 and the tangent kernel 0"


# of networks: the symbols of their states, of inputs without positions and of sequences of tokens
_OF_INPUTS = {
    K1: "kernels of the first inputs, typically of shape (N, 1); K1 >= 0, else nan",
    K2: "kernels of the second inputs, typically of shape (1, M); K2 >= 0, else nan",
    C: "covariances of the inputs, of shape (N, M); C**2 <= K1*K2; in averages an excess counts as equality",
    Theta: "tangent kernel of the inputs: 0 where no trained layer comes before",
}
_OF_SEQUENCES = {
    K: "kernel of a token; K >= 0, else nan",
    C: "covariance of two tokens of a sequence, or of one position of two sequences; C**2 <= K1*K2, else nan",
    K1: "kernel of a token of the first sequences, typically of shape (N, 1); K1 >= 0, else nan",
    P1: "covariance of two tokens of the first sequences",
    K2: "kernel of a token of the second sequences, typically of shape (1, M); K2 >= 0, else nan",
    P2: "covariance of two tokens of the second sequences",
    E: "covariance of two positions of two sequences",
    Theta: "tangent kernel of two sequences at one position: 0 where no trained layer comes before",
    Theta_E: "the same at two positions",
}
SIGNS = {
    **{"kernel_map": "K'", "covariance_map": "C'", "ntk_map": "Theta'", "tangent_map": "t'"},
    **{"tangent_covariance_map": "s'", "sequence_map": "C'", "sequence_cross_map": "E'"},
    **{"sequence_ntk_map": "Theta'", "sequence_cross_ntk_map": "Theta_E'"},
}


def network_arguments(state: NetworkState) -> dict[sp.Symbol, str]:
    """What is said of the numbers that go through a network."""
    return _OF_SEQUENCES if state.changes else _OF_INPUTS


def network_results(text: str, state: NetworkState) -> str:
    """What a network returns, in the number in which it does."""
    if not state.changes:
        return text
    of_pairs = "the kernel of the Gaussian process at one position and at two, then the tangent kernel"
    return text.replace("two", "four", 1).replace("the kernel of the Gaussian process and the tangent kernel", of_pairs)


def quoted(text: str) -> str:
    """A text as it stands between the quotes of a docstring: symbols may be called \\alpha."""
    return text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')


def wrapped(text: str, indent: int, hanging: int = 0) -> list[str]:
    """Lines of a docstring; the first without its indent (the template has it)."""
    return textwrap.wrap(
        quoted(text), LINE - indent, subsequent_indent=" " * hanging, break_long_words=False, break_on_hyphens=False
    )


def argument_lines(
    quantity: Quantity, kind: str, number: str = "", dispensable: str = ", may be left out"
) -> list[str]:
    """One entry of "Args" per argument.

    Args:
        quantity: of which a function gives values.
        kind: what its kernels are, and its parameters unless these are all numbers.
        number: what parameters are, if it is something else.
        dispensable: what is said of one that is of no influence, besides that.
    """
    lines: list[str] = []
    for symbol in (*quantity.symbols, *quantity.unused):
        name = argument(symbol)
        own = "" if name == symbol.name else f"{symbol}, "  # as formulas call it
        meaning = ARGUMENTS.get(symbol, f"{own}{OTHER}")
        if quantity.directed:
            meaning = directed(meaning)
        note = f"; not used here{dispensable}" if symbol in quantity.unused else ""
        lines += wrapped(f"{name}: {meaning}; {kind if symbol in KERNELS else number or kind}{note}.", 8, 4)
    return lines


def parameter_lines(parameter: sp.Symbol, kind: str) -> list[str]:
    """The entry of a parameter among the arguments of a network or of a procedure."""
    return wrapped(f"{argument(parameter)}: {ARGUMENTS.get(parameter, OTHER)}; {kind}.", 8, 4)


def directed(meaning: str) -> str:
    """What a kernel is where a normaliser needs the direction of an input."""
    return meaning.replace(" >= 0, else nan", " > 0, else nan: a normaliser divides by the size of the input")


def formula_lines(formula: sp.Expr, indent: int) -> list[str]:
    """A formula as text, broken at spaces."""
    return wrapped(str(shortened(formula)), indent, 4)


def meanings(quantity: Quantity) -> list[str]:
    """What the names in a formula stand for: its steps, and the formulas of activations, as sympy writes them."""
    definitions = (*(step.definition for step in quantity.steps), quantity.definition)
    called = {e.formula for d in definitions for e in sp.preorder_traversal(d) if is_activation(e)}
    lines = [quoted(f"{s.symbol} = {s.definition}") for s in quantity.steps]
    for formula in sorted(called, key=str):
        name, given = formula.label()
        if name is not None and str(formula.expr) != f"{name}(z)":  # tanh(z) explains itself
            values = f"; {', '.join(given)}" if given else ""
            lines += wrapped(f"{name}(z{values}) = {shortened(formula.expr)}", 8, 4)
    return lines


def component_lines(component: Component, of_averages: str = "") -> list[str]:
    """What a component is, how it is computed and how well.

    Args:
        component: what the lines are about.
        of_averages: how averages of two variables are computed, where that is no series with quadrature of the rest.
    """
    lines = [*formula_lines(component.formula, 4), ""]
    if isinstance(fit := component.code, Fit):
        end = "on" if fit.edges[-1] == 1.0 else "to 1e12, beyond which the polynomial keeps its last value"
        if math.isfinite(component.guards.largest):
            end = f"to {component.guards.largest:g}"
        text = (
            f"Computed as {_shown(fit.shape.scale)} times a piecewise Chebyshev polynomial of "
            f"u = {_shown(fit.shape.map)} with {len(fit.table[0])} pieces of degree {len(fit.table) - 1}; holds from "
            f"K = 0 {end}."
        )
    elif component.code is None and component.is_pair and of_averages:
        text = of_averages
    elif component.code is None and component.is_pair:
        text = (
            "Computed as a series in the correlation, with coefficients shared by all entries of a kernel; where it "
            "converges slowly (correlations near 1 of large kernels or of functions with kinks), by quadrature of each "
            f"entry, {_entry_time(component.formula)} on one core."
        )
    elif component.code is None:
        text = "Computed by quadrature at every call."
    elif component.fallback_integral is not None:
        text = "Computed from the closed form; where its terms cancel, so that more than 1e-12 of a value may be lost, "
        text += "by quadrature"
        text += f" of each entry, {_entry_time(component.fallback_integral)} on one core." if component.is_pair else "."
    elif component.has_sum:
        text = "Computed as fixed sums: by Price's theorem the average is an integral of elementary functions over the "
        text += "correlation, from independent or parallel inputs on."
    else:
        text = "Computed from the closed form."
        if not component.mended:
            text += " With some parameters and kernels its terms cancel and digits are lost; code for NumPy and PyTorch"
            text += " integrates there."
    factors = _factors(component.formula) if component.code is None and not of_averages else []
    if any(f.breaks or f.free_symbols for f in factors):
        text += " Nodes are added until two results agree; nan where the function varies too fast for that, or"
        text += " where they never agree to six digits. Digits that the function itself loses in floats, where its"
        text += " terms nearly cancel, are lost."
    if math.isfinite(component.guards.largest):
        text += f" Beyond kernels of {component.guards.largest:g} the value is nan: {component.measured.reason}."
    if math.isfinite(component.measured.max_kernel):
        text += f" Where {component.measured.reason}, the value is nan: {_ended(component)}."
    return [*lines, *wrapped(text, 4), *wrapped(error_text(component), 4)]


def _factors(formula: sp.Expr) -> list[PiecewiseIntegrand]:
    """The functions that are averaged."""
    return [f for node in averages(formula) for _, factors in node.terms for f in factors]


def _entry_time(formula: sp.Expr) -> str:
    """How long the quadrature of one entry of a matrix takes, as measured on one core of 2.5 GHz."""
    has_kinks = any(f.breaks for f in _factors(formula))
    return "1 to 10 milliseconds" if has_kinks else "up to 0.1 milliseconds"


def _shown(expr: sp.Expr) -> str:
    """A formula whose numbers are floats of full precision, in as many digits as tell something."""
    return str(expr.xreplace({q: sp.Float(q, 6) for q in expr.atoms(sp.Rational) if q.q > 1000 or abs(q.p) > 1000}))


def _ended(component: Component) -> str:
    """Beyond which kernels there are no numbers, and with which parameters where that depends on these."""
    with_ = f" with parameters of {PARAMETER}" if _ends_with_parameters(component) else ""
    return f"beyond kernels of {component.last:g}{with_}"


def _ends_with_parameters(component: Component) -> bool:
    """Whether the last kernel depends on parameters."""
    return math.isfinite(component.measured.max_kernel) and bool(component.parameters)


def _measured(last: float) -> str:
    """The kernels of a measurement."""
    return f"1e-8..{'1e4' if last >= MEASURED else f'{last:g}'}"


def error_text(component: Component) -> str:
    """The measured error as one sentence, and with other parameters."""
    errors = component.measured
    elsewhere = f" This is for parameters of {PARAMETER}; {errors.elsewhere}." if errors.elsewhere else ""
    if errors.is_inaccurate and errors.error_over_max is not None:
        beside = f"at most {round_up(errors.error_over_max):.0e} of the largest value"
        return f"Error: fewer than 6 digits for {errors.worst}; {beside}.{elsewhere}"
    if math.isinf(errors.error):
        return f"Error: unbounded, no value at {errors.worst}.{elsewhere}"
    bound, measured = f"Error: at most {round_up(errors.error):.0e}", _measured(component.last)
    if component.is_pair_average:
        tiny = errors.next_to_zero
        small = f"; next to C = 0 up to {round_up(tiny):.0e} of the value itself" if tiny > FEW_DIGITS else ""
        return (
            f"{bound} of sqrt(<f**2> <g**2>), for equal functions the geometric mean of the two diagonal values (much "
            f"smaller values have fewer digits, and finally no sign), measured for kernels in {measured} and "
            f"correlations up to 1 - 1e-12 and of 1; worst at {errors.worst}{small}.{elsewhere}"
        )
    if component.is_pair:
        scope = f"of max(|F|, |C dF/dC|), measured for kernels in {measured} and |C| <= (1 - 1e-12) sqrt(K1 K2)"
    elif component.by_value:
        scope = f"of the value, measured for K in {measured}"
    else:
        scope = f"of max(|f|, |K df/dK|), measured for K in {measured}"
    if component.guards.limit is not None and math.isinf(component.guards.limit):
        scope += "; infinite at K = 0"
    worst = f"; worst at {errors.worst}" if errors.error > 1e-13 else ""
    if errors.error_over_max is not None:
        worst += f"; at most {round_up(errors.error_over_max):.0e} of the largest value"
    return f"{bound} {scope}{worst}.{elsewhere}"


def measured_code(components: Iterable[Component], title: str) -> str:
    """The code on which the errors that a module states were measured; the title is that of the module's target."""
    others = sorted({component.measured.language for component in components} - {title})
    return f"the {others[0]} code of the same functions, as {title} was not installed" if others else "this code"


def first_paragraph(function: Function) -> str:
    """What a function computes, and in which range of each of its parameters it is right."""
    text = function.quantity.meaning or function.quantity.name
    ranges = _ranges(function)
    right = f" Right to six digits, as measured, for {ranges}." if ranges else ""
    return f"{text[:1].upper()}{text[1:]}.{right}"


def _ranges(*functions: Function, narrow: bool = False) -> str:
    """The ranges in which all components of functions are right, of each parameter; of those with an end alone."""
    groups: dict[sp.Symbol, list[ParameterRange]] = {}
    for r in (r for f in functions for c in f.components for r in c.measured.ranges if r.symbol in f.arguments):
        groups.setdefault(r.symbol, []).append(r)
    return ", ".join(
        f"{argument(symbol)} in {max(r.low for r in ranges):g}..{min(r.high for r in ranges):g}"
        for symbol, ranges in groups.items()
        if not narrow or not all(r.whole for r in ranges)
    )


def warnings(*functions: Function) -> list[str]:
    """What is inaccurate or ends in a value that is made of functions.

    Which averages are inaccurate, where, and by how much; the smallest kernel within 1e-8..1e4 beyond which there is no
    number; which parameters are needed.
    """
    components = {c.name: c for f in functions for c in f.components}.values()
    narrow = _ranges(*functions, narrow=True)
    beyond = [f"right to six digits for {narrow} only, as measured"] if narrow else []
    poor = [c for c in components if c.measured.is_inaccurate]
    out = [f"{c.name} is inaccurate: {error_text(c).removeprefix('Error: ')}" for c in poor]
    ends: dict[bool, Component] = {}  # the first, by whether it is known for some parameters only
    for c in sorted((c for c in components if c.last < MEASURED), key=lambda c: c.last):
        ends.setdefault(_ends_with_parameters(c), c)
    return [*out, *(f"nan {_ended(c)}: {c.measured.reason}" for c in ends.values()), *beyond]


def named_warnings(functions: Iterable[Function]) -> tuple[str, ...]:
    """The warnings of several functions, each once and behind the names of its functions."""
    names: dict[str, dict[str, None]] = {}
    for f in functions:
        for text in warnings(f):
            names.setdefault(text, {})[f.quantity.name] = None
    return tuple(f"{', '.join(each)}: {text}" for text, each in names.items())


def network_warnings(plan: NetworkPlan) -> tuple[str, ...]:
    """The warnings of a network, behind the results that they are about, and the layers where those differ.

    A kernel that is nan makes both results of the following layers nan.
    """
    texts: dict[str, dict[str, None]] = {}
    for layer in plan.layers:
        places = f", {_places(plan, layer)}" if len(plan.layers) > 1 else ""
        count = len(layer.kernels)
        one, two, tangents = (layer.functions[n * count : (n + 1) * count] for n in range(3))
        for result, functions in (("C", (*one, *two)), ("Theta", (*one, *tangents))):
            for text in warnings(*functions):
                texts.setdefault(f" of {' and '.join(plan.functions)}{places}: {text}", {})[result] = None
    return tuple(f"{' and '.join(results)}{text}" for text, results in texts.items())


def _places(plan: NetworkPlan, layer: DeepLayer) -> str:
    """Where a layer stands in a network: ``layer 1``, ``layers 2 to 5 and 7``."""
    ranges, last = [], 0
    for other, count in plan.runs:
        first, last = last + 1, last + count
        if other == layer:
            ranges.append(f"{first}" if first == last else f"{first} to {last}")
    places = listed(ranges if len(ranges) <= _RANGES else [*ranges[:_RANGES], "others"])
    return f"layer{'' if places.isdecimal() else 's'} {places}"


def function_lines(function: Function, gradients: bool) -> list[str]:
    """Domain, error and source of a public function; of its gradients, if it has any, where they are cut off."""
    return [line for text in _statements(function, gradients) for line in wrapped(text, 4, 4)]


def _statements(function: Function, gradients: bool) -> Iterator[str]:
    quantity, components = function.quantity, function.components
    if quantity.body == sp.oo:
        yield f"Infinite for every kernel > 0: {quantity.reason}."
    else:
        yield f"Valid when: {_valid(function)}."
        for c in components:
            if c.measured.gap is not None:
                corner, limit = c.measured.gap
                text = f"At K1 = K2 = C = 0, where the inputs count as uncorrelated, {c.name} is {corner:.6g}"
                yield f"{text}; its limit along the diagonal is {limit:.6g}."
        yield from (f"Warning: {text}" for text in warnings(function))
        if not components:
            yield "Error: rounding of the operations shown."
        for c in components:
            if not c.measured.is_inaccurate:
                yield error_text(c).replace("Error:", f"Error ({c.name}):", 1)
        if any(e.has(SoftmaxOverlap) for e in (*(e for _, e in function.lines), *(c.formula for c in components))):
            yield f"{OVERLAPS} {OVERLAP_SLOPES}" if gradients else OVERLAPS
        if gradients and any(c.is_pair for c in components):
            yield from _of_gradients(function)
        if quantity.reason:
            unused = quantity.reason.removeprefix("there is one, but ")
            what = "No closed form" if unused == quantity.reason else "Closed form not used"
            yield f"{what}: {unused}."
    if quantity.source:
        yield f"Generalises: {quantity.source}."


def _of_gradients(function: Function) -> Iterator[str]:
    """Where the derivatives of pair kernels are not what they are elsewhere."""
    quantity, components = function.quantity, function.components
    rules = [slope_rule(c) for c in components]
    if SlopeRule.MISSING_NEARBY in rules:
        yield f"Derivatives are nan within {NEARLY_PARALLEL:g} of C**2 = K1*K2, where those of the terms cancel."
    elif any(rule is not SlopeRule.ANGLE for rule in rules) and any(map(both_jump, averages(quantity.definition))):
        yield (
            "Derivatives diverge towards C**2 = K1*K2 where both functions jump at the same place: within "
            f"{float(NEAREST):g} of K1*K2 they are cut off. Derivatives in parameters that move the jumps stay "
            "finite, and are right to seven digits."
        )


def _valid(function: Function) -> str:
    """For which kernels a function has values."""
    quantity, components = function.quantity, function.components
    last = min((c.last for c in components), default=math.inf)
    undefined = [f"at {c.measured.worst}" if math.isinf(c.measured.error) else c.measured.undefined for c in components]
    if any(undefined):
        places = " and ".join(dict.fromkeys(filter(None, undefined)))
        return f"kernels in {_measured(last)} (measured); no value {places}"
    until = "on" if math.isinf(last) else f"to {last:g}, nan beyond"
    if any(c.parameters and c.code is None for c in components):
        until += f" with parameters of {PARAMETER}"
    until += ", on the diagonal and at |C| = sqrt(K1 K2)" if C in quantity.symbols else ""
    start = "above K = 0" if quantity.directed else "from K = 0"
    return f"kernels in {_measured(last)} (measured); finite {start} {until}"
