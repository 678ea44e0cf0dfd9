"""Whether a stretch of a model acts as its theory says: with random weights, and with the weights that it has.

With weights drawn afresh, on Gaussian streams, it is compared with its theory before it is believed. The weights of the
model itself may fit to their stream as trained ones do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import sympy as sp
import torch
from torch.nn import functional
from torch.utils._pytree import tree_map

from ...core.errors import SymresError, UnsupportedLayer
from ...layers.layer import Layer
from ...layers.normalisation import BatchNorm
from ..equations.formula_values import DenseUse, fresh_weights
from ..equations.layering import StretchReading
from ..equations.position_uses import AttentionUse, is_padded
from ..measuring.place_signals import average
from ..tracing.run_record import RecordedCall, RunRecord, made_again
from .read_block import ReadBlock, layer_value

_FAR = 6.0  # standard deviations of a kernel of one network
KERNEL_SCATTER = 5.0  # n times the relative variance of a kernel: <phi^4>/<phi^2>^2 - 1, for relu (3/2)/(1/4) - 1
_FEWEST, _FEW, _MANY = 4, 16, 96  # networks; the many decide where the few contradict the theory
_STANDARD_ERRORS = 5.0
_PER_WIDTH = 5.0  # relative correction of order 1/n that is allowed, times n
_NARROW = 8  # neurons below which corrections of order 1/n are everything
_ENTRIES = 2**15  # of a Gaussian stream, unless one input has more
_DRAWS = 2**25  # weights in all networks, for models whose layers have very many
_PRODUCTS = 2**33  # of numbers in all networks: some ten seconds
_BATCH = 256  # inputs over which batch normalisation averages, positions of images counting as inputs
_SHARED = 0.5  # of the variance of tokens that attend to each other
_ROUNDING = 1e-9  # relative, of the numbers of the theory


@dataclass(frozen=True)
class Comparison:
    """A number of networks with random weights, and that of the theory.

    Args:
        quantity: "kernel_map" or "chi_perp".
        K: kernel of the Gaussian stream that went in.
        measured: mean over networks.
        error: its standard error.
        theory: at infinite width.
        allowed: how far the two may be apart: standard errors and corrections of order 1/n.
        networks: how many.
        tokens: how many a position sees, where the layer mixes them.
    """

    quantity: str
    K: float
    measured: float
    error: float
    theory: float
    allowed: float
    networks: int
    tokens: int = 0

    @property
    def agrees(self) -> bool:
        """Whether measurement and theory are the same within what is allowed."""
        return abs(self.measured - self.theory) <= self.allowed

    def __str__(self) -> str:
        name = "the next kernel" if self.quantity == "kernel_map" else "the squared Jacobian norm"
        where = f"K = {self.K:.4g}" + (f" and {self.tokens} token" + "s" * (self.tokens > 1)) * (self.tokens > 0)
        return f"{name} at {where} is {self.measured:.4g} +- {self.error:.2g}, in theory {self.theory:.4g}"


class RandomStretch:
    """The calls of a stretch as a function of stream and weights.

    Args:
        record: the run that the stretch is from; weights must be as they were then.
        stretch: one that is a layer.
        generator: of weights and streams.
    """

    def __init__(self, record: RunRecord, stretch: StretchReading, generator: torch.Generator) -> None:
        assert stretch.equation is not None and stretch.layer is not None
        self._stretch, self._generator = stretch, generator
        self.uses: Sequence[DenseUse] = stretch.equation.dense
        self._axis = -1 if stretch.equation.entry_axis is None else stretch.equation.entry_axis
        is_mixing, sizes = stretch.layer.program.has_positions, list(record.values[stretch.entry].shape)
        if is_mixing and sizes[0] != len(record.values[0]):
            raise UnsupportedLayer("positions in random networks", "inputs are not its first axis", "move them there")
        count = math.prod(sizes) // (sizes[0] * sizes[self._axis])
        is_row = len(sizes) == 3 and self._axis in (-1, 2)
        self._seen = _seen(stretch.equation.attention, count, is_row) if is_mixing else {0: None}
        self._is_rotary = any(use.rope is not None for use in stretch.equation.attention)
        entry, end = record.values[stretch.entry], record.values[stretch.exit]
        self._shape = list(entry.shape)
        self._mixes_inputs = any(call.name == "batch_norm" for call in stretch.calls)
        axis = -1 if stretch.equation.axis is None else stretch.equation.axis
        widths = [width for use in self.uses for width in (use.made.fan_in, use.fan_out)]
        self._narrowest = min([int(end.shape[axis]), *widths])
        outside = [value.numel() // (len(value) * value.shape[axis]) for value in (entry, end) if len(value)]
        self._positions = max(1, min(outside, default=1)) if self._mixes_inputs else 1
        if not stretch.equation.attention:  # whose code has written shapes
            self._shape[0] = self._most_inputs()
        averaged = self._shape[0] * self._positions
        self._correction = _PER_WIDTH / self._narrowest + (_PER_WIDTH / averaged if self._mixes_inputs else 0)
        drawn = sum(use.made.tensor.numel() for use in self.uses)
        products = drawn * self._shape[0] * max(outside, default=1)
        few = max(_FEWEST, min(_FEW, _DRAWS // max(drawn, 1), _PRODUCTS // max(products, 1)))
        self._counts = (few, _MANY * few // _FEW)

    @property
    def is_narrow(self) -> bool:
        """Whether corrections of order 1/n are everything."""
        return self._narrowest < _NARROW

    def compared(self, form: Layer, kernel: float, numbers: Mapping[str, float]) -> list[Comparison]:
        """Kernel and Jacobian norm of networks with random weights, and what the theory says.

        Args:
            form: the layer.
            kernel: that which the model had at the entry; they are compared at this one and at twice that.
            numbers: the variances, by symbol.

        Returns:
            Nothing for layers of a few neurons.

        Attention is compared on tokens whose covariance is half their variance, at positions that see few, many and all
        of them, with uniform weights where embeddings rotate.

        Raises:
            UnsupportedLayer: a mask of attention leaves nothing that is exact.
        """
        if self.is_narrow:
            return []
        if self._is_rotary:
            numbers = {**numbers, **dict.fromkeys((symbol.name for symbol in self._of_queries), 0.0)}
        compared: list[Comparison] = []
        for K in (kernel, 2 * kernel):
            expected = {}
            names = ("kernel_map", "chi_perp")[: 1 if self._mixes_inputs else 2]
            for column, (tokens, name) in enumerate(product(self._seen, names)):
                # of chi_perp, other inputs of a batch have a part in it; any of both may be unknown, or infinite
                with suppress(SymresError):
                    values = layer_value(form, name, K, numbers, tokens or None, _SHARED * K if tokens else 0.0)
                    expected[column] = name, tokens, values
            samples: list[list[float]] = []
            for networks in self._counts:
                while len(samples) < networks:
                    samples.append(self._sample(K))
                at_kernel = []
                for column, (name, tokens, theory) in expected.items():
                    mean = average(np.array(samples)[:, [column]])
                    allowed = _STANDARD_ERRORS * mean.error + (self._correction + _ROUNDING) * abs(theory)
                    if math.isfinite(theory):
                        compared_numbers = (float(mean), mean.error, theory, allowed, len(samples), tokens)
                        at_kernel.append(Comparison(name, K, *compared_numbers))
                if all(comparison.agrees for comparison in at_kernel):
                    break
            compared += at_kernel
        return compared

    def own_kernel(self, K: float) -> float:
        """The mean square of what comes out with the model's own weights, Gaussian streams going in."""
        with torch.no_grad():
            return float(self._run(self._stream(K), {}).square().mean())

    def _most_inputs(self) -> int:
        """As many inputs as are useful, if the calls take another number than they were recorded with."""
        each = math.prod(self._shape[1:])
        wanted = -(-_BATCH // self._positions) if self._mixes_inputs else max(1, min(_BATCH, _ENTRIES // each))
        try:
            with torch.no_grad():
                out = self._run(torch.ones([wanted, *self._shape[1:]], dtype=torch.float64), {})
            return wanted if out.shape[0] == wanted else self._shape[0]
        except RuntimeError:  # shapes are written in the code
            return self._shape[0]

    def _stream(self, K: float) -> torch.Tensor:
        """A Gaussian stream; of tokens that attend to each other, with a covariance."""
        stream = torch.randn(self._shape, generator=self._generator, dtype=torch.float64)
        if any(self._seen):
            common = torch.randn(self._common, generator=self._generator, dtype=torch.float64)
            stream = stream * math.sqrt(1 - _SHARED) + common * math.sqrt(_SHARED)
        return stream * math.sqrt(K)

    @property
    def _common(self) -> list[int]:
        """The shape of what all tokens have in common."""
        return [n if a in (0, len(self._shape) + self._axis) else 1 for a, n in enumerate(self._shape)]

    @property
    def _of_queries(self) -> list[sp.Symbol]:
        return [symbol for use in self.uses if use.role == "Q" for symbol in (use.C_W, use.C_b)]

    def _sample(self, K: float) -> list[float]:
        """Mean square and squared Jacobian norm of one network with fresh weights, for each number of tokens seen."""
        weights = fresh_weights(self.uses, self._generator)
        for use in self.uses if self._is_rotary else ():
            if use.role == "Q":  # queries of zero weigh all keys alike
                for tensor, rows in ((use.made.tensor, use.made.rows), (use.made.bias, 0)):
                    if tensor is not None:
                        weights[id(tensor)].index_fill_(rows, use.made.indices(use.part).cpu(), 0.0)
        stream = self._stream(K).requires_grad_()
        sampled: list[float] = []
        with torch.enable_grad():
            out = self._run(stream, weights)
            signs = torch.randint(0, 2, out.shape, generator=self._generator, dtype=torch.float64) * 2 - 1
            for position in self._seen.values():
                there = out if position is None else out[:, position]
                chosen = signs if position is None else signs[:, position]
                (gradient,) = torch.autograd.grad((there * chosen).sum(), stream, retain_graph=True)
                sampled += [float(there.detach().square().mean()), float(gradient.square().sum() / there.numel())]
        return sampled[:: 2 if self._mixes_inputs else 1]

    def _run(self, stream: torch.Tensor, weights: Mapping[int, torch.Tensor]) -> torch.Tensor:
        """The calls on a stream, some weights being replaced."""

        def constant(leaf: object) -> object:
            if not isinstance(leaf, torch.Tensor):
                return leaf
            tensor = weights.get(id(leaf), leaf).detach()
            return tensor.to("cpu", torch.float64) if tensor.is_floating_point() else tensor.to("cpu")

        values: dict[int, torch.Tensor] = {self._stretch.entry: stream}
        for call in self._stretch.calls:
            args, kwargs = tree_map(constant, (call.args, dict(call.kwargs)))
            values |= made_again(*_without_border(replace(call, args=args, kwargs=kwargs), values))
        return values[self._stretch.exit].to(torch.float64)


def _seen(attention: Sequence[AttentionUse], tokens: int, is_row: bool) -> dict[int, int | None]:
    """Numbers of tokens that a position sees, with a position that does, None for all.

    The first layer with a mask is exact for tokens of one covariance: a position is one of those that it sees.

    Args:
        attention: the layers.
        tokens: their number.
        is_row: whether they are the second of three axes.

    Raises:
        UnsupportedLayer: scores have biases, masks of heads or inputs differ, or tokens were masked before.
    """
    if not any(use.is_causal or use.mask is not None for use in attention):
        return {tokens: None}
    mask = np.triu(np.full((tokens, tokens), -np.inf), 1) if attention[0].mask is None else attention[0].mask
    if len(attention) > 1 or not is_row or mask.shape != (tokens, tokens) or np.isfinite(mask[mask != 0]).any():
        found = "masks differ between inputs or heads, or add numbers to scores"
        raise UnsupportedLayer("attention in random networks", found, "compare its predictions")
    counts = (mask == 0).sum(axis=1)
    order = np.argsort(counts, kind="stable")
    chosen = [int(position) for position in (order[0], order[len(order) // 2], order[-1])]
    return {int(counts[position]): position for position in chosen if counts[position]}


def _without_border(
    call: RecordedCall, values: Mapping[int, torch.Tensor]
) -> tuple[RecordedCall, Mapping[int, torch.Tensor]]:
    """A call as its theory has it, and what goes in: instead of a border a convolution sees the other side."""
    if not is_padded(call):
        return call, values
    arguments = call.by_name
    dilation, size = arguments.get("dilation", 1), arguments["weight"].shape[2:]
    dilations = [dilation] * len(size) if isinstance(dilation, int) else list(dilation)
    border: list[int] = []
    for width, step in reversed(list(zip(size, dilations, strict=True))):
        border += [step * (width - 1) // 2, step * (width - 1) - step * (width - 1) // 2]
    entering = arguments["input"].number
    padded = functional.pad(values[entering], border, mode="circular")
    return replace(call, args=(), kwargs={**arguments, "padding": 0}), {entering: padded}


def unlike_draws(
    record: RunRecord, group: Sequence[StretchReading], block: ReadBlock
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Places of a block at which its weights make another kernel of the model's own stream than independent ones do.

    Trained weights fit to the stream that enters them. That does not show on Gaussian streams, on which their second
    moment decides nearly alone.

    Returns:
        The names of the places, and a remark about the one that is farthest off; empty where kernels agree within six
        standard deviations of one network.
    """
    if block.form is None or block.form.forward.atoms(BatchNorm):  # evaluation mode has other statistics
        return (), ()
    contradicted: list[tuple[float, str, float, float]] = []  # by how much, where, and both kernels
    for stretch, span, numbers, place in zip(group, block.spans, block.numbers, block.places, strict=True):
        kernel = record.mean_squares[stretch.exit]
        if not span.kernels or not math.isfinite(kernel) or not min(span.kernels) > 0:
            continue
        allowed = _FAR * math.sqrt(KERNEL_SCATTER / min(span.width, span.outputs))
        try:
            expected = layer_value(block.form, "kernel_map", float(np.mean(span.kernels)), numbers)
            if abs(kernel - expected) > allowed * abs(expected):  # perhaps only because kernels of positions differ
                kernels = [layer_value(block.form, "kernel_map", K, numbers) for K in span.kernels]
                expected = float(np.mean(kernels))
        except SymresError:
            continue
        if abs(kernel - expected) > allowed * abs(expected):
            factor = abs(math.log(kernel / expected)) if kernel > 0 < expected else math.inf
            contradicted.append((factor, place, kernel, expected))
    if not contradicted:
        return (), ()
    _, place, kernel, expected = max(contradicted)
    remark = (
        f"on its inputs in this model {place} gives the kernel {kernel:.4g}, independent weights {expected:.4g}: "
        "its weights are not independent draws, as usual after training"
    )
    return tuple(place for _, place, _, _ in contradicted), (remark,)
