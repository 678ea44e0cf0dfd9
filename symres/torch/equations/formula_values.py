"""What stream values of a model are in the words of layers: formulas of neurons that a layer knows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import sympy as sp
import torch

from ...activations.activation import Activation
from ...core.symbols import z
from ..tracing.run_record import RecordedCall


class NotRead(Exception):
    """A call that is no part of a layer.

    Args:
        call: the call, None for the value at the end.
        reason: why, on one line.
    """

    def __init__(self, call: RecordedCall | None, reason: str) -> None:
        super().__init__(reason)
        self.call = call
        self.reason = reason


def factored(term: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """The number before a term, sqrt(2)/2 for instance, and what it multiplies."""
    return term.as_independent(sp.Symbol, as_Add=False)


@dataclass(frozen=True, eq=False)
class WeightedCall:
    """A call that multiplies by weights.

    Args:
        call: the call.
        entering: the number of the stream value that is multiplied; -1 where that is not known.
        tensor: the model's tensor of weights.
        rows: which axis of it counts the neurons that come out, 0 or 1.
        bias: shape (fan_out,), or None.
        axis: of neurons in what goes in and comes out.
        remark: what a reader should know; empty if nothing.
        spread: among how many groups of outputs the entries that an input meets are divided: the groups of a transposed
            convolution times the product of its strides; 1 for any other call.
    """

    call: RecordedCall
    entering: int
    tensor: torch.Tensor
    rows: int
    bias: torch.Tensor | None
    axis: int
    remark: str = ""
    spread: int = 1

    @property
    def fan_out(self) -> int:
        """Number of neurons that come out."""
        return int(self.tensor.shape[self.rows])

    @property
    def fan_in(self) -> int:
        """Number of neurons, times positions, that go into one; the mean over its outputs where that differs."""
        return max(1, round(self.tensor.numel() / (self.fan_out * self.spread)))

    def indices(self, part: tuple[int, ...] | None) -> torch.Tensor:
        """The neurons of a part as a tensor, None being all."""
        device = self.tensor.device
        return torch.arange(self.fan_out, device=device) if part is None else torch.tensor(part, device=device)

    def weights(self, part: tuple[int, ...] | None) -> torch.Tensor:
        """The weights of the neurons of a part, None being all."""
        tensor = self.tensor.detach()
        return tensor if part is None else tensor.index_select(self.rows, self.indices(part))


@dataclass(frozen=True, eq=False)
class DenseUse:
    """One draw of weights in a model.

    Args:
        name: the qualified name of the module.
        C_W: the symbol for fan_in*Var(weight).
        C_b: the symbol for Var(bias).
        made: the call.
        part: which of the neurons that come out; None for all.
        scale: mean square of factors, one for each neuron, with which a normaliser before it multiplies.
        shift: mean square of what that adds.
    """

    name: str
    C_W: sp.Symbol
    C_b: sp.Symbol
    made: WeightedCall
    part: tuple[int, ...] | None
    scale: float
    shift: float

    @property
    def fan_out(self) -> int:
        """Number of neurons that come out."""
        return self.made.fan_out if self.part is None else len(self.part)

    @property
    def weight(self) -> torch.Tensor:
        """The weights of these neurons."""
        return self.made.weights(self.part)

    @property
    def bias(self) -> torch.Tensor | None:
        """The biases of these neurons."""
        tensor = self.made.bias
        return tensor if tensor is None or self.part is None else tensor.detach()[self.made.indices(self.part)]


@dataclass(frozen=True)
class Uneven:
    """Factors and summands of a normaliser that differ between neurons: a Dense behind it needs their mean squares.

    Args:
        scale: mean square of the factors.
        shift: mean square of the summands.
    """

    scale: float = 1.0
    shift: float = 0.0


@dataclass(frozen=True, eq=False)
class FormulaValue:
    """A stream value: a formula of the neurons of one base.

    Args:
        base: an expression in ``sr.z`` and nodes.
        start: the number of the stream value that the base is.
        formula: in ``sr.z``, which stands for a neuron of the base, and in averages over its neurons.
        calls: numbers of the calls between the base and this value.
        axis: the axis of neurons, negative; None while it is not known.
        part: of the neurons of the stream value ``start``, first and last of a regular slice; None for all.
        dense: how the base was drawn, if it leaves a dense layer.
        uneven: factors of a normaliser that differ between neurons.
        order: where each position was in the entry, flat; None where they are in the same order.
    """

    base: sp.Expr
    start: int
    formula: sp.Expr = z
    calls: frozenset[int] = field(default_factory=frozenset)
    axis: int | None = None
    part: tuple[int, ...] | None = None
    dense: DenseUse | None = None
    uneven: Uneven | None = None
    order: tuple[int, ...] | None = None

    def has_base_of(self, other: FormulaValue) -> bool:
        """Whether both are formulas of the same neurons at the same positions."""
        same = self.start == other.start and self.part == other.part and self.base == other.base
        return same and self.order == other.order

    def after(self, call: RecordedCall, formula: sp.Expr | None = None, axis: int | None = None) -> FormulaValue:
        """The value behind one more call."""
        return replace(
            self,
            calls=self.calls | {call.number},
            formula=self.formula if formula is None else formula,
            axis=self.axis if axis is None else axis,
        )


@dataclass(frozen=True)
class Interpretation:
    """What calls compute.

    Args:
        expression: of the last one, in ``sr.z`` and nodes.
        dense: the draws in it, in order.
        activations: in order, each once.
        norms: the names of modules that normalise.
        axis: of neurons in the last value, negative; None where nothing says it.
        is_uneven: whether the last value is a norm whose weights differ between neurons.
    """

    expression: sp.Expr
    dense: tuple[DenseUse, ...]
    activations: tuple[Activation, ...]
    norms: tuple[str, ...]
    axis: int | None
    is_uneven: bool


@dataclass(frozen=True)
class OpaquePart:
    """Calls that are taken as they come.

    Args:
        place: the qualified name of the module in which they are; empty for the model itself.
        kind: the class of that module, or the operation if the model itself calls it.
        code: file and line of the class; empty where there is none, and for classes of PyTorch.
        reason: why they cannot be read.
        calls: their numbers.
    """

    place: str
    kind: str
    code: str
    reason: str
    calls: frozenset[int]
