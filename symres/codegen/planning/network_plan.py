"""What a generated function of a deep network computes, before any language: its layers, and the maps of each.

A layer has maps of one input, which see vectors of kernels, and of two inputs, which see matrices: what they need of
one input alone is computed with the former. Kernel and tangent kernel are written together, so that they share what
they have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import sympy as sp
from sympy.core.function import AppliedUndef

from ...core.errors import DeclarationError
from ...core.symbols import K1, K2, KERNELS, P1, P2, C, E, K, Theta, Theta_E, place, t
from ...core.symbols import s as apart
from ...results.quantity import Quantity, Status
from ...results.subjects import DerivedLayer, DerivedNetwork
from ..emission.largest_parts import MIXED, with_parts_named
from ..stable.primitives import PAIRED, Atan2, GeneratedSymbol, UpperAngle, determinant
from .decomposition import with_common_factors
from .plan import Component, Function

PAIR = (K1, K2, C)
NETWORK_FUNCTIONS = ("dual_kernel", "dual_kernel_matrix")  # of the generated module
TOKEN_FUNCTIONS = ("kernels", "apjn", "dual_kernel")  # of that of a network whose inputs have positions

_PARTS = ("one", "first", "second", "both", "tangents", "changes")  # of a state


@dataclass(frozen=True)
class NetworkState:
    """What goes through the layers of a network: a number for each class of pairs of places that are alike.

    Args:
        one: of one input; with positions those of one position and of two.
        first: the same of the first of two inputs.
        second: of the second.
        both: of the two together.
        tangents: their tangent kernels.
        changes: of changes of one input, where that has positions.
        maps: the names of the maps of ``one``, ``both``, ``tangents`` and ``changes``.
    """

    one: tuple[sp.Symbol, ...]
    first: tuple[sp.Symbol, ...]
    second: tuple[sp.Symbol, ...]
    both: tuple[sp.Symbol, ...]
    tangents: tuple[sp.Symbol, ...]
    changes: tuple[sp.Symbol, ...]
    maps: tuple[tuple[str, ...], ...]

    @property
    def parts(self) -> dict[str, list[str]]:
        """The names of its symbols, by what they are numbers of."""
        return {part: [symbol.name for symbol in getattr(self, part)] for part in _PARTS}

    @property
    def names(self) -> dict[sp.Symbol, str]:
        """The names of all of them; those of parameters end in an underscore there."""
        return {symbol: symbol.name for part in _PARTS for symbol in getattr(self, part)}

    @property
    def of_pairs(self) -> tuple[sp.Symbol, ...]:
        """The arguments of the maps of two inputs: their own numbers, those of both, and tangent kernels."""
        return (*self.first, *self.second, *self.both, *self.tangents)


INPUTS = NetworkState((K,), (K1,), (K2,), (C,), (Theta,), (), (("kernel_map",), ("covariance_map",), ("ntk_map",), ()))
SEQUENCES = NetworkState(
    *((K, C), (K1, P1), (K2, P2), (C, E), (Theta, Theta_E), (t, apart)),
    maps=(
        ("kernel_map", "covariance_map"),
        ("sequence_map", "sequence_cross_map"),
        ("sequence_ntk_map", "sequence_cross_ntk_map"),
        ("tangent_map", "tangent_covariance_map"),
    ),
)


def state_of(layer: DerivedLayer) -> NetworkState:
    """What its maps are maps of."""
    return SEQUENCES if layer.has_positions else INPUTS


@dataclass(frozen=True)
class DeepLayer:
    """The maps of a layer, in calls of components.

    Args:
        name: begins the names of its functions.
        label: the name of the layer.
        state: what they are maps of.
        functions: the maps, as they were planned, in the order of the state.
        parameters: those of the layer.
        kernels: the next numbers of one input.
        own: what the maps of two inputs need of each input alone; ``symbols`` are its names at both inputs.
        covariances: the next numbers of two inputs, in those of both, their determinant and what each has of its own.
        tangents: the next tangent kernels.
        changes: the next covariances of changes.
        parallel: K1'*K2' - C'**2 of parallel inputs, if it has no averages; None otherwise.
        components: those that it calls, or contains.
    """

    name: str
    label: str
    state: NetworkState
    functions: tuple[Function, ...]
    parameters: tuple[sp.Symbol, ...]
    kernels: tuple[sp.Expr, ...]
    own: tuple[sp.Expr, ...]
    covariances: tuple[sp.Expr, ...]
    tangents: tuple[sp.Expr, ...]
    changes: tuple[sp.Expr, ...]
    parallel: sp.Expr | None
    components: tuple[Component, ...]

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """The maps, as they were derived."""
        return tuple(f.quantity for f in self.functions)

    @property
    def expressions(self) -> tuple[sp.Expr, ...]:
        """All that is computed."""
        return (*self.kernels, *self.own, *self.covariances, *self.tangents, *self.changes)

    @property
    def slope(self) -> sp.Expr:
        """DC'/dC, the factor of the tangent kernel."""
        return self._line[1]

    @property
    def symbols(self) -> tuple[tuple[sp.Symbol, ...], tuple[sp.Symbol, ...]]:
        """The names of what the two inputs have of their own."""
        return tuple(_own(1, i) for i in range(len(self.own))), tuple(_own(2, i) for i in range(len(self.own)))

    @property
    def fixed(self) -> sp.Expr:
        """The next tangent kernel if there is none before the layer: what its own parameters give."""
        return self._line[0]

    @property
    def _line(self) -> tuple[sp.Expr, sp.Expr]:
        """The next tangent kernel as a + b*Theta, from two values where components take Theta."""
        tangent = self.tangents[0]
        if not any(call.has(Theta) for call in tangent.atoms(AppliedUndef)):
            return tangent.xreplace({Theta: sp.Integer(0)}), tangent.diff(Theta)
        one, two = (tangent.xreplace({Theta: sp.Integer(n)}) for n in (1, 2))
        return 2 * one - two, two - one

    @property
    def is_directed(self) -> bool:
        """Whether a normaliser needs the direction of an input, which one of kernel 0 has not."""
        return any(quantity.directed for quantity in self.quantities)

    @property
    def is_steep(self) -> bool:
        """Whether the slope is infinite for parallel inputs, as where functions jump."""
        codes = (c.code for c in self.components if c.is_pair and isinstance(c.code, sp.Expr))
        return self.state is INPUTS and any(
            p.base == determinant and p.exp.is_negative for code in codes for p in code.atoms(sp.Pow)
        )

    @property
    def is_sharp(self) -> bool:
        """Whether rounding of C between nearly parallel inputs costs digits: slopes change with their angle there."""
        return self.state is INPUTS and any(is_sharp(c) for c in self.components)


@dataclass(frozen=True)
class NetworkPlan:
    """A network: kernel and tangent kernel of two inputs behind all its layers.

    Equal inputs, C = K1 = K2, keep the kernel of one of them. Where the network is sharp, the distance of C from
    sqrt(K1*K2) is carried from layer to layer for nearly parallel inputs, of which rounding of C would leave nothing.

    Args:
        title: the first line.
        command: the command that generates the text again.
        runs: the layers from input to output, each with the number of times that it is repeated.
        prefix: what the names of its functions begin with, where the target has global names.
    """

    title: str
    command: str
    runs: tuple[tuple[DeepLayer, int], ...]
    prefix: str = ""

    @property
    def state(self) -> NetworkState:
        """What goes through the layers."""
        return self.runs[0][0].state

    @property
    def functions(self) -> tuple[str, ...]:
        """The names of the generated functions."""
        return TOKEN_FUNCTIONS if self.state.changes else NETWORK_FUNCTIONS

    @property
    def depth(self) -> int:
        """How many layers there are."""
        return sum(count for _, count in self.runs)

    @property
    def layers(self) -> tuple[DeepLayer, ...]:
        """The different layers."""
        return tuple({layer.name: layer for layer, _ in self.runs}.values())

    @property
    def components(self) -> tuple[Component, ...]:
        """What the layers call or contain, each once."""
        return tuple({c.name: c for layer in self.layers for c in layer.components}.values())

    @property
    def called(self) -> tuple[Component, ...]:
        """Those that they call."""
        expressions = [e for la in self.layers for e in la.expressions]
        used = {call.func.__name__ for e in expressions for call in e.atoms(AppliedUndef)}
        return tuple(c for c in self.components if c.name in used)

    @property
    def parameters(self) -> tuple[sp.Symbol, ...]:
        """Those of all layers."""
        return tuple(sorted({p for layer in self.layers for p in layer.parameters}, key=place))

    @property
    def is_sharp(self) -> bool:
        """Whether a layer is."""
        return any(layer.is_sharp for layer in self.layers)

    @property
    def is_directed(self) -> bool:
        """Whether a layer needs the direction of an input."""
        return any(layer.is_directed for layer in self.layers)

    @property
    def is_determined(self) -> bool:
        """Whether a layer takes the determinant of two inputs."""
        return any(e.has(determinant) for la in self.layers for e in (*la.covariances, *la.tangents))

    @property
    def is_integrated(self) -> bool:
        """Whether averages of two variables are integrated."""
        return any(c.is_pair and c.code is None for c in self.components)


def plan_network(
    network: DerivedNetwork,
    plan: Callable[[Quantity], Function],
    in_layer: Callable[[Component], sp.Expr | None],
    title: str,
    command: str,
) -> NetworkPlan:
    """The plan of a network.

    Args:
        network: the network; it becomes one function.
        plan: makes a map a function of components.
        in_layer: the code of a component of two inputs that is to stand in the layer itself; None for a call.
        title: the first line.
        command: the command that generates the text again.

    Raises:
        DeclarationError: there is no function of two inputs for such a network.
        NoClosedForm: a map has no accurate code.
    """
    require_layers(network.layers)
    layers: dict[DerivedLayer, DeepLayer] = {}
    for number, theory in enumerate(dict.fromkeys(network.layers), 1):
        functions = [plan(quantity) for quantity in maps_of(theory)]
        layers[theory] = deep_layer(f"_layer_{number}", theory.layer.name, functions, in_layer, state_of(theory))
    runs = tuple((layers[theory], len(list(equal))) for theory, equal in groupby(network.layers))
    return NetworkPlan(title, command, runs)


def is_sharp(component: Component) -> bool:
    """Whether a function of two inputs changes with the root of the determinant, and can be given that."""
    return takes_determinant(component) and component.form is not None and component.form.vanishing


def takes_determinant(component: Component) -> bool:
    """Whether a function of two inputs can be given their determinant where that is known better than C tells it."""
    code, plain = component.code, component.fallback_integral is None and component.guards.floor is None
    return component.is_pair and plain and isinstance(code, sp.Expr) and code.has(determinant)


def maps_of(layer: DerivedLayer) -> tuple[Quantity, ...]:
    """The maps of one input, of two, of tangent kernels and of changes."""
    return tuple(layer.all_quantities[name] for group in state_of(layer).maps for name in group)


def require_layers(layers: Sequence[DerivedLayer]) -> None:
    """Refuse networks for which there is no function of two inputs.

    Raises:
        DeclarationError: it has no layer, or one that normalises over a batch, or maps that are not known.
    """
    if not layers:
        raise DeclarationError("code for a network", "it has no layers", "pass a depth of at least 1")
    for layer in layers:
        if not layer.is_exchangeable:
            found, remedy = "positions of its inputs have neighbours", "ask for kernels(depth, K) of the theory"
            raise DeclarationError("code for a network", found, remedy)
        if layer.has_covariance and not layer.has_positions:
            found = "one of its layers normalises over a batch: it has a kernel K and a covariance C"
            remedy = "iterate kernel_map, covariance_map and ntk_map, or use dual_kernels of the network"
            raise DeclarationError("code for a network", found, remedy)
        for quantity in maps_of(layer):
            if quantity.status is Status.UNKNOWN:
                found = f"{quantity.name} of one of its layers is unknown ({quantity.reason})"
                raise DeclarationError("code for a network", found, "export the other quantities of that layer")


def deep_layer(
    name: str,
    label: str,
    functions: Sequence[Function],
    in_layer: Callable[[Component], sp.Expr | None],
    state: NetworkState = INPUTS,
) -> DeepLayer:
    """The maps of a layer with what they need of each input alone set apart.

    Args:
        name: begins the names of its functions.
        label: the name of the layer.
        functions: the maps, planned, in the order of the state.
        in_layer: the code of a component of two inputs that is to stand in the layer itself; None for a call.
        state: what they are maps of.
    """
    components = {c.name: c for f in functions for c in f.components}
    plain = components.values() if state is INPUTS else ()
    codes = {c.name: (c.symbols, code) for c in plain if (code := in_layer(c)) is not None}
    maps = iter([written_out(f.lines, f.names) for f in functions])
    kernels, both, tangents, changes = ([next(maps) for _ in group] for group in state.maps)
    pair = [inlined(e, codes, PAIR) for e in (*both, *tangents)]
    # one spelling of each angle: where those differ both its legs are 0, and it has no factor
    same = {Atan2(*angle.args): angle for e in pair for angle in e.atoms(UpperAngle)}
    own: list[sp.Expr] = []
    alone = dict(zip((*state.first, *state.second), (*state.one, *state.one), strict=True))

    def named(e: sp.Expr, kernel: sp.Symbol) -> sp.Expr:
        if not e.has(AppliedUndef) and e.is_polynomial(*alone) and not isinstance(sp.expand(e), sp.Add):
            return e  # a monomial
        formula = e.xreplace(alone)
        if formula not in own:
            own.append(formula)
        return _own(1 if kernel == K1 else 2, own.index(formula))

    paired = PAIRED if state is INPUTS else frozenset(state.of_pairs)
    parts = [with_common_factors(e.xreplace(same)) for e in pair]
    parts = [without_single_inputs(e, named, paired, (state.first, state.second)) for e in parts]
    quantities = [f.quantity for f in functions]
    symbols = {s for q in quantities for s in (*q.symbols, *q.unused)} - {*KERNELS, *state.names}
    return DeepLayer(
        name,
        label,
        state,
        tuple(functions),
        tuple(sorted(symbols, key=place)),
        tuple(kernels),
        tuple(own),
        tuple(parts[: len(both)]),
        tuple(parts[len(both) :]),
        tuple(changes),
        _parallel(*quantities[:2]) if state is INPUTS else None,
        tuple(components.values()),
    )


def written_out(lines: Sequence[tuple[str, sp.Expr]], names: Iterable[tuple[sp.Symbol, str]]) -> sp.Expr:
    """The result of straight-line steps, each in the place of its name; see ``Function``."""
    symbols = {name: symbol for symbol, name in names}
    *steps, (_, value) = lines
    for name, step in reversed(steps):
        value = value.xreplace({symbols[name]: step})
    return value


def inlined(
    expr: sp.Expr,
    codes: Mapping[str, tuple[Sequence[sp.Symbol], sp.Expr]],
    inputs: tuple[sp.Expr, ...] | None = None,
) -> sp.Expr:
    """An expression with the code of functions in the place of their calls.

    Args:
        expr: contains calls of undefined functions.
        codes: name of a function -> its arguments and its code; those that are not listed stay calls.
        inputs: the first arguments of those calls that are replaced; None for all.
    """
    written = {}
    for call in expr.atoms(AppliedUndef):
        name = call.func.__name__
        if name in codes and (inputs is None or call.args[: len(inputs)] == inputs):
            arguments, code = codes[name]
            written[call] = code.xreplace(dict(zip(arguments, call.args, strict=True)))
    return expr.xreplace(written)


def without_single_inputs(
    e: sp.Expr,
    named: Callable[[sp.Expr, sp.Symbol], sp.Expr],
    paired: frozenset[sp.Symbol] = PAIRED,
    inputs: Sequence[Sequence[sp.Symbol]] = ((K1,), (K2,)),
) -> sp.Expr:
    """An expression in which other ones stand for its largest parts that depend on one input alone.

    Args:
        e: the expression.
        named: what stands for a part, of the kernel K1 or K2.
        paired: what changes from pair to pair of inputs.
        inputs: the numbers of each input; its kernel comes first.
    """
    changing = {*paired}.union(*inputs)

    def kind(symbols: set[sp.Symbol]) -> sp.Symbol | str | None:
        support = symbols & changing
        if not support:
            return None
        return next((own[0] for own in inputs if support <= {*own}), MIXED)

    return with_parts_named(e, kind, named)


def _own(number: int, index: int) -> sp.Symbol:
    return GeneratedSymbol(f"{('first', 'second')[number - 1]}{index}", real=True)


def _parallel(kernel_map: Quantity, covariance_map: Quantity) -> sp.Expr | None:
    """K1'*K2' - C'**2 at C = sqrt(K1*K2), factored: a square of what vanishes for equal kernels, where it is one.

    Piecewise linear activations have it; its difference would be lost in rounding for kernels that are nearly equal.
    """
    if kernel_map.status is not Status.EXACT or covariance_map.status is not Status.EXACT:
        return None
    first, second = sp.Dummy("s1", positive=True), sp.Dummy("s2", positive=True)
    kernel, covariance = kernel_map.expr, covariance_map.expr
    assert kernel is not None and covariance is not None
    both = covariance.xreplace({K1: first**2, K2: second**2, C: first * second})
    square = sp.expand(both**2)  # roots of what both inputs are divided by
    total = kernel.xreplace({K: first**2}) * kernel.xreplace({K: second**2}) - square
    if total.has(sp.zoo, sp.nan, sp.oo) or not total.is_rational_function(*total.free_symbols):
        return None
    return sp.factor(total).xreplace({first: sp.sqrt(K1), second: sp.sqrt(K2)})
