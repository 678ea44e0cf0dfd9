"""A deep network as rooms see it that print or generate: layers, each with the maps of its kernels.

The theory derives these maps; its classes of layers and networks are subclasses.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Protocol

import sympy as sp

from .quantity import Quantity


class DeclaredLayer(Protocol):
    """A layer as it was declared."""

    @property
    def name(self) -> str:
        """How it is called; "layer" if it has no name."""

    @property
    def forward(self) -> sp.Expr:
        """The equation of the next stream."""


class LayerMaps:
    """A layer with the maps of its kernels."""

    layer: DeclaredLayer

    @property
    @abstractmethod
    def kernel_map(self) -> Quantity:
        """The next kernel of one input."""

    @property
    @abstractmethod
    def covariance_map(self) -> Quantity:
        """The next covariance of two inputs."""

    @property
    @abstractmethod
    def ntk_map(self) -> Quantity:
        """The next tangent kernel of two inputs."""

    @property
    @abstractmethod
    def is_batch(self) -> bool:
        """Whether the maps depend on the kernel and the covariance of a batch of exchangeable inputs."""


class DeepNetwork:
    """Layers one after the other, the first nearest to the input; equal ones are the same."""

    layers: tuple[LayerMaps, ...]
