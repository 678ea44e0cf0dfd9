"""Layouts: the places where a network has neurons, and which pairs of them are alike.

A label is a place: an input, and a position in it (a token, a pixel). A layout lists the classes of pairs of labels
that are alike by symmetry; the state of a network has one covariance for each class. Positions are exchangeable, and so
are the inputs of a batch: a pair has the covariance of one place with itself, or that of any two. Where positions have
neighbours (``grids``) formulas know one pair of two, whichever it is.

    layout                       classes
    one input                    K
    two inputs                   K1, C, K2
    a batch                      K, and C of two inputs
    tokens                       K, and C of two tokens
    two sequences of tokens      K1, K2, C at one position; P1, P2, E at two positions
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple, TypeAlias

import sympy as sp

from ..core import symbols

MEAN = 0  # the number that stands for the average over all members of an axis; members are counted from 1


class Label(NamedTuple):
    """A place where a neuron has a value, or the tangent of it: its infinitesimal change.

    Args:
        input: its number, from 1 on; MEAN is the average over a batch.
        position: its number, from 1 on; MEAN is the average over all positions.
        is_tangent: whether the change is meant.
    """

    input: int
    position: int = 1
    is_tangent: bool = False

    @property
    def tangent(self) -> Label:
        """The change of the neuron there."""
        return self._replace(is_tangent=True)

    @property
    def stream(self) -> Label:
        """The neuron whose change it is."""
        return self._replace(is_tangent=False)


Pair: TypeAlias = tuple[Label, Label]
Mixture: TypeAlias = tuple[tuple[Pair, sp.Expr], ...]  # classes of pairs with their shares


class Axis(ABC):
    """Inputs, or positions: which pairs of members are alike.

    Attributes:
        pairs: one of each class.
        size: the number of members.
        is_uniform: whether classes are a member with itself, and with another.
    """

    pairs: Sequence[tuple[int, int]]
    size: sp.Expr
    is_uniform: ClassVar[bool] = True

    @abstractmethod
    def shares(self, a: int, b: int) -> list[tuple[tuple[int, int], sp.Expr]]:
        """The classes to which two members, or averages over all, belong, with their shares."""

    @abstractmethod
    def like(self, a: int) -> int:
        """The member that stands for one, or for the average."""


@dataclass(frozen=True)
class Single(Axis):
    """So many members, none like another."""

    count: int

    is_uniform = False

    @property
    def size(self) -> sp.Expr:
        """The number of members."""
        return sp.Integer(self.count)

    @property
    def pairs(self) -> list[tuple[int, int]]:  # type: ignore[override]
        """All, in order."""
        return [(a, b) for a in range(1, self.count + 1) for b in range(a, self.count + 1)]

    def shares(self, a: int, b: int) -> list[tuple[tuple[int, int], sp.Expr]]:
        """The pair itself."""
        return [((min(a, b), max(a, b)), sp.S.One)]

    def like(self, a: int) -> int:
        """Itself."""
        return a


@dataclass(frozen=True)
class Exchangeable(Axis):
    """Members of which any two are alike.

    Args:
        size: their number.
    """

    size: sp.Expr

    pairs = ((1, 1), (1, 2))

    def shares(self, a: int, b: int) -> list[tuple[tuple[int, int], sp.Expr]]:
        """A member with itself, or with another; of an average 1/size of the former."""
        if MEAN in (a, b):
            alone = 1 / self.size
            return [(pair, share) for pair, share in (((1, 1), alone), ((1, 2), 1 - alone)) if share != 0]
        return [((1, 1) if a == b else (1, 2), sp.S.One)]

    def like(self, a: int) -> int:
        """Any."""
        return 1


ONE, TWO = Single(1), Single(2)


@dataclass(frozen=True)
class Layout:
    """The classes of pairs of labels.

    Args:
        inputs: of the network.
        positions: in each input.
    """

    inputs: Axis = ONE
    positions: Axis = ONE

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """One pair of each class, of one position before those of two."""
        return tuple((Label(a, p), Label(b, q)) for a, b in self.inputs.pairs for p, q in self.positions.pairs)

    @property
    def has_pairs(self) -> bool:
        """Whether one input has a covariance too: of two inputs of a batch, or of two positions."""
        return any(axis.is_uniform for axis in (self.inputs, self.positions))

    @property
    def members(self) -> sp.Expr:
        """The number of places of which any two have one covariance; infinite where there are none."""
        return self.positions.size if isinstance(self.positions, Exchangeable) else sp.oo

    @cached_property
    def two(self) -> Pair:
        """Two different inputs at one position, or two positions of one."""
        return next((a, b) for a, b in self.pairs if a != b)

    @cached_property
    def kernel(self) -> dict[Pair, sp.Symbol]:
        """The symbol of each class in the state of a network.

        Raises:
            KeyError: more than two inputs have no symbols of their own.
        """
        return {pair: _SYMBOLS[self._kind(pair)] for pair in self.pairs}

    def _kind(self, pair: Pair) -> tuple[int, int, bool]:
        (a, p), (b, q) = ((label.input, label.position) for label in pair)
        return (a, b, p == q) if self.inputs == TWO else (0, 0, (a, p) == (b, q))

    def shares(self, one: Label, other: Label) -> Mixture:
        """The classes to which the pair of two labels belongs, with their shares; several where one is an average."""
        inputs = self.inputs.shares(one.input, other.input)
        positions = self.positions.shares(one.position, other.position)
        return tuple(
            ((Label(a, p), Label(b, q)), share * part) for (a, b), share in inputs for (p, q), part in positions
        )

    def alike(self, label: Label) -> Label:
        """The label that stands for this one: statistics have one value for both."""
        return Label(self.inputs.like(label.input), self.positions.like(label.position), label.is_tangent)

    def is_one_position(self, pair: Pair) -> bool:
        """Whether both labels are at one position."""
        return pair == self.at_one_position(pair)

    def at_one_position(self, pair: Pair) -> Pair:
        """The class of these inputs at one position."""
        return self._at(pair, 1)

    def at_two_positions(self, pair: Pair) -> Pair:
        """The class of these inputs at two positions."""
        return self._at(pair, 2)

    def _at(self, pair: Pair, position: int) -> Pair:
        ((alike, _),) = self.shares(Label(pair[0].input, 1), Label(pair[1].input, position))
        return alike

    def index(self, *labels: Label) -> str:
        """What distinguishes the names of what belongs to these labels: empty if there is one."""
        return "".join(map(self._place, labels))

    def _place(self, label: Label) -> str:
        if self.positions == ONE:
            return "" if self.inputs == ONE else str(label.input)
        return str(label.position) if self.inputs == ONE else f"{label.input}{'ab'[label.position - 1]}"


_SYMBOLS = {
    (0, 0, True): symbols.K,
    (0, 0, False): symbols.C,
    (1, 1, True): symbols.K1,
    (2, 2, True): symbols.K2,
    (1, 2, True): symbols.C,
    (1, 1, False): symbols.P1,
    (2, 2, False): symbols.P2,
    (1, 2, False): symbols.E,
}
TWO_INPUTS = Layout(TWO)
BATCH = Layout(Exchangeable(sp.oo))  # any two inputs of a large batch
