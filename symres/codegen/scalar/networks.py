"""The layers of a network as scalar code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sympy as sp
from sympy.integrals.quadrature import gauss_legendre

from ...core.symbols import K1, K2, C, K, Theta
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
            the next covariance, tangent kernel and determinant.
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
    gap: str | None
    others: tuple[str, ...]
    series: Series | None = None

    @property
    def sources(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.others, self.one, self.step, *([self.gap] if self.gap is not None else []))


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
    name, (first, second) = layer.name, layer.symbols
    own = [variable(p) for p in layer.parameters]
    names = {s: variable(s) for s in (K, K1, K2, C, Theta, determinant, *layer.parameters, *first, *second)}
    inputs = ["K1", *map(str, first), "K2", *map(str, second)]
    results, tangent = [("following", layer.covariance), ("tangent", layer.tangent)], "tangent"
    if layer.is_steep:
        results[1:] = [("fixed", layer.fixed), ("slope", layer.slope)]
        tangent = "fixed + (0.0 if Theta == 0.0 else Theta*slope)"  # 0 times infinity
    results, series = with_sums(name, results, layer.components, parameters)
    symbols = () if series is None else series.symbols
    sums = list(map(str, symbols))
    names |= {s: str(s) for s in symbols}

    def function(tag: str, arguments: Sequence[str], body: Sequence[str]) -> str:
        return defined(f"{name}_{tag}({', '.join([*arguments, *own])})", body)

    def call(tag: str, *arguments: str) -> str:
        return f"{name}_{tag}({', '.join([*arguments, *own])})"

    kept = [f"own{i}" for i in range(len(layer.own))]
    one = lines(names, [("kernel", layer.kernel), *zip(kept, layer.own, strict=True)])
    if layer.is_directed:
        kernel = "directed(kernel) if K > 0.0 else NAN"
    else:
        kernel = "kernel" if layer.kernel.has(K) else "kernel if K >= 0.0 else NAN"  # what is lost stays lost
    pair = [*lines(names, economical(results)), f"return (following, {tangent})"]
    step = [
        f"following, tangent = {call('pair', *inputs, 'C', 'Theta', 'D', *sums)}",
        "same = 1.0 if C == K1 and C == K2 else 0.0",  # equal inputs keep the kernel of one
        "following = next1 if same == 1.0 else following",
        "return (following, tangent, next_determinant(root1, root2, following, same))",
    ]
    others = [function("pair", [*inputs, "C", "Theta", "determinant", *sums], pair)]
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
        function("one", ["K"], [*one, f"return ({', '.join([kernel, *kept])},)"]),
        function("step", [*inputs, "C", "Theta", "D", "next1", "root1", "next2", "root2", *sums], step),
        gap,
        tuple(others),
        series,
    )


_SETTLED = "return gap*total + parted if is_settled(following, gap*fabs(total - other)) == 1.0 else -1.0"


def _narrowed(slope: str) -> list[str]:
    """The integral of dC'/dC over the gap, in the root of the distance, by two rules."""
    out = ["size = sqrt(K1)*sqrt(K2)", "gap = D/(size + C)", "total = 0.0", "other = 0.0"]
    for place, weight, lower in _nodes():
        out += [f"inner = gap*{place * place!r}", f"part = {2.0 * place!r}*{slope}", f"total += {weight!r}*part"]
        out += [f"other += {lower!r}*part"] if lower else []
    return out


def _nodes() -> list[tuple[float, float, float]]:
    """Place and weight of the rule of Gauss and Legendre with five nodes on [0, 1], and the weight in a lower rule.

    That has the ends and the middle, and is right for parabolas: on [-1, 1] weights 1/(3a**2) at -a and a.
    """
    places, weights = gauss_legendre(5, 17)
    edge = 1 / (6 * places[-1] ** 2)
    lower = (edge, 0, 1 - 2 * edge, 0, edge)
    return [(float((1 + x) / 2), float(w / 2), float(v)) for x, w, v in zip(places, weights, lower, strict=True)]
