"""A stretch of a model on Gaussian streams, with its weights drawn afresh, compared with its theory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch.nn import functional
from torch.utils._pytree import tree_map

from ...core.errors import SymresError
from ...layers.layer import Layer
from ..equations.dense_variances import fresh_weights, is_padded
from ..equations.formula_values import DenseUse
from ..equations.layering import StretchReading
from ..tracing.run_record import RecordedCall, RunRecord, made_again
from .read_block import layer_value

_FEWEST, _FEW, _MANY = 4, 16, 96  # networks; the many decide where the few contradict the theory
_STANDARD_ERRORS = 5.0
_PER_WIDTH = 5.0  # relative correction of order 1/n that is allowed, times n
_NARROW = 8  # neurons below which corrections of order 1/n are everything
_ENTRIES = 2**15  # of a Gaussian stream, unless one input has more
_DRAWS = 2**25  # weights in all networks, for models whose layers have very many
_PRODUCTS = 2**33  # of numbers in all networks: some ten seconds
_BATCH = 256  # inputs over which batch normalisation averages, positions of images counting as inputs
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
    """

    quantity: str
    K: float
    measured: float
    error: float
    theory: float
    allowed: float
    networks: int

    @property
    def agrees(self) -> bool:
        """Whether measurement and theory are the same within what is allowed."""
        return abs(self.measured - self.theory) <= self.allowed

    def __str__(self) -> str:
        name = "the next kernel" if self.quantity == "kernel_map" else "the squared Jacobian norm"
        return f"{name} at K = {self.K:.4g} is {self.measured:.4g} +- {self.error:.2g}, in theory {self.theory:.4g}"


class RandomStretch:
    """The calls of a stretch as a function of stream and weights.

    Args:
        record: the run that the stretch is from; weights must be as they were then.
        stretch: one that is a layer.
        generator: of weights and streams.
    """

    def __init__(self, record: RunRecord, stretch: StretchReading, generator: torch.Generator) -> None:
        assert stretch.found is not None
        self._stretch, self._generator = stretch, generator
        self.uses: Sequence[DenseUse] = stretch.found.dense
        entry, end = record.values[stretch.entry], record.values[stretch.exit]
        self._shape = list(entry.shape)
        self._mixes_inputs = any(call.name == "batch_norm" for call in stretch.calls)
        axis = -1 if stretch.found.axis is None else stretch.found.axis
        widths = [width for use in self.uses for width in (use.made.fan_in, use.fan_out)]
        self._narrowest = min([int(end.shape[axis]), *widths])
        outside = [value.numel() // (len(value) * value.shape[axis]) for value in (entry, end) if len(value)]
        self._positions = max(1, min(outside, default=1)) if self._mixes_inputs else 1
        self._shape[0] = self._most_inputs()
        averaged = self._shape[0] * self._positions
        self._correction = _PER_WIDTH / self._narrowest + (_PER_WIDTH / averaged if self._mixes_inputs else 0)
        drawn = sum(use.made.tensor.numel() for use in self.uses)
        products = drawn * self._shape[0] * max(outside, default=1)
        few = max(_FEWEST, min(_FEW, _DRAWS // max(drawn, 1), _PRODUCTS // max(products, 1)))
        self._counts = (few, _MANY * few // _FEW)

    def compared(self, form: Layer, kernel: float, numbers: Mapping[str, float]) -> list[Comparison]:
        """Kernel and Jacobian norm of networks with random weights, and what the theory says.

        Args:
            form: the layer.
            kernel: that which the model had at the entry; they are compared at this one and at twice that.
            numbers: the variances, by symbol.

        Returns:
            Nothing for layers of a few neurons.
        """
        if self._narrowest < _NARROW:
            return []
        compared: list[Comparison] = []
        for K in (kernel, 2 * kernel):
            expected = {}
            for column, name in enumerate(("kernel_map", "chi_perp")[: 1 if self._mixes_inputs else 2]):
                # of chi_perp, other inputs of a batch have a part in it; any of both may be unknown, or infinite
                with suppress(SymresError):
                    expected[column] = name, layer_value(form, name, K, numbers)
            samples: list[tuple[float, float]] = []
            for networks in self._counts:
                while len(samples) < networks:
                    samples.append(self._sample(K))
                at_kernel = []
                for column, (name, theory) in expected.items():
                    values = np.array(samples)[:, column]
                    error = float(values.std(ddof=1) / math.sqrt(networks))
                    allowed = _STANDARD_ERRORS * error + (self._correction + _ROUNDING) * abs(theory)
                    if math.isfinite(theory):
                        at_kernel.append(
                            Comparison(name, K, float(values.mean()), error, theory, allowed, len(samples))
                        )
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
        """A Gaussian stream."""
        return torch.randn(self._shape, generator=self._generator, dtype=torch.float64) * math.sqrt(K)

    def _sample(self, K: float) -> tuple[float, float]:
        """Mean square and squared Jacobian norm of one network with fresh weights."""
        weights = fresh_weights(self.uses, self._generator)
        stream = self._stream(K).requires_grad_()
        with torch.enable_grad():
            out = self._run(stream, weights)
            signs = torch.randint(0, 2, out.shape, generator=self._generator, dtype=torch.float64) * 2 - 1
            (gradient,) = torch.autograd.grad((out * signs).sum(), stream)
        return float(out.detach().square().mean()), float(gradient.square().sum() / out.numel())

    def _run(self, stream: torch.Tensor, weights: Mapping[int, torch.Tensor]) -> torch.Tensor:
        """The calls on a stream, some weights being replaced."""

        def constant(leaf: object) -> object:
            if not isinstance(leaf, torch.Tensor):
                return leaf
            found = weights.get(id(leaf), leaf).detach()
            return found.to("cpu", torch.float64) if found.is_floating_point() else found.to("cpu")

        values: dict[int, torch.Tensor] = {self._stretch.entry: stream}
        for call in self._stretch.calls:
            args, kwargs = tree_map(constant, (call.args, dict(call.kwargs)))
            values |= made_again(*_without_border(replace(call, args=args, kwargs=kwargs), values))
        return values[self._stretch.exit].to(torch.float64)


def _without_border(
    call: RecordedCall, values: Mapping[int, torch.Tensor]
) -> tuple[RecordedCall, Mapping[int, torch.Tensor]]:
    """A call as its theory has it, and what goes in: instead of a border a convolution sees the other side."""
    if not is_padded(call):
        return call, values
    given = call.by_name
    dilation, size = given.get("dilation", 1), given["weight"].shape[2:]
    dilations = [dilation] * len(size) if isinstance(dilation, int) else list(dilation)
    border: list[int] = []
    for width, step in reversed(list(zip(size, dilations, strict=True))):
        border += [step * (width - 1) // 2, step * (width - 1) - step * (width - 1) // 2]
    entering = given["input"].number
    padded = functional.pad(values[entering], border, mode="circular")
    return replace(call, args=(), kwargs={**given, "padding": 0}), {entering: padded}
