"""The numerical test of Doshi et al. section 2: the squared Jacobian norm of the last block of a deep network, (16)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn

import symres.torch as st


class Chi(NamedTuple):
    """A measured chi_J with its standard error."""

    value: float
    error: float


@dataclass(frozen=True)
class Trial:
    """How chi_J is measured.

    Args:
        inputs: the first axis counts them.
        networks: how many are drawn.
        probes: random directions for each of them.
        train: whether normalisation uses the statistics of the batch.
        blocks: the name of the list of blocks in the model.
    """

    inputs: torch.Tensor
    networks: int = 4
    probes: int = 2
    train: bool = False
    blocks: str = "blocks"


def chi_of_last_block(build: Callable[[], nn.Module], trial: Trial, seed: int = 0) -> Chi:
    """J^{L-1,L}, from what enters the last of L equal blocks to what leaves it, averaged over networks and inputs.

    Args:
        build: draws a network from the random numbers of the process.
        trial: how it is measured.
        seed: of the first network; each network has a seed of its own.

    Returns:
        The average, with the standard error over networks.
    """
    before, last = last_two(build(), trial.blocks)
    measured = st.measure(
        build,
        trial.inputs,
        [before, last],
        start=before,
        seeds=trial.networks,
        seed=seed,
        probes=trial.probes,
        mode="train" if trial.train else "eval",
        progress=False,
    )
    found = measured[last].apjn_forward
    return Chi(float(found), found.error)


def last_two(model: nn.Module, blocks: str) -> tuple[str, str]:
    """The names of the last two blocks of a model.

    Args:
        model: it has a list of blocks.
        blocks: the name of the list.
    """
    found = model.get_submodule(blocks)
    if not isinstance(found, (nn.ModuleList, nn.Sequential)) or len(found) < 2:
        raise ValueError(f"{blocks} of {type(model).__name__}: it is no list of two blocks or more; name such a list")
    return f"{blocks}.{len(found) - 2}", f"{blocks}.{len(found) - 1}"


def sphere(inputs: int, dimension: int, seed: int = 0) -> torch.Tensor:
    """Random inputs whose mean square is exactly 1, so that the kernel behind a read-in is sigma_w^2 + sigma_b^2.

    Args:
        inputs: how many.
        dimension: of each.
        seed: of the random numbers.
    """
    drawn = torch.randn(inputs, dimension, generator=torch.Generator().manual_seed(seed))
    return drawn / drawn.square().mean(dim=1, keepdim=True).sqrt()


def images(inputs: int, size: int, seed: int = 0) -> torch.Tensor:
    """Images with independent Gaussian pixels of variance 1, shape (inputs, 3, size, size).

    Args:
        inputs: how many.
        size: rows and columns.
        seed: of the random numbers.
    """
    return torch.randn(inputs, 3, size, size, generator=torch.Generator().manual_seed(seed))
