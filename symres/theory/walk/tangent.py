"""Tangents: infinitesimal changes of the stream and of the parameters, as further places of the walk.

The tangent a' of a place a is one more place, whose neuron ``z_a'`` is the change of ``z_a``. A factor (u, a') of an
average is the change of u, by the product rule ``sum_j (d_j u)_a j_a' + sum_s (d_s u)_a s_a'`` over the neurons j and
the statistics s. So the walk itself gives the response of each statistic, and the covariance of the changes of each
Draw and of the next stream.

To tangents that are independent of the neurons, such as gradients and changes of parameters, statistics do not respond.
The average over a batch responds with what the tangents of its inputs have in common: nothing where one input of many
is moved, everything where a change of parameters moves them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, product
from typing import TypeAlias

import sympy as sp

from ...core.errors import NoClosedForm
from ...core.symbols import K
from ...core.words import Obstruction, Reason
from ...functions.records.special_function import SpecialFunction
from ...layers.across import HERE
from ...layers.layouts import Label
from ...layers.program import Draw, Mean, phis
from .linear_forms import Form, form
from .walk import Factor, Kernel, Walk

NONE = (0, 0)  # the parameters are fixed

Rate: TypeAlias = sp.Expr | int
Rates = tuple[Rate, Rate] | Callable[[Draw], tuple[Rate | Mapping[str, Rate], Rate]]


def tangent(walk: Walk, a: Label, b: Label, start: Kernel, rates: Rates = NONE) -> sp.Expr:
    """The covariance of the next stream's tangents at places a and b, for tangents independent of the neurons.

    Args:
        walk: the law of the neurons.
        a: first place.
        b: second place; a = b for one.
        start: covariances of the incoming tangents, by pairs of places: 1 for chi_perp, Theta for the tangent kernel.
        rates: learning rates of weights and biases, for parameters of variance 1 that C_W/fan_in and C_b scale; or a
            function that has those of each Draw, of its weights together or by their letters.

    Returns:
        The covariance; infinite where the mean square of a slope is, as for activations that jump, and a = b.

    Raises:
        NoClosedForm: the slopes have no average that is known.
    """
    kernel = {(one.tangent, other.tangent): covariance for (one, other), covariance in start.items()}
    try:
        moved = TangentWalk(walk, kernel, rates)
        value = moved.stream(a.tangent, b.tangent)
    except InfiniteSlope:
        return sp.oo
    for name, meaning in reversed(moved.mixed.items()):
        value = value.xreplace({name: meaning})
    return value


def chi_delta(walk: Walk) -> sp.Expr:
    """The coefficient of finite input dimension, ``(<(dz'/deps)^2>/K - chi_perp)/(2 K)`` for ``z -> (1 + eps) z``.

    Doshi et al. (35) for layers without normalisation: ``C_W <phi''^2 + phi''' phi'>``, which is 2h of PDLT (B.18).
    Half of it stands in the place of h in PDLT (B.14) for any layer: it is ``C'_CC/4 + C'_12 + C'_1C`` at equal inputs.

    Args:
        walk: the law for one input.

    Raises:
        NoClosedForm: the slope of an activation has no finite mean square; or the layer mixes positions, or averages
            over a batch: what scaling does to it depends on how many of them are scaled.
    """
    if walk.program.has_positions:
        found = "it is known for layers without positions"
        raise NoClosedForm("the response to scaling", found, "ask for tangent_map")
    if walk.program.has_batch:
        raise NoClosedForm("the response to scaling", "it is defined for one input, not a batch", "ask for chi_perp")
    a, moved = walk.first, walk.first.tangent
    independent = TangentWalk(walk, {(moved, moved): sp.Integer(1)})
    scaled = TangentWalk(walk, {(a, moved): K, (moved, moved): K})
    perp, along = (each.stream(moved, moved) for each in (independent, scaled))
    return walk.in_lowest_terms((along / K - perp) / (2 * K))


class InfiniteSlope(NoClosedForm):
    """The mean square of a slope is infinite."""


class TangentWalk(Walk):
    """The walk of tangents, which goes on from the law of the neurons.

    Args:
        law: of the neurons; its covariances, statistics and assignments are shared.
        kernel: covariances of the tangents a', b' of the stream, {(a', b'): ...}, and of the stream with them,
            {(a, b'): ...}; tangents without the latter are independent of the stream, as those of a batch must be.
        rates: learning rates of weights and biases.

    Attributes:
        mixed: {name: value} of the covariances behind draws that mix positions, which stay one factor.
    """

    def __init__(self, law: Walk, kernel: Kernel, rates: Rates = NONE) -> None:
        self._pairs, self._rates = list(kernel), rates
        self.mixed: dict[sp.Symbol, sp.Expr] = {}
        known = dict(law._covariances), dict(law._statistics), law._grams
        super().__init__(law.program, law.layout, {**law.kernel, **kernel}, law.assignments, *known)

    def _mean(self, mean: Mean) -> None:
        for a, b in self._pairs:
            if not a.is_tangent:
                self._statistics[mean.name, b] = self.mean((mean.integrand, b))

    def _draw(self, draw: Draw) -> None:
        weight_rate, bias_rate = self._rates(draw) if callable(self._rates) else self._rates
        if draw.across != HERE:
            grams = self._grams[draw.name]
            changes = [
                {(a.stream, b.stream): sp.Add(*self._averages((u, a), (u, b))) for a, b in self._pairs}
                for u in draw.arguments
            ]
            fresh = {} if weight_rate == 0 else draw.across.fresh(self.layout, grams, draw.C_W)
            for (a, b), mixed in draw.across.tangent(self.layout, grams, changes).items():
                added = sp.Add(*(_rate(weight_rate, letter) * part[a, b] for letter, part in fresh.items()))
                value = draw.C_W * mixed + added + bias_rate * draw.C_b
                name = sp.Dummy("T", real=True) if value.has(SpecialFunction) else value
                if name is not value:
                    self.mixed[name] = value
                self._covariances[draw.name, a.tangent, b.tangent] = name
            return
        for a, b in self._pairs:
            value = sp.Add(*(draw.C_W * average for average in self._averages((draw.u, a), (draw.u, b))))
            if a.is_tangent:
                own = self.covariance(draw.name, a.stream, b.stream)
                value += _rate(weight_rate, "W") * (own - draw.C_b) + bias_rate * draw.C_b
            self._covariances[draw.name, a, b] = value

    def covariance(self, source: sp.Symbol, a: Label, b: Label) -> sp.Expr:
        """The covariance of one source at two places, each of which may be a tangent."""
        if not (a.is_tangent or b.is_tangent):
            return super().covariance(source, a, b)
        if a.is_tangent != b.is_tangent:
            pair = (b, a) if a.is_tangent else (a, b)
            return self._covariances.get((source, *pair), sp.Integer(0))
        shares = self.layout.shares(a.stream, b.stream)
        return sp.Add(*(share * self._covariances[source, p.tangent, q.tangent] for (p, q), share in shares))

    def mean(self, *factors: Factor, jumps: bool = False) -> sp.Expr:
        """The average of a product, by the product rule where factors are at tangents.

        Raises:
            UnsupportedLayer: one product needs more than two Gaussian variables.
            InfiniteSlope: the slope at a jump is squared.
        """
        return sp.Add(*self._averages(*factors, jumps=jumps))

    def _averages(self, *factors: Factor, jumps: bool = False) -> Iterator[sp.Expr]:
        """The averages that add up to that of a product: one for each choice of what changes in the factors."""
        for choice in product(*(self._changes(u, a) for u, a in factors)):
            slopes = [(u, a) for u, a in chain(*choice) if not a.is_tangent]
            changes = [(s, b) for s, b in chain(*choice) if b.is_tangent]
            tied = [(s, b) for s, b in changes if any(u.has(s) and self.covariance(s, a, b) != 0 for u, a in slopes)]
            moved = super().mean(*(change for change in changes if change not in tied))
            if moved != 0:  # else the slopes, which may have no average, do not matter
                yield super().mean(*slopes, *tied, jumps=jumps or _are_steep(factors, choice)) * moved

    def _changes(self, u: sp.Expr, a: Label) -> list[tuple[Factor, ...]]:
        """The products that add up to a factor: itself or, at a tangent, each slope with the change that it is in."""
        if not a.is_tangent:
            return [((u, a),)]
        statistics = (s for (s, b), response in self._statistics.items() if b == a and response != 0)
        return [((u.diff(s), a.stream), (s, a)) for s in (*self._neurons, *statistics) if u.has(s)]

    def _form(self, u: sp.Expr, a: Label) -> Form:
        """An expression as a form; at a tangent it is the same form in changes, and what statistics add."""
        if not a.is_tangent:
            return super()._form(u, a)
        changes = [((s, b.tangent), c) for (s, b), c in super()._form(u, a.stream)]
        for (s, b), response in self._statistics.items():
            if b == a:
                changes += [(place, c * response) for place, c in super()._form(u.diff(s), a.stream)]
        return form(changes)


def _rate(rate: Rate | Mapping[str, Rate], letter: str) -> Rate:
    """The learning rate of a weight of a draw."""
    return rate.get(letter, 0) if isinstance(rate, Mapping) else rate


def _are_steep(factors: Sequence[Factor], choice: Sequence[tuple[Factor, ...]]) -> bool:
    """Whether a slope is that of a jump.

    Raises:
        InfiniteSlope: two are, of one neuron at one input: their product has no average.
    """
    ends = [(u, *part[-1]) for (u, _), part in zip(factors, choice, strict=True) if part[-1][1].is_tangent]
    steep = [(s, a) for u, s, a in ends if _tears(u, s)]
    if len(set(steep)) < len(steep):
        raise InfiniteSlope(
            "the response to a change of the stream",
            Reason("the mean square of a slope", "is infinite", Obstruction.INFINITE),
            "smooth the activation",
        )
    return bool(steep)


def _tears(u: sp.Expr, neuron: sp.Symbol) -> bool:
    """Whether the mean square of the slope of an activation of a neuron is infinite: at a jump, or like |z|**(1/2).

    Raises:
        NoClosedForm: the slope is unbounded but its mean square is finite; there is no rule for such averages.
    """
    for phi in phis(u):
        if not phi.argument.has(neuron):
            continue
        if not phi.pieces.is_continuous:
            return True
        steepest = min(phi.pieces.steepness, default=0)
        if steepest <= -sp.Rational(1, 2):
            return True
        if steepest < 0:
            raise NoClosedForm(
                f"the tangent of {u}",
                "the slope is unbounded at a breakpoint and its mean square finite, for which symres has no rule",
                "smooth the formula there, or ask for averages without slopes (sr.expect)",
            )
    return False
