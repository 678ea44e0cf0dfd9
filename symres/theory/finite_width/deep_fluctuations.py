"""The fluctuations of a deep network with an estimate of their error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...core.errors import DeclarationError, NoClosedForm
from ...results.numbers.estimates import Estimates
from .float_quadrature import Array, Values
from .fluctuations import Fluctuations, through
from .layer_noise import CompiledLayer
from .layer_numbers import at_kernels, roots_of

_DEGREES = {1: (64, 256, 1024, 4096), 2: (24, 48, 96, 160)}  # of Hermite polynomials of one and of two variables
_WANTED = {1: 1e-13, 2: 1e-13, 3: 1e-9}  # relative to the largest fluctuation; by the number of inputs, 3 or more
_ROUNDING = 4e-16  # relative, of each layer
_SINGULAR = 1e-12  # an eigenvalue of this size, relative to the largest, is 0


@dataclass(frozen=True)
class DeepFluctuations:
    """The fluctuations of the stream before the first layer of a network, and after each.

    Args:
        states: depth + 1 of them.
        error: relative error of the averages that they are made of.
    """

    states: tuple[Fluctuations, ...]
    error: float

    @cached_property
    def errors(self) -> list[float]:
        """How far an entry of D, P or V of each state may be from the truth: coefficients left out, and rounding."""
        relative = [self.error + _ROUNDING * (depth + 10) for depth in range(len(self.states))]
        return [s.truncation + float(np.max(np.abs(s.D))) * r for s, r in zip(self.states, relative, strict=True)]

    def estimates(self, values: Sequence[float]) -> Estimates:
        """Numbers made of the states, each with its error."""
        return Estimates(values, self.errors)


def states_of(kernel: Array, layers: Sequence[tuple[CompiledLayer, Values]]) -> tuple[Fluctuations, ...]:
    """The fluctuations before the first layer and after each, from as many Hermite coefficients as they need.

    Args:
        kernel: of the inputs, shape (p, p).
        layers: each with the values of its parameters.

    Raises:
        DeclarationError: a kernel is not positive: an input vanishes, or two are one.
        NoClosedForm: floating-point numbers overflow.
    """
    _require_a_covariance(kernel)
    try:
        return _converged(kernel, layers)
    except np.linalg.LinAlgError:
        one = len(kernel) == 1
        found = "its kernel vanishes somewhere" if one else "an input vanishes, or one is a multiple of another"
        raise DeclarationError(
            f"the fluctuations at K = {kernel.tolist()}", found, "pass kernels with K > 0 and C**2 < K1*K2"
        ) from None


def _converged(kernel: Array, layers: Sequence[tuple[CompiledLayer, Values]]) -> tuple[Fluctuations, ...]:
    p = len(kernel)
    numbers = list(at_kernels(layers, kernel, roots_of(kernel)))
    for degree in _DEGREES[min(p, 2)]:
        whole = through(kernel, numbers, degree)
        states = tuple(whole) if p == 1 else tuple(state.without_functions() for state in whole)
        largest = max(float(np.max(np.abs(s.D))) for s in states)
        if not np.isfinite(largest):
            raise NoClosedForm("the fluctuations", "they overflow double precision", "take fewer layers")
        if max(s.truncation for s in states) <= _WANTED[min(p, 3)] * largest:
            break
    return states


def _require_a_covariance(kernel: Array) -> None:
    """Refuse a matrix that is the kernel of no inputs; it may be singular, if no two inputs are parallel."""
    eigenvalues = np.linalg.eigvalsh(kernel)
    if len(kernel) > 2 and eigenvalues[0] < -_SINGULAR * eigenvalues[-1]:
        raise DeclarationError(
            f"the fluctuations at K = {kernel.tolist()}",
            f"it has the negative eigenvalue {eigenvalues[0]:.3g}",
            "pass the matrix of scalar products of the inputs",
        )
