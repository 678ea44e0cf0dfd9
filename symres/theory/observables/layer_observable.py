"""Observables of a layer as records that say how they are derived."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import sympy as sp

from ...core import symbols
from ...core.errors import NoClosedForm, UnsupportedLayer
from ...layers.layer import Layer
from ...layers.layouts import ONE
from ...results.observable import Observable
from ...results.quantity import Quantity, Status
from ...results.subjects import DerivedDepth
from ..quantities.build import RecordWords, build, unknown
from ..walk.walk import Walk
from .layer_walks import LayerWalks


class Subject(DerivedDepth, ABC):
    """What an observable is derived from: a layer, and what is derived already."""

    layer: Layer

    @property
    @abstractmethod
    def walks(self) -> LayerWalks:
        """The laws of the layer's neurons."""

    @abstractmethod
    def quantity(self, name: str) -> Quantity:
        """Another observable of the same layer."""


@dataclass(frozen=True)
class LayerObservable(Observable):
    """An observable that a layer has by itself.

    Args:
        is_plain: whether it is known for inputs without positions only.
        of_positions: what it means where inputs have positions; empty where that is the same.
    """

    is_plain: bool = False
    of_positions: str = ""

    @abstractmethod
    def of(self, subject: Subject) -> Quantity:
        """Derive it, and verify it; unknown, with the reason, where it has no definition in averages that exist."""

    def applies_to(self, subject: Subject) -> bool:
        """Whether it has a meaning for a layer."""
        return not self.is_plain or subject.walks.positions == ONE

    @property
    def words(self) -> RecordWords:
        """What a quantity says of itself."""
        return RecordWords(notation=self.notation, meaning=self.meaning, unit=self.unit, source=self.source)

    def _built(self, subject: Subject, walk: Walk, define: Callable[[LayerWalks], sp.Expr]) -> Quantity:
        if not self.applies_to(subject) and self.is_plain:
            return unknown(self.name, self.arguments, "it is known for inputs without positions", **self.words)
        more = tuple(s for s in self.arguments if s in (symbols.Theta, symbols.Theta_E, symbols.t, symbols.s))
        arguments = (*walk.arguments, *more)
        try:
            defined = define(subject.walks)
        except NoClosedForm as error:
            return unknown(self.name, arguments, error.found, **self.words)
        parameters = subject.layer.parameters
        words = self.words
        if self.of_positions and walk.layout.positions != ONE:
            words["meaning"] = self.of_positions
        quantity = build(self.name, arguments, defined, walk.assignments, parameters=parameters, **words)
        absent: tuple[sp.Symbol, ...] = ()
        if subject.is_uncorrelated:
            layout = walk.layout
            absent = (symbols.s, *(s for pair, s in layout.kernel.items() if not layout.is_one_position(pair)))
        return replace(quantity, members=walk.layout.members, absent=absent)


@dataclass(frozen=True)
class OfOneInput(LayerObservable):
    """A function of the kernel of one input.

    Args:
        define: the definition in Gaussian averages.
    """

    arguments: tuple[sp.Symbol, ...] = (symbols.K,)
    define: Callable[[LayerWalks], sp.Expr] = lambda walks: sp.nan

    def of(self, subject: Subject) -> Quantity:
        """The quantity."""
        return self._built(subject, subject.walks.one, self.define)


@dataclass(frozen=True)
class OfTwoInputs(LayerObservable):
    """A function of the kernels of two inputs and of their covariance.

    Args:
        define: the definition in Gaussian averages.
    """

    arguments: tuple[sp.Symbol, ...] = (symbols.K1, symbols.K2, symbols.C)
    define: Callable[[LayerWalks], sp.Expr] = lambda walks: sp.nan

    def of(self, subject: Subject) -> Quantity:
        """The quantity; unknown, with the reason, where only the law of one input can be told."""
        walks = subject.walks
        one = walks.one  # whose errors are those of the layer
        try:
            two = walks.two
        except UnsupportedLayer as error:
            return unknown(self.name, self.arguments, error.found, **self.words)
        quantity = self._built(subject, two, self.define)
        return replace(quantity, directed=True) if walks.is_directed and two is not one else quantity


@dataclass(frozen=True)
class AtCriticality(LayerObservable):
    """A function of the skip connection, where a kernel is critical.

    Args:
        derive: the quantity.
    """

    derive: Callable[[Subject], Quantity] | None = None

    def of(self, subject: Subject) -> Quantity:
        """The quantity, with its own meaning where it is more special than that of the record."""
        assert self.derive is not None
        quantity = self.derive(subject)
        words = self.words
        words["meaning"] = quantity.meaning or self.meaning
        if quantity.status is Status.UNKNOWN and symbols.gamma not in subject.layer.parameters:
            arguments = tuple(s for s in quantity.symbols if s is not symbols.gamma)
            quantity = replace(quantity, symbols=arguments, unused=(*quantity.unused, symbols.gamma))
        return replace(quantity, **words)
