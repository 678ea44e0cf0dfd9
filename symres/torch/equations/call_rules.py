"""What single calls make of formulas of neurons: axes moved about, operations entry by entry, normalisation.

Which axis counts neurons, and which neurons a slice has, is found by moving their indices about. Norms are PyTorch's
functions, or means and roots written out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import sympy as sp
import torch
from torch.utils._pytree import tree_map

from ...core.errors import SymresError
from ...core.scalars import number
from ...core.symbols import z
from ...layers.normalisation import BatchNorm, LayerNorm, Normaliser, RMSNorm
from ..activations.symbolic_tensor import Recording, SymbolicTensor
from ..models.call_arguments import mean_square
from ..tracing.run_record import RecordedCall, StreamValue, made_again
from .formula_values import DENSE, FormulaValue, NotRead, Uneven

VIEWS = frozenset(
    {"view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "transpose", "permute", "swapaxes", "swapdims"}
    | {"movedim", "moveaxis", "T", "mT", "t", "view_as", "reshape_as", "contiguous"}
)
SLICES = frozenset({"chunk", "split", "split_with_sizes", "getitem", "narrow", "tensor_split", "unsafe_chunk"})
NORMS = frozenset({"layer_norm", "rms_norm", "batch_norm", "group_norm"})
COPIES = frozenset({"to", "clone", "float", "double", "half", "bfloat16", "type"})
AVERAGES = frozenset({"mean", "var"})
ADAPTIVE_POOLS = {f"adaptive_avg_pool{n}d": n for n in (1, 2, 3)}  # with their dimensions
_MAXIMUM = "the maximum of activations is not Gaussian, and needs as many variables as the window has pixels"
_SOME = "an average over some of the positions of an input"
_KINDS_OF_POOLS = ("max_pool{}d", _MAXIMUM), ("max_pool{}d_with_indices", _MAXIMUM), ("avg_pool{}d", _SOME)
_POOLS = {name.format(n): said for name, said in _KINDS_OF_POOLS for n in (1, 2, 3)}
_WORDS = {
    "embedding": "an embedding: integers choose vectors from a table",
    "add": "a constant that differs between neurons or positions is added",
    "cat": "values are concatenated with others",
}


def after_view(call: RecordedCall, value: FormulaValue, before: torch.Size, after: torch.Size) -> FormulaValue:
    """A value behind a call that moves axes, or joins or divides positions: the shape is another one after it.

    An axis of neurons that is not known is taken for the last.

    Raises:
        NotRead: neurons are spread over several axes, or joined with positions.
    """
    where = -1 if value.axis is None else value.axis
    (moved,) = _moved(call, _indices(before, where))
    axes = [a for a in range(-len(after), 0) if after[a] == before[where] and torch.equal(moved, _indices(after, a))]
    if not axes:
        raise NotRead(call, f"the operation {call.name} spreads neurons over several axes or joins them with positions")
    axis = where if where in axes else axes[-1]
    (places,) = _moved(call, _positions(before, where))
    order = places.movedim(axis, -1).reshape(-1, after[axis])[:, 0]
    flat = torch.arange(len(order)) if value.order is None else torch.tensor(value.order)
    order = flat[order]
    is_same = torch.equal(order, torch.arange(len(order)))
    return replace(value.after(call, axis=axis), order=None if is_same else tuple(order.tolist()))


def slices(call: RecordedCall, axis: int, before: torch.Size) -> list[tuple[int, ...]]:
    """Which neurons each tensor has that a call takes out of one with so many entries before; the axis is negative.

    Raises:
        NotRead: it takes some of the positions.
    """
    parts = []
    positions = before.numel() // max(1, before[axis])
    for moved in _moved(call, _indices(before, axis)):
        if moved.ndim != len(before) or moved.numel() != positions * moved.shape[axis] or not moved.numel():
            raise NotRead(call, f"the operation {call.name} selects some of the positions or of the inputs")
        lines = moved.movedim(axis, -1).reshape(-1, moved.shape[axis])
        if not bool((lines == lines[0]).all()):
            raise NotRead(call, f"symres has no rule for the operation {call.name}")
        parts.append(tuple(map(int, lines[0])))
    return parts


def _indices(shape: torch.Size, axis: int) -> torch.Tensor:
    """A tensor that holds the index of the neuron at every entry."""
    line = torch.arange(shape[axis]).reshape([-1, *[1] * (-1 - axis)])
    return line.expand(shape)


def _positions(shape: torch.Size, axis: int) -> torch.Tensor:
    """A tensor that holds the flat index of the position at every entry."""
    others = [size for a, size in enumerate(shape, -len(shape)) if a != axis]
    return torch.arange(math.prod(others)).reshape(others).unsqueeze(axis).expand(shape)


def _moved(call: RecordedCall, entries: torch.Tensor) -> list[torch.Tensor]:
    try:
        return [moved for _, moved in made_again(call, dict.fromkeys(call.sources, entries.clone()))]
    except Exception as error:  # whatever an operation makes of integers
        raise NotRead(call, f"symres has no rule for the operation {call.name}") from error


def applied(
    call: RecordedCall, formulas: Mapping[int, sp.Expr], values: Mapping[int, torch.Tensor], recording: Recording
) -> sp.Expr:
    """The formula of what comes out of a call, from those of the stream values that go in.

    Shapes and types are taken from ``values``, all stream values; ``recording`` is that of all that belongs together.

    Raises:
        NotRead: the operation does not act on each entry alone, or cannot be read.
    """
    if call.name in _POOLS:
        raise NotRead(call, _POOLS[call.name])
    if len(call.results) != 1 or not all(values[number].is_floating_point() for number in formulas):
        raise NotRead(call, _WORDS.get(call.name, f"symres has no rule for the operation {call.name}"))
    symbolic = {
        number: SymbolicTensor(formula, torch.empty_like(values[number], device="meta"), recording)
        for number, formula in formulas.items()
    }
    prepared = with_scalars(call)
    try:
        with torch.no_grad():
            result = next((made for _, made in made_again(prepared, symbolic)), None)
    except SymresError as error:
        raise NotRead(call, error.found) from error
    except Exception as error:  # whatever an operation makes of a tensor without numbers
        raise NotRead(call, f"symres has no rule for the operation {call.name}") from error
    if not isinstance(result, SymbolicTensor) or result.shape != values[call.results[0]].shape:
        raise NotRead(call, f"the operation {call.name} does not act on each entry separately")
    if not isinstance(result.formula, sp.Expr) or result.formula.has(sp.nan):
        raise NotRead(call, f"the operation {call.name} does not return real numbers")
    return result.formula


def with_scalars(call: RecordedCall) -> RecordedCall:
    """A call whose constant tensors, if their entries are all equal, are tensors of one entry.

    Raises:
        NotRead: the entries of a constant tensor differ.
    """

    def scalar(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor) or leaf.numel() == 1:
            return leaf.detach().reshape(()) if isinstance(leaf, torch.Tensor) else leaf
        if not is_uniform(leaf):
            raise NotRead(call, _WORDS.get(call.name, f"{call.name} with a constant tensor whose entries differ"))
        return leaf.detach().reshape(-1)[:1]

    args, kwargs = tree_map(scalar, (call.args, dict(call.kwargs)))
    return replace(call, args=args, kwargs=kwargs)


def is_uniform(tensor: torch.Tensor) -> bool:
    """Whether all entries are the same number."""
    flat = tensor.detach().reshape(-1)
    return bool(flat.numel() > 0 and (flat == flat[0]).all())


def pointwise_chain(
    label: str, calls: Sequence[RecordedCall], start: int, end: int, passing: frozenset[int]
) -> Callable[[torch.Tensor], torch.Tensor]:
    """Recorded calls as a function of one tensor.

    Args:
        label: what it is called.
        calls: in order.
        start: the number of the stream value that goes in.
        end: the number of the one that comes out.
        passing: numbers of calls that leave the formula of an entry as it is.
    """
    scalar = [call if call.number in passing else with_scalars(call) for call in calls]

    def chain(entries: torch.Tensor) -> torch.Tensor:
        values = {start: entries}
        for call in scalar:
            is_passing = call.number in passing
            values |= dict.fromkeys(call.results, values[call.sources[0]]) if is_passing else made_again(call, values)
        return values[end]

    chain.__name__ = label
    return chain


def multiple_of_identity(formula: sp.Expr) -> sp.Expr | None:
    """The number c of a formula ``c*z``; None for any other."""
    factor = sp.cancel(formula / z) if formula.is_polynomial(z) else None
    return factor if factor is not None and factor.is_number else None


def norm_call(
    call: RecordedCall, shape: torch.Size, positions: bool = False
) -> tuple[Callable[..., Normaliser], sp.Expr, int]:
    """The normaliser that a call of a normalising function is, its epsilon, and the axis of the neurons.

    The shape is that of what is normalised; averages over the neurons of all positions are read if that is asked for.

    Raises:
        NotRead: it normalises over more than the neurons.
    """
    epsilon = call.by_name.get("eps")
    if not isinstance(call.by_name["input"], StreamValue):
        raise NotRead(call, f"the operation {call.name} acts on a constant")
    if call.name == "batch_norm":
        return BatchNorm, number(1e-5 if epsilon is None else epsilon, "eps"), 1 - len(shape)
    is_group, axes = call.name == "group_norm", tuple(call.by_name.get("normalized_shape", ()))
    if epsilon is None:
        epsilon = torch.finfo(torch.float32).eps if call.name == "rms_norm" else 1e-5
    if positions and (call.by_name["num_groups"] == 1 if is_group else len(axes) > 2 and axes == tuple(shape[1:])):
        return partial(LayerNorm, over="positions"), number(epsilon, "eps"), 1 - len(shape)
    if axes != tuple(shape[-1:]):
        raise NotRead(call, f"the operation {call.name} normalises over several axes")
    return LayerNorm if call.name == "layer_norm" else RMSNorm, number(epsilon, "eps"), -1


def pooled(call: RecordedCall, axis: int | None, shape: torch.Size) -> int | None:
    """The axis of neurons behind a call that averages over all positions; None for any other call.

    The shape is that of what is averaged, of whose axes the first counts inputs.
    """
    ndim = len(shape)
    if call.name in ADAPTIVE_POOLS:
        size = call.by_name["output_size"]
        is_whole = all(n == 1 for n in ([size] if isinstance(size, int) else size))
        return -ADAPTIVE_POOLS[call.name] - 1 if is_whole and axis in (None, -ADAPTIVE_POOLS[call.name] - 1) else None
    if call.name != "mean" or call.by_name.get("dim") is None:
        return None
    dims = call.by_name["dim"]
    averaged = {d - ndim if d >= 0 else d for d in ([dims] if isinstance(dims, int) else dims)}
    (left, *others) = set(range(1 - ndim, 0)) - averaged or {0}
    is_clear = axis is not None or left == -1 or len(averaged) > 1  # a mean over the last axis may be one of neurons
    if others or left == 0 or -ndim in averaged or axis not in (None, left) or not is_clear:
        return None
    return left if call.by_name.get("keepdim", False) else -1


def is_normed(call: RecordedCall, calls: Sequence[RecordedCall]) -> bool:
    """Whether only a norm reads what a call makes, and only dense layers that: second moments are all that counts."""
    numbers = set(call.results)
    for kinds in (NORMS - {"batch_norm"}, DENSE):
        readers = [other for other in calls if numbers & set(other.sources)]
        while len(readers) == 1 and readers[0].name in VIEWS | COPIES:
            numbers = set(readers[0].results)
            readers = [other for other in calls if numbers & set(other.sources)]
        if not readers or not all(reader.name in kinds for reader in readers):
            return False
        numbers = {number for reader in readers for number in reader.results}
    return True


def affine(call: RecordedCall, weight: torch.Tensor | None, bias: torch.Tensor | None) -> tuple[sp.Expr, Uneven | None]:
    """The factor that a normaliser multiplies by, if it is one; else mean squares for the Dense behind it.

    Raises:
        NotRead: one number is added to every neuron.
    """
    is_even = weight is None or is_uniform(weight)
    has_no_shift = bias is None or not bool(bias.detach().any())
    if is_even and has_no_shift:
        factor = 1.0 if weight is None else float(weight.detach().reshape(-1)[0])
        return number(factor, "weight"), None
    squares = [1.0 if weight is None else mean_square(weight), 0.0 if bias is None else mean_square(bias)]
    if bias is not None and not has_no_shift and is_uniform(bias):
        raise NotRead(call, "a norm adds the same number to all neurons")
    return sp.Integer(1), Uneven(*squares)


@dataclass
class NeuronAverages:
    """Averages over neurons that a model computes, as symbols in formulas.

    Attributes:
        defined: what is averaged, by symbol.
    """

    defined: dict[sp.Symbol, sp.Expr] = field(default_factory=dict)

    def of(self, formula: sp.Expr) -> sp.Symbol:
        """The symbol of an average, the same for the same formula."""
        for symbol, averaged in self.defined.items():
            if sp.expand(averaged - formula) == 0:
                return symbol
        symbol = sp.Dummy("mean", real=True)
        self.defined[symbol] = formula
        return symbol

    def average(self, call: RecordedCall, value: FormulaValue, shape: torch.Size) -> sp.Expr:
        """What a call of ``mean`` or ``var`` over the neurons computes.

        Raises:
            NotRead: it averages over other axes, drops the axis, or divides by n - 1.
        """
        arguments = call.by_name
        dims = arguments.get("dim")
        dims = [dims] if isinstance(dims, int) else dims
        axis = -1 if value.axis is None else value.axis
        is_over_neurons = dims is not None and [d - len(shape) if d >= 0 else d for d in dims] == [axis]
        if not is_over_neurons or not arguments.get("keepdim", False):
            raise NotRead(call, f"the operation {call.name} averages over positions, or without keepdim=True")
        if call.name == "mean":
            return self.of(value.formula)
        if arguments.get("correction", 1) != 0 and arguments.get("unbiased", True):
            raise NotRead(call, "a variance is divided by n - 1 instead of n (unbiased=False)")
        return self.of((value.formula - self.of(value.formula)) ** 2)

    def is_in(self, formula: sp.Expr) -> bool:
        """Whether a formula contains averages."""
        return bool(formula.free_symbols & self.defined.keys())

    def normaliser(self, formula: sp.Expr) -> tuple[type[Normaliser], sp.Expr, sp.Expr] | None:
        """The normaliser that a formula is, its epsilon, and the factor before it; None if it is none."""
        means = [symbol for symbol, definition in self.defined.items() if definition == z]
        for symbol, definition in self.defined.items():
            for node, centre in ((RMSNorm, sp.Integer(0)), *((LayerNorm, mean) for mean in means)):
                same = sp.expand(definition - (z - centre) ** 2) == 0
                if not same or not formula.has(symbol):
                    continue
                # formula = factor*(z - centre)/sqrt(symbol + epsilon)
                squared = sp.cancel(sp.together(((z - centre) / formula) ** 2))
                if not squared.is_polynomial(symbol) or squared.free_symbols != {symbol}:
                    continue
                rest, slope = squared.subs(symbol, 0), squared.diff(symbol)
                if slope.is_number and slope.is_positive:
                    epsilon, factor = sp.simplify(rest / slope), 1 / sp.sqrt(slope)
                    at = formula.subs({centre: 0, symbol: 1 - epsilon} if centre != 0 else {symbol: 1 - epsilon})
                    if epsilon.is_nonnegative and at.subs(z, 1).is_positive:
                        return node, epsilon, factor
        return None


def vector_of_neurons(leaf: Any, axis: int | None, shape: torch.Size) -> torch.Tensor | None:
    """A constant tensor that has one number for each neuron, and not all equal; None for anything else."""
    if not isinstance(leaf, torch.Tensor) or leaf.numel() < 2 or is_uniform(leaf):
        return None
    where = -1 if axis is None else axis
    fits = leaf.ndim >= -where and leaf.shape[where] == shape[where] == leaf.numel()
    return leaf if fits else None
