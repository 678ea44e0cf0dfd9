"""Random numbers of mean 0 and variance 1, from which weights are made."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import torch
from torch import nn

_CUT = 2.0  # standard deviations at which a truncated normal distribution ends, as in PyTorch and in JAX
# of a normal variable between them: Var = 1 - 2 c p(c)/erf(c/sqrt(2)) with the density p
_CUT_VARIANCE = 1 - 2 * _CUT * math.exp(-(_CUT**2) / 2) / math.sqrt(2 * math.pi) / math.erf(_CUT / math.sqrt(2))

Draw = Callable[[Sequence[int], torch.Generator], torch.Tensor]


def _normal(shape: Sequence[int], generator: torch.Generator) -> torch.Tensor:
    return torch.randn(*shape, generator=generator, dtype=torch.float64, device="cpu")


def _truncated(shape: Sequence[int], generator: torch.Generator) -> torch.Tensor:
    """Normal numbers within two of their own standard deviations, divided by the one that is left."""
    numbers = torch.empty(*shape, dtype=torch.float64, device="cpu")
    return nn.init.trunc_normal_(numbers, a=-_CUT, b=_CUT, generator=generator) / math.sqrt(_CUT_VARIANCE)


def _uniform(shape: Sequence[int], generator: torch.Generator) -> torch.Tensor:
    numbers = torch.rand(*shape, generator=generator, dtype=torch.float64, device="cpu")
    return (2 * numbers - 1) * math.sqrt(3)


def _orthogonal(shape: Sequence[int], generator: torch.Generator) -> torch.Tensor:
    """A matrix of outputs by inputs with orthogonal rows, or columns where there are more rows; biases are normal."""
    if len(shape) < 2:
        return _normal(shape, generator)
    numbers = torch.empty(*shape, dtype=torch.float64, device="cpu")
    rows, columns = shape[0], math.prod(shape[1:])
    # the squares of a matrix with orthogonal rows of length 1 add up to the number of these rows
    return nn.init.orthogonal_(numbers, generator=generator) * math.sqrt(max(rows, columns))


DISTRIBUTIONS: Mapping[str, Draw] = MappingProxyType(
    {"normal": _normal, "truncated": _truncated, "uniform": _uniform, "orthogonal": _orthogonal}
)
