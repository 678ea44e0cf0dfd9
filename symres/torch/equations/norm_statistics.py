"""Normalisation among the calls of a model: PyTorch's functions, and means and roots written out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import sympy as sp
import torch

from ...core.scalars import number
from ...core.symbols import z
from ...layers.normalisation import BatchNorm, LayerNorm, Normaliser, RMSNorm
from ..models.structures import mean_square
from ..tracing.run_record import RecordedCall, StreamValue
from .formula_values import FormulaValue, NotRead, Uneven
from .pointwise_chains import is_uniform

NORMS = frozenset({"layer_norm", "rms_norm", "batch_norm"})
AVERAGES = frozenset({"mean", "var"})


def norm_call(call: RecordedCall, shape: torch.Size) -> tuple[type[Normaliser], sp.Expr, int]:
    """The normaliser that a call of a normalising function is, its epsilon, and the axis of the neurons.

    The shape is that of what is normalised.

    Raises:
        NotRead: it normalises over more than the neurons.
    """
    epsilon = call.by_name.get("eps")
    if not isinstance(call.by_name["input"], StreamValue):
        raise NotRead(call, f"the operation {call.name} acts on a constant")
    if call.name == "batch_norm":
        return BatchNorm, number(1e-5 if epsilon is None else epsilon, "eps"), 1 - len(shape)
    if tuple(call.by_name["normalized_shape"]) != tuple(shape[-1:]):
        raise NotRead(call, f"the operation {call.name} normalises over several axes")
    if epsilon is None:
        epsilon = 1e-5 if call.name == "layer_norm" else torch.finfo(torch.float32).eps
    return LayerNorm if call.name == "layer_norm" else RMSNorm, number(epsilon, "eps"), -1


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
        for symbol, known in self.defined.items():
            if sp.expand(known - formula) == 0:
                return symbol
        symbol = sp.Dummy("mean", real=True)
        self.defined[symbol] = formula
        return symbol

    def average(self, call: RecordedCall, value: FormulaValue, shape: torch.Size) -> sp.Expr:
        """What a call of ``mean`` or ``var`` over the neurons computes.

        Raises:
            NotRead: it averages over other axes, drops the axis, or divides by n - 1.
        """
        given = call.by_name
        dims = given.get("dim")
        dims = [dims] if isinstance(dims, int) else dims
        axis = -1 if value.axis is None else value.axis
        is_over_neurons = dims is not None and [d - len(shape) if d >= 0 else d for d in dims] == [axis]
        if not is_over_neurons or not given.get("keepdim", False):
            raise NotRead(call, f"the operation {call.name} averages over positions, or without keepdim=True")
        if call.name == "mean":
            return self.of(value.formula)
        if given.get("correction", 1) != 0 and given.get("unbiased", True):
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
