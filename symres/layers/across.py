"""What a draw does to covariances across positions: the only place where positions of a network meet.

A draw that mixes positions turns the Gram numbers ``G(a, b) = <u_a u_b>`` of its argument into the covariances of its
output. One method says how, for two sequences; the rest follows. The tangent is the slope of the rule for two sequences
in the Gram numbers of the pair, those of each sequence by itself being fixed: tangents are independent of the stream.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import sympy as sp

from ..core.errors import UnsupportedLayer
from ..functions.records.softmax_family import SoftmaxOverlap
from .layouts import MEAN, Layout, Pair

Gram: TypeAlias = Mapping[Pair, sp.Expr]
_STEP = sp.Dummy("step", real=True)


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
    def covariance(
        self, layout: Layout, pair: Pair, own: Sequence[Gram], cross: Sequence[Gram], paired: sp.Expr
    ) -> sp.Expr:
        """The covariance of two outputs.

        Args:
            layout: of the places.
            pair: of the outputs, one of each class of the layout.
            own: Gram numbers of each argument; those of one sequence are meant.
            cross: the same, of which those of a pair of sequences are meant.
            paired: factor of the variances of weights inside the rule, where they belong to a pair of sequences.
        """

    def kernel(self, layout: Layout, grams: Sequence[Gram]) -> Gram:
        """All covariances."""
        return {pair: self.covariance(layout, pair, grams, grams, sp.S.One) for pair in layout.pairs}

    def tangent(self, layout: Layout, grams: Sequence[Gram], changes: Sequence[Gram]) -> Gram:
        """The covariances of changes of the outputs, from those of changes of the arguments."""
        cross = [
            {pair: gram[pair] + _STEP * change.get(pair, 0) for pair in gram}
            for gram, change in zip(grams, changes, strict=True)
        ]
        return {pair: self._slope(self.covariance(layout, pair, grams, cross, sp.S.One)) for pair in layout.pairs}

    def fresh(self, layout: Layout, grams: Sequence[Gram]) -> Gram:
        """The tangent kernel of the rule's own weights, those inside of it and those that draw alike."""
        inside = {pair: self._slope(self.covariance(layout, pair, grams, grams, 1 + _STEP)) for pair in layout.pairs}
        return {pair: value + inside[pair] for pair, value in self.kernel(layout, grams).items()}

    @staticmethod
    def _slope(value: sp.Expr) -> sp.Expr:
        return value.diff(_STEP).subs(_STEP, 0)


@dataclass(frozen=True)
class Here(Across):
    """Positions are not mixed: a dense layer."""

    def covariance(
        self, layout: Layout, pair: Pair, own: Sequence[Gram], cross: Sequence[Gram], paired: sp.Expr
    ) -> sp.Expr:
        """That of the arguments."""
        return cross[0][pair]


@dataclass(frozen=True)
class Window(Across):
    """A circular convolution: positions around a place, with a share of the variance of weights each.

    Args:
        size: the number of positions along each axis.
        shares: of the positions of an axis, equal ones unless given.
        stride: the distance of places that are kept.
    """

    size: int
    shares: tuple[sp.Expr, ...] = ()
    stride: int = 1

    def covariance(
        self, layout: Layout, pair: Pair, own: Sequence[Gram], cross: Sequence[Gram], paired: sp.Expr
    ) -> sp.Expr:
        """That of the arguments: pairs of positions at one distance are alike, whatever window they are seen in."""
        return cross[0][pair]


@dataclass(frozen=True)
class Pooled(Across):
    """The average over all positions."""

    def covariance(
        self, layout: Layout, pair: Pair, own: Sequence[Gram], cross: Sequence[Gram], paired: sp.Expr
    ) -> sp.Expr:
        """The average over all pairs of positions."""
        one, other = (label._replace(position=MEAN) for label in pair)
        return sp.Add(*(share * cross[0][each] for each, share in layout.shares(one, other)))


@dataclass(frozen=True)
class Mixed(Across):
    """Weights that act on positions, the same ones for all neurons: exact for many uncorrelated tokens."""

    is_uncorrelated = True

    def covariance(
        self, layout: Layout, pair: Pair, own: Sequence[Gram], cross: Sequence[Gram], paired: sp.Expr
    ) -> sp.Expr:
        """Of one position the mean over all; of two, whose weights differ, nothing.

        Raises:
            UnsupportedLayer: tokens are few, or correlated.
        """
        if layout.positions.size is not sp.oo or any(cross[0][layout.at_two_positions(p)] != 0 for p in layout.pairs):
            raise UnsupportedLayer(
                "a layer that mixes tokens",
                "mixing makes tokens unlike one another, unless they are many and uncorrelated",
                "pass positions=Tokens(oo), centre the tokens and take an odd activation",
            )
        return cross[0][pair] if layout.is_one_position(pair) else sp.S.Zero


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
    """

    C_Q: sp.Expr
    C_K: sp.Expr
    C_bQ: sp.Expr = sp.S.Zero
    queries: sp.Expr | None = None
    power: sp.Expr = sp.S.Half
    is_tied: bool = False

    @property
    def arguments(self) -> tuple[sp.Expr, ...]:
        """The queries' own argument."""
        return () if self.queries is None else (self.queries,)

    def covariance(
        self, layout: Layout, pair: Pair, own: Sequence[Gram], cross: Sequence[Gram], paired: sp.Expr
    ) -> sp.Expr:
        """The keys' covariance at two positions, and the overlap of attention times what one position has more."""
        same, other = cross[0][layout.at_one_position(pair)], cross[0][layout.at_two_positions(pair)]
        return other + (same - other) * self._overlap(layout, pair, own, cross, paired)

    def fresh(self, layout: Layout, grams: Sequence[Gram]) -> Gram:
        """Twice the rule's: outputs and values draw alike, queries and keys have the same share."""
        return {pair: 2 * value for pair, value in super().fresh(layout, grams).items()}

    def _overlap(
        self, layout: Layout, pair: Pair, own: Sequence[Gram], cross: Sequence[Gram], paired: sp.Expr
    ) -> sp.Expr:
        """``sum_b A_b A'_b`` of two queries."""
        T = layout.positions.size
        spreads = [own[0][layout.at_one_position((a, a))] - own[0][layout.at_two_positions((a, a))] for a in pair]
        if self.is_tied:  # the score of a token with itself is larger than those with others, which are equal
            alone = [1 / (1 + (T - 1) * sp.exp(-self.C_Q * spread)) for spread in spreads]
            (one, two), (few, less) = alone, [(1 - share) / (T - 1) for share in alone]
            if layout.is_one_position(pair):
                return one * two + (T - 1) * few * less
            return one * less + few * two + (T - 2) * few * less
        if self.power == 1:
            return 1 / T
        variances = [
            self._score(own[-1][layout.at_one_position((a, a))], spread)
            for a, spread in zip(pair, spreads, strict=True)
        ]
        gap = cross[0][layout.at_one_position(pair)] - cross[0][layout.at_two_positions(pair)]
        return SoftmaxOverlap(*variances, paired * self._score(cross[-1][pair], gap), T)

    def _score(self, query: sp.Expr, spread: sp.Expr) -> sp.Expr:
        return self.C_K * (self.C_Q * query + self.C_bQ) * spread


HERE = Here()
