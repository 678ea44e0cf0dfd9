"""What is known of an observable before any layer is declared: names, meaning, unit, arguments, how it is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

import sympy as sp

from ..core.display import Fact, Shown
from ..core.symbols import C_W, C_b, gamma, xi
from ..numerics.deferred_numpy import np
from .quantity import Quantity

# (observables, controls) of networks of some width, one row a network: controls have mean 0 at every width and share
# the observables' noise
Sample: TypeAlias = "tuple[np.ndarray, np.ndarray]"
Sampler: TypeAlias = "Callable[[int, int, np.random.Generator], Sample]"  # width, number of networks
SampleArguments = Mapping[str, Any]  # by name
_USUAL = {C_W: "1.25", C_b: "0.05", gamma: "0.7", xi: "0.6"}
_OTHER = "0.75"


@dataclass(frozen=True)
class OracleValue:
    """The oracle's number."""

    value: float  # the number; infinite if the defining limit diverges, or where the oracle failed
    error: float  # estimate of its absolute error
    scale: float  # the natural size of the quantity, against which a small value is judged
    remark: str = ""  # what the reader should know
    diverges: bool = False  # whether an infinite value is what the oracle has seen, not the end of the range of doubles


@dataclass(frozen=True, eq=False, repr=False)
class Procedure(Shown):
    """What is computed from functions of one layer: a recursion over the layers of a network, or a search.

    Its name says how; targets have a template of that name.

    Args:
        name: "vertex", "response", "branch_scale" or "optimal_gamma".
        meaning: one line that says what is computed.
        call: the Python expression that makes it from a theory, "theory.vertex_recursion".
        functions: the quantities, with the names that the procedure has for them. Those that vanish are left out.
        parameters: that the procedure takes, those of functions.
        unknowns: parameters of functions whose values the procedure finds itself.
        source: document and equation.
        constants: numbers that the procedure needs, by name.
        exact: by the name of a generated function, the same from the theory: to measure errors.
        samples: the arguments for which they are measured.
    """

    name: str
    meaning: str
    call: str
    functions: tuple[Quantity, ...]
    parameters: tuple[sp.Symbol, ...]
    unknowns: tuple[sp.Symbol, ...] = ()
    source: str = ""
    constants: Mapping[str, Any] = field(default_factory=dict)
    exact: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    samples: tuple[SampleArguments, ...] = ()

    def __repr__(self) -> str:
        return f"<{self.name}: {self.meaning}; made of {', '.join(q.name for q in self.functions)}>"

    def _title(self) -> str:
        return self.meaning

    def _facts(self) -> Iterable[Fact]:
        """The functions that it is made of."""
        return [fact for quantity in self.functions for fact in quantity._facts()[:1]]


def present(*functions: Quantity) -> tuple[Quantity, ...]:
    """The functions that do not vanish."""
    return tuple(quantity for quantity in functions if quantity.body != 0)


def usual(parameters: Iterable[sp.Symbol]) -> SampleArguments:
    """Numbers of parameters at which errors are measured: of a network neither large nor critical."""
    return {s.name: _USUAL.get(s, _OTHER) for s in parameters}


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
        moves_inputs: whether that oracle compares neighbouring inputs, and has no rule for those with positions.
        divergence: where it is infinite.
        costly: whether its oracle takes so long that it is asked at fewer points.
        of_networks: whether simulated networks show it, beside what belongs to other observables.
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
    moves_inputs: bool = False
    divergence: Divergence = Divergence.NEVER
    costly: bool = False
    of_networks: bool = False
    by_default: bool = True
    example: str = ""

    def has_oracle(self, has_positions: bool) -> bool:
        """Whether it is measured by quadrature, of inputs with positions or without."""
        return self.oracle is not None and not (self.moves_inputs and has_positions)

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
        return self.oracle is not None or self.is_of_networks

    @property
    def is_of_networks(self) -> bool:
        """Whether simulated networks show it where no integral does."""
        return self.simulated is not None or self.of_networks


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
