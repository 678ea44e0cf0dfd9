"""The fluctuations of a deep network with an estimate of their error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ...core.abbreviation import counted
from ...core.display import Fact, Shown
from ...core.errors import DeclarationError, NoClosedForm
from ...functions.floats.float_function import Values
from ...numerics.deferred_numpy import Array, np
from ...results.annotated_numbers import Estimates
from .fluctuations import Fluctuations, through
from .layer_noise import CompiledLayer
from .layer_numbers import at_kernels, roots_of

_DEGREES = {1: (64, 256, 1024, 4096), 2: (24, 48, 96, 160)}  # of Hermite polynomials of one and of two variables
_WANTED = {1: 1e-13, 2: 1e-13, 3: 1e-9}  # relative to the largest fluctuation; by the number of inputs, 3 or more
_ROUNDING = 4e-16  # relative, of each layer


@dataclass(frozen=True, repr=False)
class DeepFluctuations(Shown):
    """The fluctuations of the stream before the first layer of a network, and after each.

    Args:
        states: depth + 1 of them.
        error: relative error of the averages that they are made of.
    """

    states: tuple[Fluctuations, ...]
    error: float

    def _title(self) -> str:
        last = self.states[-1]
        return f"fluctuations at order 1/n of {counted(last.inputs, 'input')}, {counted(len(self.states) - 1, 'layer')}"

    def _facts(self) -> list[Fact]:
        """V and P after the last layer: of several inputs the largest entries."""
        last, layers = self.states[-1], counted(len(self.states) - 1, "layer")
        of = "" if last.inputs == 1 else "largest entry of "
        sizes = [("V", last.V), ("P", last.P)]
        facts = [
            Fact(f"after {layers}", f"{of}{name} = {float(array.flat[np.abs(array).argmax()]):.10g}")
            for name, array in sizes
        ]
        return [*facts, Fact("error", f"{self.errors[-1]:.1g}")]

    @cached_property
    def errors(self) -> list[float]:
        """How far an entry of D, P or V of each state may be from the truth, by coefficients left out and rounding."""
        relative = [self.error + _ROUNDING * (depth + 10) for depth in range(len(self.states))]
        return [s.truncation + float(np.max(np.abs(s.D))) * r for s, r in zip(self.states, relative, strict=True)]

    def estimates(self, values: Sequence[float]) -> Estimates:
        """Numbers made of the states, each with its error."""
        return Estimates(values, self.errors)


def states_of(
    kernel: Array, layers: Sequence[tuple[CompiledLayer, Values]], wanted: float | None = None
) -> tuple[Fluctuations, ...]:
    """The fluctuations before the first layer and after each, from as many Hermite coefficients as they need.

    Args:
        kernel: of the inputs, shape (p, p), which neither vanish nor are parallel.
        layers: each with the values of its parameters.
        wanted: accuracy relative to the largest fluctuation; that of results if None.

    Raises:
        DeclarationError: after some layer an input vanishes, or two are parallel.
        NoClosedForm: floating-point numbers overflow.
    """
    try:
        return _converged(kernel, layers, wanted or _WANTED[min(len(kernel), 3)])
    except np.linalg.LinAlgError:
        one = len(kernel) == 1
        found = "the kernel is 0" if one else "the kernel of an input is 0, or two inputs are parallel"
        raise DeclarationError(
            f"the fluctuations at K = {float(kernel[0, 0]) if one else kernel.tolist()}",
            f"after a layer {found}",
            "take a layer whose kernels stay positive, or fewer layers",
        ) from None


def _converged(
    kernel: Array, layers: Sequence[tuple[CompiledLayer, Values]], wanted: float
) -> tuple[Fluctuations, ...]:
    p = len(kernel)
    numbers = list(at_kernels(layers, kernel, roots_of(kernel)))
    for degree in _DEGREES[min(p, 2)]:
        whole = through(kernel, numbers, degree)
        states = tuple(whole) if p == 1 else tuple(state.without_functions() for state in whole)
        largest = max(float(np.max(np.abs(s.D))) for s in states)
        if not np.isfinite(largest):
            raise NoClosedForm("the fluctuations", "they exceed double precision", "take fewer layers")
        if max(s.truncation for s in states) <= wanted * largest:
            break
    return states
