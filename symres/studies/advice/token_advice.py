"""Advice for layers of tokens: that of equal tokens, whose branches are largest, and what it does to others.

Attention of equal tokens is a dense layer, so that advice for layers without positions serves. What attention adds to
the kernel, and to the gradient of all tokens moved alike, is largest there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import sympy as sp

from ...core.errors import SymresError
from ...core.symbols import C_W
from ...functions.records.softmax_family import SoftmaxOverlap, softmax_overlap
from ...layers.layer import Layer
from ...layers.mixing import Attention
from ...layers.nodes import Drawn, of_equal_positions
from ...layers.normalisation import Normaliser
from ...layers.positions import USUAL_TOKENS, Tokens
from ...numerics.brent import brent
from ...results.advice.advice import Advice
from ...results.advice.parts import FACTOR, Origin, TokenEnd
from ...theory.theory import Theory

_WIDER = 4  # hidden neurons of a transformer's dense branch over those of its stream
_STD = 0.02  # of weights in GPT-2, BERT and ViT
_SCORES = ("C_Q", "C_K")
_ALIKE = 0.5  # similarity at the end of tokens that began with none
_SMALLEST = 1e-6  # variance of weights that are drawn
_CROWDED = 0.1  # tokens times variance of scores, over the width, from where on a caution is said
_RTOL = 1e-3  # of the logarithm of a variance
_CHANGED = (
    "with these variances {0} layers change a kernel of 1 of {1} tokens with nothing in common to {2:.3g}, and the "
    "squared gradient of all tokens moved alike by the factor {3:.3g}; without a number for the last weights symres "
    "says which keep both"
)
_MIXED = "a node does not say what it is where all positions are equal: define of_equal_positions(self)"
_COLLAPSE = "tokens become equal in {} layers, whatever the variances of last weights"


def advise_tokens(theory: Theory, depth: int, width: int, advise: Callable[[Theory, float | None], Advice]) -> Advice:
    """Advice for a layer of tokens: weights that give to the stream have one variance, others the variance 1/fan_in.

    Args:
        theory: of the layer.
        depth: number of layers.
        width: of the stream.
        advise: for layers without positions, and the mean square of inputs where that is given.
    """
    last, inner = _by_role(theory.layer.forward)
    names = [sorted({str(draw.args[1]) for draw in draws if draw.args[1].is_Symbol}) for draws in (last, inner)]
    inside = {name: 1.0 for name in (*names[1], *_SCORES) if name in theory.parameter_names}
    alike = of_equal_positions(theory.layer.forward)
    renamed = {s: C_W if s.name in names[0] else inside.get(s.name, s) for s in alike.free_symbols}
    layer = Layer(alike.subs(renamed))
    if layer.program.has_positions:
        return Advice(depth, width, False, remark=_MIXED)
    size = theory.sequence_length if theory.is_exchangeable else sp.oo
    is_attended = size not in (1, sp.oo) and bool(theory.layer.forward.atoms(Attention))
    tokens = Theory(theory.layer, Tokens(USUAL_TOKENS) if size.free_symbols else theory.positions)
    is_fixed = is_attended and not layer.parameters
    if is_fixed:
        end = next(_ends(tokens, depth, width, {"": {}}), None)
        if end is not None and not all(1 / FACTOR < change < FACTOR for change in (end.kernel, end.gradient)):
            remark = _CHANGED.format(depth, size, end.kernel, end.gradient)
            return Advice(depth, width, False, remark=remark, token_ends=(end,))
    advice = advise(Theory(layer), 1.0 if is_fixed else None)  # larger inputs would only drown the branches
    if not advice.holds:
        return advice
    chosen = inside | advice.parameters | {"C_b": advice.C_b or 0.0}
    if is_attended and names[0] and advice.C_W is not None:
        scale = where_apart(tokens, depth, chosen, names[0], min(advice.C_W, 1.0))
        if scale is None:
            return replace(advice, holds=False, origin=None, remark=_COLLAPSE.format(depth))
        if scale < advice.C_W:  # behind a norm neither kernels nor gradients tell that tokens become equal
            advice = replace(advise(Theory(layer.subs(C_W=scale)), None), origin=Origin.BRANCH, C_W=scale)
    chosen |= dict.fromkeys(names[0], advice.C_W or 1.0)
    ends = [*_ends(tokens, depth, width, {"": chosen})] if is_attended else []
    if is_attended and (schemes := _schemes(last, inner, chosen, depth, width)):
        free = theory.layer.forward.replace(lambda e: isinstance(e, Attention), _with_free_scores)
        ends += _ends(Theory(Layer(free), tokens.positions), depth, width, schemes)
    parameters = {name: value for name, value in chosen.items() if name in theory.parameter_names}
    return replace(
        advice,
        C_W=None if names[0] else advice.C_W,
        C_b=None if names[0] else advice.C_b,
        parameters=parameters,
        last=tuple(names[0]),
        token_ends=tuple(ends),
        usual=(),
    )


def where_apart(
    theory: Theory, depth: int, values: Mapping[str, float], last: Sequence[str], largest: float
) -> float | None:
    """The largest variance of last weights for which tokens with nothing in common do not end alike; None if none."""

    def excess(log_scale: float) -> float:
        numbers = {**values, **dict.fromkeys(last, math.exp(log_scale))}
        numbers = {p: value for p, value in numbers.items() if p in theory.parameter_names}
        try:
            return float(theory.similarity(depth, 1, 0, **numbers)[-1]) - _ALIKE
        except SymresError:
            return -_ALIKE  # not known, and no reason to be careful

    low, high = math.log(_SMALLEST), math.log(largest)
    if excess(high) <= 0:
        return largest
    return None if excess(low) > 0 else float(f"{math.exp(brent(excess, low, high, rtol=_RTOL)):.3g}")


def _by_role(forward: sp.Expr) -> tuple[set[Drawn], set[Drawn]]:
    """The draws of a layer whose outputs are added to the stream, and those inside of branches."""

    def added(e: sp.Expr) -> Iterator[Drawn]:
        if isinstance(e, Drawn):
            yield e
        elif isinstance(e, sp.Add | sp.Mul | Normaliser):
            for part in e.args:
                yield from added(part)

    last = set(added(forward))
    return last, forward.atoms(Drawn) - last


def _schemes(
    last: set[Drawn], inner: set[Drawn], chosen: Mapping[str, float], depth: int, width: int
) -> dict[str, Mapping[str, float]]:
    """Customary variances of transformers by their names; none for other layers."""
    outputs = {isinstance(draw, Attention): str(draw.args[1]) for draw in last}
    if len(last) != 2 or len(outputs) != 2 or any(not draw.args[1].is_Symbol for draw in last | inner):
        return {}
    small, share = width * _STD**2, 1 / (2 * depth)  # two branches in each block
    rows = {  # queries and keys, values times outputs, the dense branch in front of its activation and behind it
        "nn.TransformerEncoderLayer": (1 / 2, 1 / 6, 1 / 3, 1 / 3),  # its biases are left out
        f"{_STD:g} (BERT, ViT)": (small, small**2, small, _WIDER * small),
        f"{_STD:g}, last over sqrt(2 depth) (GPT-2)": (small, small**2 * share, small, _WIDER * small * share),
        "1/sqrt(fan_in) (LeCun)": (1.0, 1.0, 1.0, 1.0),
    }
    return {
        name: {
            **chosen,
            **dict.fromkeys(_SCORES, scores),
            **{str(draw.args[1]): first for draw in inner},
            outputs[True]: values,
            outputs[False]: behind,
        }
        for name, (scores, values, first, behind) in rows.items()
    }


def _with_free_scores(attention: Attention) -> sp.Expr:
    """The same with parameters for the variances of queries and keys."""
    symbols = [sp.Symbol(name, nonnegative=True) for name in _SCORES]
    return attention.func(*attention.args[:3], *symbols, *attention.args[5:])


def _ends(theory: Theory, depth: int, width: int, schemes: Mapping[str, Mapping[str, float]]) -> Iterator[TokenEnd]:
    """What variances make of tokens of kernel 1 that have nothing in common; nothing where that is not known."""
    for name, values in schemes.items():
        numbers = {p: value for p, value in values.items() if p in theory.parameter_names}
        try:
            kernel, shared = theory.kernels(depth, 1, C=0, **numbers)[-1]
            gradient = theory.apjn(0, depth, 1, 0, tokens="all", **numbers)
        except SymresError:
            continue
        ends = float(kernel), float(shared / kernel), float(gradient)
        yield TokenEnd(name, int(theory.sequence_length), *ends, _crowding(theory, width, numbers))


def _crowding(theory: Theory, width: int, numbers: Mapping[str, float]) -> float:
    """By how much overlaps of order n^(-1/2) between T tokens with nothing in common change what attention adds.

    Scores of variance S make it ``S/(n B)``, B being the overlap of attention; 0 for T S < n/10.
    """
    values = {**numbers, "K": 1, "C": 0}
    of_layer = {p: values[p.name] for p in theory.kernel_map.symbols}
    tokens, largest = int(theory.sequence_length), 0.0
    for overlap in theory.kernel_map.definition.atoms(SoftmaxOverlap):
        S, *others = (each.subs(of_layer) for each in overlap.args)
        if tokens * S > _CROWDED * width:
            largest = max(largest, float(S) / width / softmax_overlap(S, *others))
    return largest
