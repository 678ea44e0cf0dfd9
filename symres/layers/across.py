"""What a draw does to covariances across positions: the only place where positions of a network meet.

A draw that mixes positions turns the Gram numbers ``G(a, b) = <u_a u_b>`` of its argument into the covariances of its
output. One method says how, for two sequences; the rest follows. The tangent is the slope of the rule for two sequences
in the Gram numbers of the pair, those of each sequence by itself being fixed: tangents are independent of the stream.

On a grid, where positions have neighbours, Gram numbers are arrays; a rule that knows grids has a method for them too.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, NoReturn, TypeAlias

import sympy as sp

from ..core.errors import DeclarationError, UnsupportedLayer
from ..functions.records.softmax_family import SoftmaxEntropy, SoftmaxOverlap
from ..numerics.deferred_numpy import Array, np
from ..numerics.listed_attention import Estimate, ListedAttention
from ..numerics.masked_overlaps import MaskedOverlaps
from .grids import Lattice, Listed
from .layouts import MEAN, Label, Layout, Pair

Gram: TypeAlias = Mapping[Pair, sp.Expr]
_STEP = sp.Dummy("step", real=True)
_EQUAL = sp.Tuple()  # shares of a window
_UNLIKE = 1e-12  # relative difference of covariances of keys that are not alike
_MOST_EXACT = 2**6  # positions behind a mask, each pair of which has its own overlap
UNLIKE = (
    'positions are not alike then: pass positions=sr.Listed(16, mask="causal", rope=10000); scores are weak or sampled'
)
_AS_TOKENS = "pass positions=Tokens(16)"


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


@dataclass(frozen=True)
class GridGrams:
    """The Gram numbers of all arguments of a draw on a grid.

    Args:
        grid: of the positions.
        grams: an array for each argument.
        number: the value of an expression in parameters.
        off: how many of its bounds a rule that is not exact adds to what it gives; of averages over samples whether it
            takes others.
    """

    grid: Lattice
    grams: Sequence[Array]
    number: Callable[[sp.Expr], float]
    off: float = 0.0


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

    # ---- on a grid ---------------------------------------------------------------------------------------------

    def grid_behind(self, grid: Lattice) -> Lattice:
        """The positions that are left."""
        return grid

    def is_exact(self, of: GridGrams) -> bool:
        """Whether it is exact on this grid; else its error is estimated."""
        return True

    def grid_kernel(self, of: GridGrams) -> Array:
        """All covariances."""
        return self.averaged(of, of.grams[0])

    def grid_tangent(self, of: GridGrams, changes: Sequence[Array]) -> Array:
        """The covariances of changes of the outputs; those of a rule that is linear are its own of the changes."""
        return self.averaged(of, changes[0])

    def averaged(self, of: GridGrams, gram: Array) -> Array:
        """The averages of Gram numbers that a linear rule takes.

        Raises:
            UnsupportedLayer: the rule knows no grids.
        """
        found = "it has no rule for positions that are unlike one another"
        raise UnsupportedLayer(f"{self} on {of.grid}", found, "pass positions=Tokens(16)")

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

    def averaged(self, of: GridGrams, gram: Array) -> Array:
        """Those of the arguments."""
        return gram


@dataclass(frozen=True)
class Window(Across):
    """A convolution: the positions around each, circular but where a grid has edges.

    Args:
        size: the number of positions along each axis.
        stride: the distance of places that are kept.
        shares: of the variance of weights, of each position of the window; equal if there are none. Lists of lists are
            those of several axes; one list is that of each axis.
    """

    size: int
    stride: int = 1
    shares: sp.Tuple = _EQUAL

    def __str__(self) -> str:
        shares = f", shares={self.shares}" if self.shares else ""
        return f"Window(size={self.size}, stride={self.stride}{shares})"

    def weights(self, grid: Lattice) -> Array:
        """The shares, one for each position of the window; their sum is 1.

        Raises:
            DeclarationError: the window has another number of axes.
        """
        axes = len(grid.shape)
        shares = np.array(_numbers(self.shares) or [1.0] * self.size)
        weights = reduce(np.multiply.outer, [shares] * (axes if shares.ndim == 1 else 1))
        if weights.ndim != axes:
            found = f"its window has {shares.ndim} axes"
            raise DeclarationError(f"a convolution on {grid}", found, "pass shares of each axis, or of all")
        return np.asarray(weights / weights.sum())

    def grid_behind(self, grid: Lattice) -> Lattice:
        """Each of a stride."""
        return grid if self.stride == 1 else grid.strided(self.stride)

    def averaged(self, of: GridGrams, gram: Array) -> Array:
        """Those over the windows of both positions, moved alike."""
        return of.grid.window(gram, self.weights(of.grid), self.stride)

    def covariance(self, pair: Pair, grams: Grams) -> sp.Expr:
        """That of the arguments: pairs of positions at one distance are alike, whatever window they are seen in.

        Raises:
            UnsupportedLayer: fewer positions are left.
        """
        if self.stride != 1:
            raise UnsupportedLayer(
                "a convolution with a stride",
                "it leaves fewer positions, which formulas do not follow",
                "ask for kernels(depth, K) with positions=Torus(8, 8) or Listed(8, 8), or pass stride=1",
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

    def averaged(self, of: GridGrams, gram: Array) -> Array:
        """That of all pairs, for each."""
        return of.grid.pooled(gram)


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
            self._refuse()
        return grams.between[0][pair] if layout.is_one_position(pair) else sp.S.Zero

    def averaged(self, of: GridGrams, gram: Array) -> Array:
        """None: positions are few."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise UnsupportedLayer(
            "a layer that mixes tokens",
            "mixing makes tokens unlike one another, unless they are many and uncorrelated",
            "pass positions=Tokens(oo), centre the tokens and take an odd activation",
        )


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

    # ---- on a grid: softmax vectors that are certain, keys of which any two are alike, or any keys ---------------

    def is_exact(self, of: GridGrams) -> bool:
        """Whether scores do not fluctuate, or keys are exchangeable: else they are weak, or sampled."""
        grid, keys = self._listed(of), of.grams[0]
        if self._certain(of) is not None:
            return True
        if grid.rope or isinstance(grid.mask, tuple) or (grid.mask and len(keys) > _MOST_EXACT):
            return False
        alike = np.where(np.eye(len(keys), dtype=bool), keys[0, 0], keys[0, -1])
        return bool(np.abs(keys - alike).max() <= _UNLIKE * keys[0, 0])

    def grid_kernel(self, of: GridGrams) -> Array:
        """The averages of the keys' covariances."""
        if (weights := self._certain(of)) is not None:
            return np.asarray(weights @ of.grams[0] @ weights.T)
        if not self.is_exact(of):
            return self._estimated(of, ListedAttention.kernel)
        return self._overlaps(of)[0].averages(of.grams[0])[of.grid.table.spread]

    def grid_tangent(self, of: GridGrams, changes: Sequence[Array]) -> Array:
        """Those of changes, and what changes of queries and keys do to scores."""
        if (weights := self._certain(of)) is not None:
            return np.asarray(weights @ changes[0] @ weights.T)
        C_Q, C_K, C_bQ = map(of.number, (self.C_Q, self.C_K, self.C_bQ))
        if not self.is_exact(of):
            return self._estimated(of, lambda scores: scores.tangent(changes[0], C_K * C_Q * changes[-1]))
        (overlaps, spread), pick = self._overlaps(of), of.grid.table.pick
        queries = C_Q * of.grams[-1].ravel()[pick] + C_bQ
        moved = C_Q * changes[-1].ravel()[pick] * spread + queries * overlaps.excess(changes[0])
        scores = C_K * spread * moved * overlaps.values(order=1)
        return np.asarray((overlaps.averages(changes[0]) + scores)[of.grid.table.spread])

    def _certain(self, of: GridGrams) -> Array | None:
        """The softmax vectors of all queries, where they do not fluctuate."""
        grid = self._listed(of)
        seen = grid.visible
        C_Q, C_K, C_bQ = map(of.number, (self.C_Q, self.C_K, self.C_bQ))
        if self.is_tied:
            scores = np.where(seen > 0, C_Q * grid.turned * of.grams[0], -np.inf)
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        elif self.power == 1 or C_K == 0 or C_Q == C_bQ == 0:
            weights = seen
        else:
            return None
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def _queries(self, of: GridGrams) -> Array:
        """The covariances of queries, with the variance of the weights of keys."""
        C_Q, C_K, C_bQ = map(of.number, (self.C_Q, self.C_K, self.C_bQ))
        return C_K * (C_Q * of.grams[-1] + C_bQ)

    def scores(self, of: GridGrams) -> ListedAttention:
        """Those of any keys."""
        grid = self._listed(of)
        return ListedAttention(self._queries(of), of.grams[0], grid.visible, grid.frequencies, is_again=of.off > 0)

    def _estimated(self, of: GridGrams, average: Callable[[ListedAttention], Estimate]) -> Array:
        """An average over scores: if it is to be off, by its bound where they are weak, else of other samples."""
        scores = self.scores(of)
        values, errors = average(scores)
        return np.asarray(values + of.off * errors * scores.is_weak)

    def _overlaps(self, of: GridGrams) -> tuple[MaskedOverlaps, float]:
        """The overlaps of all pairs of queries, and how much more a key has with itself than with another."""
        keys, table = of.grams[0], of.grid.table
        spread = float(keys[0, 0] - keys[0, -1])
        scores: Array = self._queries(of) * spread
        variances, counts = scores.diagonal(), self._listed(of).visible.sum(axis=1).astype(np.intp)
        of_counts = counts[table.first], counts[table.second]
        of_scores = variances[table.first], variances[table.second]
        return MaskedOverlaps(of_counts, of_scores, scores.ravel()[table.pick]), spread

    def _listed(self, of: GridGrams) -> Listed:
        if isinstance(of.grid, Listed):
            return of.grid
        found = "keys at positions with neighbours are not exchangeable"
        raise UnsupportedLayer(f"attention on {of.grid}", found, f"{_AS_TOKENS} or Listed(16)")

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
        if isinstance(layout.positions, Lattice):
            found = "keys at positions with neighbours are not exchangeable"
            raise UnsupportedLayer(f"attention on {layout.positions}", found, f"{_AS_TOKENS} or Listed(16) for arrays")
        return between[layout.at_one_position(pair)], between[layout.at_two_positions(pair)]

    def _tied(self, T: sp.Expr, spread: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
        """The attention of a token to itself, and to each of the others."""
        less = sp.exp(-self.C_Q * spread)
        alone = 1 / (1 + (T - 1) * less)
        return alone, less * alone

    def _score(self, query: sp.Expr, spread: sp.Expr) -> sp.Expr:
        """The covariance of two scores."""
        return self.C_K * (self.C_Q * query + self.C_bQ) * spread


def _numbers(shares: sp.Basic) -> Any:
    """Nested numbers as lists of floats."""
    return list(map(_numbers, shares)) if isinstance(shares, sp.Tuple) else float(shares)


def _scaled(factor: sp.Expr, gram: Gram) -> Gram:
    return {pair: factor * value for pair, value in gram.items()}


HERE = Here()
