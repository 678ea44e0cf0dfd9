"""What is known of an observable before any layer is declared: names, meaning, unit, arguments, how it is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import sympy as sp

from .measurement import OracleValue, Sampler
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
        oracle: the measurement of its value from the forward equation alone (by a ``QuadratureOracle`` of the check
            room), at numbers for the arguments in their order; None where no integral over one layer gives it.
        simulated: the measurement after each layer of deep networks (by a ``Simulation`` of that room), at the kernel
            of the input and those that follow at infinite width; None where nothing of finite width is claimed.
        divergence: where it is infinite.
        costly: whether its oracle takes so long that it is asked at fewer points.
        by_default: whether a check that names no observables compares it.
        example: lines of a doctest for the reference, its oracle a formula that one derives by hand.
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
    simulated: Callable[[Any, float, Sequence[float]], Sampler] | None = None
    divergence: Divergence = Divergence.NEVER
    costly: bool = False
    by_default: bool = True
    example: str = ""

    def measured(self, layer: Any, *place: float) -> OracleValue:
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


@dataclass(frozen=True)
class DepthObservable(Observable):
    """An observable of deep networks.

    Args:
        values: what a theory (``symres.theory.Theory``) claims before the first layer and after each, at a depth, a
            kernel of the input, and parameters by name; None of what is one number for a network.
        procedure: how it is computed from functions of one layer, for generated code.
    """

    values: Callable[[Any, int, sp.Expr, Mapping[str, sp.Expr]], Sequence[float]] | None = None
    procedure: Callable[[Any], Procedure] | None = None

    def claims(self, theory: Any, depth: int, K: sp.Expr, params: Mapping[str, sp.Expr]) -> Sequence[float]:
        """The numbers for 0 to ``depth`` layers."""
        assert self.values is not None
        return self.values(theory, depth, K, params)
