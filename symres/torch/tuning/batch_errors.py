"""Errors where inputs depend on each other: batch normalisation in train mode.

Numbers of different inputs then share the statistics of their batch, and their scatter does not show how far these are
from those of another batch. What does show it is measuring again without some of the inputs (jackknife), along the same
random directions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import torch
from torch import nn

from ...results.annotated_numbers import EstimatedNumber
from ..measuring.averaging import jackknife_error
from ..models.model_state import mixes_inputs
from ..probing.network_passes import mean_products, signs, squares

_GROUPS = 8  # left out one after the other
_LEAST = 4  # inputs


@dataclass(frozen=True)
class InputSubset:
    """Some of the inputs.

    Args:
        kept: their numbers.
        size: how many inputs there are.
    """

    kept: np.ndarray
    size: int

    def rows(self, tensor: torch.Tensor) -> torch.Tensor:
        """The rows of a tensor, several for each input perhaps, that belong to them."""
        rows = tensor.reshape(self.size, -1)[torch.from_numpy(self.kept).to(tensor.device)]
        return rows.reshape(-1, *tensor.shape[1:])


def left_out_in_turn(model: nn.Module, size: int) -> list[InputSubset]:
    """All inputs but a few, for one group of a few after the other; none where inputs do not depend on each other."""
    if size < _LEAST or not mixes_inputs(model):
        return []
    groups = np.array_split(np.arange(size), min(_GROUPS, size))
    return [InputSubset(np.setdiff1d(np.arange(size), group), size) for group in groups]


@dataclass
class SignSource:
    """Random signs of one probe.

    Args:
        stream: numbers that seed them.
        subset: the inputs that a pass has; each has the signs that it has in a pass of all. None: all.
    """

    stream: tuple[int, ...]
    subset: InputSubset | None = None
    _rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.stream)

    def draw(self, like: torch.Tensor) -> torch.Tensor:
        """Signs in the shape of a tensor."""
        if self.subset is None:
            return signs(self._rng, like)
        pieces = len(like) // len(self.subset.kept)
        return self.subset.rows(signs(self._rng, like.new_empty((pieces * self.subset.size, *like.shape[1:]))))


_Sample = TypeVar("_Sample")


def with_batch_errors(
    numbers: Callable[[_Sample], Sequence[EstimatedNumber]], samples: Sequence[_Sample]
) -> tuple[list[EstimatedNumber], list[float]]:
    """Numbers whose errors know of the batch.

    Args:
        numbers: of a measurement.
        samples: the measurement of all inputs; then those without a few, as ``left_out_in_turn`` has them.

    Returns:
        The numbers of all inputs, and the errors that the batch makes, which theirs are not below; nan where inputs are
        independent.
    """
    whole, *without = map(numbers, samples)
    errors = [math.nan] * len(whole)
    if without:
        errors = list(map(jackknife_error, np.array(without).T))
    return [at_least(number, error) for number, error in zip(whole, errors, strict=True)], errors


def at_least(number: EstimatedNumber, error: float) -> EstimatedNumber:
    """A number whose error is no less than another one."""
    return EstimatedNumber(float(number), float(np.fmax(number.error, error)))


def jacobian_probes(
    source: torch.Tensor, result: torch.Tensor, size: int, sources: Sequence[SignSource]
) -> tuple[np.ndarray, np.ndarray]:
    """Squared norm and, of equal shapes, trace of a Jacobian over the entries of one result; shape (inputs, probes)."""
    entries = result.numel() // size
    norms, traces = [], []
    for sign_source in sources:
        cotangent = sign_source.draw(result)
        (gradient,) = torch.autograd.grad(result, source, cotangent, retain_graph=True, allow_unused=True)
        gradient = torch.zeros_like(source) if gradient is None else gradient
        norms.append(squares(gradient, size) / entries)
        if source.shape == result.shape:
            traces.append(mean_products(gradient, cotangent, size))
    return np.stack(norms, axis=1), np.stack(traces or norms, axis=1)
