"""What is known of an observable before any layer is declared: names, meaning, unit, arguments, how it is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

import sympy as sp

from .measurement import LayerMeasurement, NetworkMeasurement, OracleValue, Sampler
from .numbers.procedure import Procedure


class Section(Enum):
    """Where a page and a document show an observable."""

    MAPS = "maps"  # on every page, and in modules of a theory
    FINITE_WIDTH = "finite width"  # with the fluctuations, where a kernel is critical
    REQUEST = "on request"  # where somebody asks for it by name


class Divergence(Enum):
    """Where an observable is infinite for activations that jump."""

    NEVER = "never"
    ALWAYS = "always"
    EQUAL_INPUTS = "for equal inputs"


@dataclass(frozen=True)
class Observable:
    """One record: all that pages, documents, code, checks and commands know of an observable.

    Args:
        name: of the attribute of a theory, of the generated function, of the command line's ``--quantity``.
        sign: how a page writes it: in mathematical characters, and in ASCII.
        notation: its left-hand side in LaTeX.
        meaning: one line.
        unit: in which it is measured, in powers of the kernel of the preactivations; "1" for a number.
        source: document and equation that it generalises.
        arguments: kernels that it depends on, beside the parameters of the layer.
        section: where it is shown.
        oracle: the measurement of its value from the forward equation alone, at numbers for the arguments in their
            order; None where no integral over one layer gives it.
        simulated: the measurement after each layer of deep networks, at the kernel of the input and those that follow
            at infinite width; None where nothing of finite width is claimed.
        divergence: where it is infinite.
        costly: whether its oracle takes so long that it is asked at fewer points.
        by_default: whether a check that names no observables compares it.
    """

    name: str
    sign: tuple[str, str]
    notation: str
    meaning: str
    unit: str = "1"
    source: str = ""
    arguments: tuple[sp.Symbol, ...] = ()
    section: Section = Section.REQUEST
    oracle: Callable[..., OracleValue] | None = None
    simulated: Callable[[NetworkMeasurement, float, Sequence[float]], Sampler] | None = None
    divergence: Divergence = Divergence.NEVER
    costly: bool = False
    by_default: bool = True

    def measured(self, layer: LayerMeasurement, *place: float) -> OracleValue:
        """What the oracle finds at a place.

        Raises:
            TypeError: there is no oracle.
        """
        assert self.oracle is not None
        return self.oracle(layer, *place)

    @property
    def is_measured(self) -> bool:
        """Whether anything that shares no code with the derivation measures it."""
        return self.oracle is not None or self.simulated is not None


class FiniteWidthClaims(Protocol):
    """What a theory claims of deep networks; see ``symres.theory.Theory``."""

    def vertex(self, /, depth: Any, K: Any, **params: Any) -> Any:
        """``[V^0, ..., V^depth]``."""

    def kernel_fluctuation(self, /, depth: Any, K: Any, **params: Any) -> Any:
        """``[P^0, ..., P^depth]``."""

    def response(self, /, depth: Any, K: Any, readout: Any = None, **params: Any) -> Any:
        """eta, chi and chi_out."""

    @property
    def vertex_recursion(self) -> Procedure:
        """V and P in functions of one layer."""

    def response_recursion(self, readout: Any = None) -> Procedure:
        """The response in functions of one layer."""

    def branch_scale_procedure(self, readout: Any = None, scale: str = "xi") -> Procedure:
        """The branch scale of the largest response."""

    @property
    def optimal_gamma_procedure(self) -> Procedure:
        """The skip weights at which a depth/width is optimal."""


@dataclass(frozen=True)
class DepthObservable(Observable):
    """An observable of deep networks.

    Args:
        values: what a theory claims before the first layer and after each, at a depth, a kernel of the input, and
            parameters by name; None of what is one number for a network.
        procedure: how it is computed from functions of one layer, for generated code.
    """

    values: Callable[[FiniteWidthClaims, int, sp.Expr, Mapping[str, sp.Expr]], Sequence[float]] | None = None
    procedure: Callable[[FiniteWidthClaims], Procedure] | None = None

    def claims(
        self, theory: FiniteWidthClaims, depth: int, K: sp.Expr, params: Mapping[str, sp.Expr]
    ) -> Sequence[float]:
        """The numbers for 0 to ``depth`` layers."""
        assert self.values is not None
        return self.values(theory, depth, K, params)
