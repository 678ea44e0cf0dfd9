"""Base classes of theories, for rooms that must not import the room that derives them.

Rooms that check, translate or print a theory ask ``isinstance`` of these classes, never for the names of attributes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import sympy as sp

from .critical_point import CriticalPoint
from .observable import DepthObservable, Observable
from .quantity import Quantity


@runtime_checkable
class Declaration(Protocol):
    """A declared layer."""

    @property
    def name(self) -> str:
        """Its name; the forward equation if it has no other."""

    @property
    def forward(self) -> sp.Expr:
        """The forward equation: the next stream as an expression in ``z``."""

    @property
    def formulas(self) -> tuple[Any, ...]:
        """The formulas of its activations, each with a ``name``."""


class DerivedLayer:
    """The theory of one layer: its declaration, and the quantities that were derived from it."""

    layer: Declaration

    @property
    @abstractmethod
    def quantities(self) -> Mapping[str, Quantity]:
        """The quantities by name, in the order of the derivation."""

    @property
    @abstractmethod
    def observables(self) -> Mapping[str, Observable]:
        """What is known of each quantity before it is derived, by name."""

    @property
    def all_quantities(self) -> Mapping[str, Quantity]:
        """``quantities``, and those that are derived only where they are looked up."""
        return self.quantities

    @property
    def has_covariance(self) -> bool:
        """Whether the maps depend on the kernel and the covariance of a batch of exchangeable inputs."""
        return False

    @property
    def has_positions(self) -> bool:
        """Whether inputs have positions."""
        return False

    @property
    def sequence_length(self) -> sp.Expr:
        """The number of positions of an input, maybe a symbol or infinite; 1 where it has none."""
        return sp.S.One

    @property
    def is_exchangeable(self) -> bool:
        """Whether any two positions are alike, as far as an input has any."""
        return True

    @property
    def is_uncorrelated(self) -> bool:
        """Whether it holds for positions without covariance alone."""
        return False

    @property
    def depth_observables(self) -> Mapping[str, DepthObservable]:
        """What is claimed of deep networks of finite width, by name; nothing unless the theory makes such claims."""
        return {}


class DerivedDepth(DerivedLayer):
    """The theory of one layer that also makes claims about deep networks of such layers."""

    @property
    @abstractmethod
    def critical_points(self) -> tuple[CriticalPoint, ...]:
        """Where it is critical."""

    @abstractmethod
    def jacobian(self, /, l0: Any, l: Any, K: Any, **params: Any) -> Any:  # noqa: E741 (the name in the literature)
        """The averaged partial Jacobian norm ``J^{l0,l}`` for K^0 = K (Doshi et al. (3))."""

    @abstractmethod
    def correlation_length(self, /, K: Any = None, **params: Any) -> float:
        """The depth over which squared Jacobians grow or fall by a factor e, from kernel K on (Doshi et al. (17))."""

    @abstractmethod
    def vertex(self, /, depth: Any, K: Any, **params: Any) -> Any:
        """``[V^0, ..., V^depth]``: the four-point vertex after each layer."""


class DerivedNetwork:
    """The theory of a network: those of its layers, the first nearest to the input; equal ones are the same."""

    layers: tuple[DerivedLayer, ...]

    @property
    @abstractmethod
    def has_tangent_kernel(self) -> bool:
        """Whether the tangent kernel of an input with itself is finite."""
