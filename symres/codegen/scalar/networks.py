"""The layers of a network as scalar code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sympy as sp

from ...core.symbols import K
from ..arrays.runtime.layer_recursion import _NODES
from ..emission.emitter import defined, variable
from ..planning.network_plan import DeepLayer, NetworkPlan
from ..stable.primitives import determinant
from .levels import economical
from .series import Series, with_sums
from .spelling import lines


@dataclass(frozen=True)
class ScalarLayer:
    """The functions of a layer. INPUTS are K1, what the layer needs of the first input besides, K2, and the same of it.

    Args:
        name: begins their names.
        parameters: of the layer, in order; the last arguments of each function.
        own: how many numbers the functions of two inputs need of each input besides its kernel.
        one: source of NAME_one(K, ...): a tuple of the next kernel and these numbers.
        step: source of NAME_step(INPUTS, C, Theta, D, next kernel and root of the first and of the second input, ...):
            the next covariance, tangent kernel and determinant. With positions there is each but D at two of them, too.
        moved: source of NAME_moved(K, C, t, s, ...): the next covariances of changes; None without positions.
        gap: source of NAME_gap(INPUTS, C, D, sqrt(K1'*K2'), ...), how far the next covariance of nearly parallel inputs
            is below sqrt(K1'*K2'), -1 where that is unknown; for functions that change with the root of D.
        others: sources of what these call.
        series: averages without a closed form, whose sums NAME_step takes behind the roots; None if there are none.
    """

    name: str
    parameters: tuple[sp.Symbol, ...]
    own: int
    one: str
    step: str
    moved: str | None
    gap: str | None
    others: tuple[str, ...]
    series: Series | None = None

    @property
    def sources(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.others, self.one, self.step, *(source for source in (self.moved, self.gap) if source is not None))


def scalar_layers(plan: NetworkPlan) -> list[ScalarLayer]:
    """The functions of the different layers of a network."""
    return [_scalar_layer(layer, plan.is_sharp, plan.parameters) for layer in plan.layers]


def _scalar_layer(layer: DeepLayer, is_sharp: bool, parameters: Sequence[sp.Symbol]) -> ScalarLayer:
    """The functions of a layer as scalar code.

    Args:
        layer: the layer.
        is_sharp: whether some layer of the network changes with the root of the determinant.
        parameters: of the network, which the functions of series take.

    Raises:
        NoSpelling: they contain what scalar code has no words for.
    """
    name, (first, second), state = layer.name, layer.symbols, layer.state
    own = [variable(p) for p in layer.parameters]
    names = state.names | {s: variable(s) for s in (determinant, *layer.parameters, *first, *second)}
    both, tangents = [[names[s] for s in group] for group in (state.both, state.tangents)]
    inputs = [*(names[s] for s in (*state.first, *first)), *(names[s] for s in (*state.second, *second))]
    following = [*_numbered("following", layer.covariances), *_numbered("tangent", layer.tangents)]
    results = [*zip(following, (*layer.covariances, *layer.tangents), strict=True)]
    returned = [*following]
    if layer.is_steep:
        results[1:] = [("fixed", layer.fixed), ("slope", layer.slope)]
        returned[1:] = ["fixed + (0.0 if Theta == 0.0 else Theta*slope)"]  # 0 times infinity
    results, series = with_sums(name, results, layer.components, parameters)
    symbols = () if series is None else series.symbols
    sums = list(map(str, symbols))
    names |= {s: str(s) for s in symbols}

    def function(tag: str, arguments: Sequence[str], body: Sequence[str]) -> str:
        return defined(f"{name}_{tag}({', '.join([*arguments, *own])})", body)

    def call(tag: str, *arguments: str) -> str:
        return f"{name}_{tag}({', '.join([*arguments, *own])})"

    kept, kernels = [f"own{i}" for i in range(len(layer.own))], _numbered("kernel", layer.kernels)
    one = lines(names, [*zip((*kernels, *kept), (*layer.kernels, *layer.own), strict=True)])
    if layer.is_directed:
        kernels[0] = "directed(kernel) if K > 0.0 else NAN"
    elif not layer.kernels[0].has(K):
        kernels[0] = "kernel if K >= 0.0 else NAN"  # what is lost stays lost
    pair = [*lines(names, economical(results)), f"return ({', '.join(returned)})"]
    alike = zip((*both, *both), [names[s] for s in (*state.first, *state.second)], strict=True)
    nexts = [_numbered(f"next{n}", layer.kernels) for n in (1, 2)]
    step = [
        f"{', '.join(following)} = {call('pair', *inputs, *both, *tangents, 'D', *sums)}",
        f"same = 1.0 if {' and '.join(f'{c} == {k}' for c, k in alike)} else 0.0",  # equal inputs keep that of one
        *(f"{f} = {k} if same == 1.0 else {f}" for f, k in zip(following, nexts[0], strict=False)),
        f"return ({', '.join(following)}, next_determinant(root1, root2, following, same))",
    ]
    others = [function("pair", [*inputs, *both, *tangents, "determinant", *sums], pair)]
    moved = None
    if layer.changes:
        changed = _numbered("tangent", layer.changes)
        body = [*lines(names, [*zip(changed, layer.changes, strict=True)]), f"return ({', '.join(changed)})"]
        moved = function("moved", [names[s] for s in (*state.one, *state.changes)], body)
    gap = None
    if is_sharp and series is None:  # of a series no rounding of C is undone
        others.append(function("slope", [*inputs, "C", "determinant"], lines(names, [("return", layer.slope)])))
        if layer.parallel is None:
            parted = [
                f"parallel, unused = {call('pair', *inputs, 'size', '0.0', '0.0')}",
                "parted = gap_of_values(following, parallel, K1, K2)",
            ]
        else:
            others.append(function("parallel", ["K1", "K2"], lines(names, [("return", layer.parallel)])))
            parted = [f"parted = gap_of_parallel(following, {call('parallel', 'K1', 'K2')})"]
        slope = call("slope", *inputs, "size - inner", "inner*(2.0*size - inner)")
        gap = function("gap", [*inputs, "C", "D", "following"], [*_narrowed(slope), *parted, _SETTLED])
    return ScalarLayer(
        name,
        layer.parameters,
        len(layer.own),
        function("one", [names[s] for s in state.one], [*one, f"return ({', '.join([*kernels, *kept])},)"]),
        function("step", [*inputs, *both, *tangents, "D", *_of_next(nexts[0], 1), *_of_next(nexts[1], 2), *sums], step),
        moved,
        gap,
        tuple(others),
        series,
    )


def _numbered(name: str, expressions: Sequence[sp.Expr]) -> list[str]:
    """A name for the first of some expressions, and for those at two positions."""
    return [f"{name}{'_apart' * place}" for place in range(len(expressions))]


def _of_next(kernels: Sequence[str], number: int) -> list[str]:
    """The names of what is known of an input behind the layer: its kernel, the root of that, and other numbers."""
    return [kernels[0], f"root{number}", *kernels[1:]]


_SETTLED = "return gap*total + parted if is_settled(following, gap*fabs(total - other)) == 1.0 else -1.0"


def _narrowed(slope: str) -> list[str]:
    """The integral of dC'/dC over the gap, in the root of the distance, by two rules."""
    out = ["size = sqrt(K1)*sqrt(K2)", "gap = D/(size + C)", "total = 0.0", "other = 0.0"]
    for place, weight, lower in _NODES:
        out += [f"inner = gap*{place * place!r}", f"part = {2.0 * place!r}*{slope}", f"total += {weight!r}*part"]
        out += [f"other += {lower!r}*part"] if lower else []
    return out
