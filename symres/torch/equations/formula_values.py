"""What stream values of a model are in the words of layers: formulas of neurons; dense layers and their variances."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
import sympy as sp
import torch

from ...activations.activation import Activation
from ...core.symbols import z
from ..models.call_arguments import mean_square
from ..tracing.run_record import CONVOLUTIONS, MATRIX_PRODUCTS, TRANSPOSED, RecordedCall, StreamValue
from .position_uses import AttentionUse, WindowUse, is_padded

DENSE = frozenset({"linear", "addmm", *MATRIX_PRODUCTS, *CONVOLUTIONS})
_CERTAIN = 5.0  # standard errors from which on the mean of weights is not 0


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
        entering: the number of the stream value that is multiplied.
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
        role: "Q", "K", "V" or "O" of an attention layer; "W" for any other.
        window: of a convolution.
    """

    name: str
    C_W: sp.Symbol
    C_b: sp.Symbol
    made: WeightedCall
    part: tuple[int, ...] | None
    scale: float
    shift: float
    role: str = "W"
    window: WindowUse | None = None

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
        wrapped: how much of the other edges was joined to those of an image, as ``pad`` counts it, for a convolution.
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
    wrapped: tuple[int, ...] = ()

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
        attention: how each attention layer makes scores, in order.
        entry_axis: of neurons in what goes in; None where nothing says it.
    """

    expression: sp.Expr
    dense: tuple[DenseUse, ...]
    activations: tuple[Activation, ...]
    norms: tuple[str, ...]
    axis: int | None
    is_uneven: bool
    attention: tuple[AttentionUse, ...] = ()
    entry_axis: int | None = None


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


def weighted(call: RecordedCall) -> WeightedCall:
    """Which weights a dense layer or a convolution, transposed or in groups perhaps, multiplies what by.

    Raises:
        NotRead: both factors, or neither, depend on the input; or what is added is not a bias.
    """
    arguments = call.by_name
    if call.name in CONVOLUTIONS or call.name in TRANSPOSED:
        return _convolution(call, arguments["input"], arguments["weight"], arguments.get("bias"))
    if call.name == "linear":
        entering, tensor, bias, rows = arguments["input"], arguments["weight"], arguments.get("bias"), 0
    elif call.name == "addmm":
        if arguments.get("beta", 1) != 1 or arguments.get("alpha", 1) != 1:
            raise NotRead(call, "the operation addmm has factors alpha or beta other than 1")
        entering, tensor, bias, rows = arguments["mat1"], arguments["mat2"], arguments["input"], 1
    else:
        entering, tensor, bias, rows = arguments["input"], arguments.get("other", arguments.get("mat2")), None, 1
    if not isinstance(entering, StreamValue) or not isinstance(tensor, torch.Tensor) or tensor.ndim != 2:
        raise NotRead(call, "both factors of a matrix product depend on the input")
    if bias is not None and (not isinstance(bias, torch.Tensor) or bias.ndim != 1):
        raise NotRead(call, f"the operation {call.name} adds a tensor that is not a bias")
    return WeightedCall(call, entering.number, tensor, rows, bias, -1)


def _convolution(call: RecordedCall, entering: object, tensor: object, bias: torch.Tensor | None) -> WeightedCall:
    """The weights of a convolution; an input of a transposed one meets but a share of them."""
    if not isinstance(entering, StreamValue) or not isinstance(tensor, torch.Tensor):
        raise NotRead(call, "the kernel of a convolution depends on the input")
    axis, sizes = 1 - tensor.ndim, tensor.shape[2:]
    if call.name in TRANSPOSED:
        stride = call.by_name.get("stride", 1)
        strides = [stride] * len(sizes) if isinstance(stride, int) else stride
        spread = call.by_name.get("groups", 1) * math.prod(strides)
        return WeightedCall(call, entering.number, tensor, 1, bias, axis, spread=spread)
    size = "x".join(map(str, sizes))
    remark = "" if set(sizes) == {1} else f"convolution {size}: fan_in counts channels times {size}"
    if is_padded(call):
        remark += ", which is exact away from the padding"
    return WeightedCall(call, entering.number, tensor, 0, bias, axis, remark)


def is_grouped(call: RecordedCall) -> bool:
    """Whether it is a convolution whose output channels see only some of the input channels."""
    return call.name in CONVOLUTIONS and call.by_name.get("groups", 1) != 1


def share_inside(call: RecordedCall, entering: torch.Tensor) -> float:
    """Which share of the mean square that a convolution would see without zeros beyond the border it does see."""
    if not is_padded(call):
        return 1.0
    ones = torch.ones_like(call.by_name["weight"])
    seen = call.function(**(call.by_name | {"input": entering.detach().square(), "weight": ones, "bias": None}))
    return float(seen.mean() / ones[0].numel()) / mean_square(entering)


def variances(use: DenseUse) -> tuple[float, float]:
    """C_W and C_b of a draw, from the weights of the model.

    Returns:
        ``fan_in*<w^2>`` and ``<b^2>``: second moments, which are variances for the draws of mean 0 that the theory
        has. Factors and summands of a normaliser before it, which differ between neurons, are part of both.
    """
    raw = use.made.fan_in * mean_square(use.weight)
    added = 0.0 if use.bias is None else mean_square(use.bias)
    return raw * use.scale, added + raw * use.shift


def remarks(use: DenseUse) -> list[str]:
    """What about these weights the theory's draws do not have."""
    found = [use.made.remark] if use.made.remark else []
    for kind, tensor in (("weights", use.weight), ("biases", use.bias)):
        if tensor is None or tensor.numel() < 2:
            continue
        numbers = tensor.detach().double()
        mean, error = float(numbers.mean()), float(numbers.std()) / np.sqrt(numbers.numel())
        if abs(mean) > _CERTAIN * error and mean != 0:
            found.append(f"the mean of its {kind} is not 0, which the theory assumes")
    if use.scale != 1 or use.shift != 0:
        found.append("C_W and C_b contain the weights of the norm before it, which differ between neurons")
    return found


def fresh_weights(uses: Iterable[DenseUse], generator: torch.Generator) -> dict[int, torch.Tensor]:
    """Gaussian draws with the second moments of the model's weights, by the identity of the model's tensors."""
    drawn_by_tensor: dict[int, torch.Tensor] = {}
    for use in uses:
        drawn = [(use.made.tensor, use.made.rows, use.weight)]
        if use.made.bias is not None and use.bias is not None:
            drawn.append((use.made.bias, 0, use.bias))
        for tensor, rows, old in drawn:
            draws = torch.randn(old.shape, generator=generator, dtype=torch.float64).mul_(mean_square(old) ** 0.5)
            if use.part is None:
                drawn_by_tensor[id(tensor)] = draws
            else:
                whole = drawn_by_tensor.setdefault(id(tensor), tensor.detach().cpu().double().clone())
                whole.index_copy_(rows, use.made.indices(use.part).cpu(), draws)
    return drawn_by_tensor
