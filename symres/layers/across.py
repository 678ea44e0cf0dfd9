"""What a draw does to covariances across positions: the only place where positions of a network meet.

A draw that mixes positions turns the Gram numbers ``G(a, b) = <u_a u_b>`` of its argument into the covariances of its
output. One method says how, for two sequences; the rest follows. The tangent is the slope of the rule for two sequences
in the Gram numbers of the pair, those of each sequence by itself being fixed: tangents are independent of the stream.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import sympy as sp

from ..core.errors import UnsupportedLayer
from ..functions.records.softmax_family import SoftmaxEntropy, SoftmaxOverlap
from .layouts import MEAN, Label, Layout, Pair

Gram: TypeAlias = Mapping[Pair, sp.Expr]
_STEP = sp.Dummy("step", real=True)


@dataclass(frozen=True)
class Grams:
    """The Gram numbers of all arguments of a draw.

    Args:
        layout: of the places.
        within: those of a sequence with itself, of each argument.
        between: those of two sequences.
        queries: by which the variance of weights of queries counts, for two sequences.
        keys: of keys.
    """

    layout: Layout
    within: Sequence[Gram]
    between: Sequence[Gram]
    queries: sp.Expr = sp.S.One
    keys: sp.Expr = sp.S.One


class Across(ABC):
    """A rule for covariances across positions, for weights of variance 1/fan_in and no biases.

    Attributes:
        is_uncorrelated: whether positions must have no covariance.
    """

    is_uncorrelated: ClassVar[bool] = False

    @property
    def arguments(self) -> tuple[sp.Expr, ...]:
        """What the draw reads besides its argument."""
        return ()

    @abstractmethod
    def covariance(self, pair: Pair, grams: Grams) -> sp.Expr:
        """The covariance of two outputs.

        Args:
            pair: of the outputs, one of each class of the layout.
            grams: of what the draw reads.
        """

    def kernel(self, layout: Layout, grams: Sequence[Gram]) -> Gram:
        """All covariances, from the Gram numbers of each argument."""
        return self._every(Grams(layout, grams, grams))

    def tangent(self, layout: Layout, grams: Sequence[Gram], changes: Sequence[Gram]) -> Gram:
        """The covariances of changes of the outputs, from those of changes of the arguments."""
        between = [
            {pair: gram[pair] + _STEP * change.get(pair, 0) for pair in gram}
            for gram, change in zip(grams, changes, strict=True)
        ]
        return self._slopes(Grams(layout, grams, between))

    def fresh(self, layout: Layout, grams: Sequence[Gram], C_W: sp.Expr) -> Mapping[str, Gram]:
        """The tangent kernel of each of the rule's weights, by its letter.

        Args:
            layout: of the places.
            grams: the Gram numbers of each argument.
            C_W: fan_in * Var(weight) of the draw.
        """
        return {"W": _scaled(C_W, self.kernel(layout, grams))}

    def entropy(self, layout: Layout, grams: Sequence[Gram]) -> sp.Expr | None:
        """The mean entropy, in nats, of the weights with which a position reads the others; None without any."""
        return None

    def _every(self, grams: Grams) -> Gram:
        return {pair: self.covariance(pair, grams) for pair in grams.layout.pairs}

    def _slopes(self, grams: Grams) -> Gram:
        return {pair: value.diff(_STEP).subs(_STEP, 0) for pair, value in self._every(grams).items()}


@dataclass(frozen=True)
class Here(Across):
    """Positions are not mixed: a dense layer."""

    def covariance(self, pair: Pair, grams: Grams) -> sp.Expr:
        """That of the arguments."""
        return grams.between[0][pair]


@dataclass(frozen=True)
class Window(Across):
    """A circular convolution: the positions around each, with equal variances of weights.

    Args:
        size: the number of positions along each axis.
        stride: the distance of places that are kept.
    """

    size: int
    stride: int = 1

    def covariance(self, pair: Pair, grams: Grams) -> sp.Expr:
        """That of the arguments: pairs of positions at one distance are alike, whatever window they are seen in.

        Raises:
            UnsupportedLayer: fewer positions are left.
        """
        if self.stride != 1:
            raise UnsupportedLayer(
                "a convolution with a stride",
                "it leaves fewer positions, which symres does not follow yet",
                "pass stride=1",
            )
        return grams.between[0][pair]


@dataclass(frozen=True)
class Pooled(Across):
    """The average over all positions."""

    def covariance(self, pair: Pair, grams: Grams) -> sp.Expr:
        """The average over all pairs of positions."""
        one, other = (label._replace(position=MEAN) for label in pair)
        shares = grams.layout.shares(one, other)
        return sp.Add(*(share * grams.between[0][each] for each, share in shares))


@dataclass(frozen=True)
class Mixed(Across):
    """Weights that act on positions, the same ones for all neurons: exact for many uncorrelated tokens."""

    is_uncorrelated = True

    def covariance(self, pair: Pair, grams: Grams) -> sp.Expr:
        """Of one position the mean over all; of two, whose weights differ, nothing.

        Raises:
            UnsupportedLayer: tokens are few, or correlated.
        """
        layout, between = grams.layout, grams.between[0]
        is_many = layout.positions.size is sp.oo
        if not is_many or any(between[layout.at_two_positions(each)] != 0 for each in layout.pairs):
            raise UnsupportedLayer(
                "a layer that mixes tokens",
                "mixing makes tokens unlike one another, unless they are many and uncorrelated",
                "pass positions=Tokens(oo), centre the tokens and take an odd activation",
            )
        return grams.between[0][pair] if layout.is_one_position(pair) else sp.S.Zero


@dataclass(frozen=True)
class Attend(Across):
    """Softmax attention of many wide heads, with scores ``q_a . k_b`` over sqrt(d) or d.

    Of the scores of a query softmax keeps what keys do not share; that is independent for different keys.

    Args:
        C_Q: fan_in * Var(weight) of queries.
        C_K: of keys.
        C_bQ: Var(bias) of queries; biases of keys drop out.
        queries: what queries are made of; None: of the argument of the draw, of which keys and values are.
        power: of 1/d in the scale of scores, 1/2 or 1.
        is_tied: whether queries and keys have one weight.
        bias: the variance that biases of values have behind the heads.
    """

    C_Q: sp.Expr
    C_K: sp.Expr
    C_bQ: sp.Expr = sp.S.Zero
    queries: sp.Expr | None = None
    power: sp.Expr = sp.S.Half
    is_tied: bool = False
    bias: sp.Expr = sp.S.Zero

    @property
    def arguments(self) -> tuple[sp.Expr, ...]:
        """The argument of the queries."""
        return () if self.queries is None else (self.queries,)

    def covariance(self, pair: Pair, grams: Grams) -> sp.Expr:
        """The keys' covariance at two positions, and the overlap of attention times what one position has more."""
        same, other = self._keys(pair, grams)
        return other + (same - other) * self._overlap(pair, grams)

    def fresh(self, layout: Layout, grams: Sequence[Gram], C_W: sp.Expr) -> Mapping[str, Gram]:
        """That of queries and keys, whose scores are weights of the values; of values, and of outputs."""
        values = _scaled(C_W, self.kernel(layout, grams))
        return {
            "Q": _scaled(C_W, self._slopes(Grams(layout, grams, grams, queries=1 + _STEP))),
            "K": _scaled(C_W, self._slopes(Grams(layout, grams, grams, keys=1 + _STEP))),
            "V": values,
            "O": {pair: value + self.bias for pair, value in values.items()},
        }

    def entropy(self, layout: Layout, grams: Sequence[Gram]) -> sp.Expr:
        """That of the softmax of the scores of one query."""
        T, pair = layout.positions.size, layout.pairs[0]
        alone = Grams(layout, grams, grams)
        if self.is_tied:
            one, other = self._tied(T, self._spread(pair[0], alone))
            return -one * sp.log(one) - (T - 1) * other * sp.log(other)
        return sp.log(T) if self.power == 1 else SoftmaxEntropy(self._variance(pair[0], alone), T)

    def _overlap(self, pair: Pair, grams: Grams) -> sp.Expr:
        """``sum_b A_b A'_b`` of two queries."""
        layout, T = grams.layout, grams.layout.positions.size
        alone = Grams(layout, grams.within, grams.within)
        if self.is_tied:  # the score of a token with itself is larger than those with others, which are equal
            (one, few), (other, less) = (self._tied(T, self._spread(a, alone)) for a in pair)
            if layout.is_one_position(pair):
                return one * other + (T - 1) * few * less
            return one * less + few * other + (T - 2) * few * less
        if self.power == 1:
            return 1 / T
        variances = [self._variance(a, alone) for a in pair]
        both = self._score(grams.queries * grams.between[-1][pair], operator.sub(*self._keys(pair, grams)))
        return SoftmaxOverlap(*variances, grams.keys * both, T)

    def _spread(self, label: Label, alone: Grams) -> sp.Expr:
        """By how much the Gram number of a key with itself exceeds that with another."""
        return operator.sub(*self._keys((label, label), alone))

    def _variance(self, label: Label, alone: Grams) -> sp.Expr:
        """That of scores of a query."""
        query = alone.within[-1][alone.layout.at_one_position((label, label))]
        return self._score(query, self._spread(label, alone))

    def _keys(self, pair: Pair, grams: Grams) -> tuple[sp.Expr, sp.Expr]:
        """The Gram numbers of two keys of some inputs at one position, and at two."""
        layout, between = grams.layout, grams.between[0]
        return between[layout.at_one_position(pair)], between[layout.at_two_positions(pair)]

    def _tied(self, T: sp.Expr, spread: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
        """The attention of a token to itself, and to each of the others."""
        alone = 1 / (1 + (T - 1) * sp.exp(-self.C_Q * spread))
        return alone, (1 - alone) / (T - 1)

    def _score(self, query: sp.Expr, spread: sp.Expr) -> sp.Expr:
        """The covariance of two scores."""
        return self.C_K * (self.C_Q * query + self.C_bQ) * spread


def _scaled(factor: sp.Expr, gram: Gram) -> Gram:
    return {pair: factor * value for pair, value in gram.items()}


HERE = Here()
