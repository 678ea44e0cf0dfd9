"""Passes of one network over one part of the inputs, with something done at each place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from ..models.arguments_of_models import CallArguments
from ..models.choosing import ChosenModules
from ..models.observing import Action, Site, watching
from ..models.structures import first_tensor


@dataclass(frozen=True)
class Passes:
    """A network with its inputs and the places in it.

    Args:
        model: the network, prepared by ``kept``.
        arguments: the inputs of every pass; each pass gets copies, so that a model may change them in place.
        chosen: the modules at which the places are.
        sites: the places, in the order of execution.
        start: where Jacobians begin; None: at the input.
        stochastic: whether two passes differ (dropout), so that no graph may serve two probes.
        coupled: whether inputs depend on each other (batch normalisation in train mode).
    """

    model: nn.Module
    arguments: CallArguments
    chosen: ChosenModules
    sites: tuple[Site, ...]
    start: Site | None
    stochastic: bool
    coupled: bool

    @cached_property
    def _rows(self) -> dict[Site, int]:
        return {site: row for row, site in enumerate(self.sites)}

    @property
    def size(self) -> int:
        """The number of inputs."""
        return self.arguments.size

    def directions(self, entries: int) -> int:
        """How many directions are all of them, for so many entries of one input."""
        return entries * (self.size if self.coupled else 1)

    def direction(self, position: int | None, rng: np.random.Generator, like: torch.Tensor) -> torch.Tensor:
        """A direction in the shape of a tensor: signs in all entries, or one of ``directions``.

        That is one entry of every input, with independent signs; where inputs depend on each other, of one input alone.
        """
        if position is None:
            return signs(rng, like)
        found = torch.zeros(like.numel(), dtype=like.dtype, device=like.device)
        if self.coupled:
            found[position] = 1.0
        else:
            found[position :: like.numel() // self.size] = signs(rng, found[: self.size])
        return found.reshape(like.shape)

    def row(self, site: Site) -> int | None:
        """The number of a place; None for one that does not count."""
        return self._rows.get(site)

    def table(self, value: float = 0.0) -> np.ndarray:
        """A number for each place and input."""
        return np.full((len(self.sites), self.size), value)

    def norms_from_start(self) -> np.ndarray:
        """A table of norms from the start: 0, but nan as long as a pass has not come by a start behind the input."""
        return self.table(0.0 if self.start is None else np.nan)

    def run(self, action: Action, enter: Callable[[torch.Tensor], torch.Tensor] | None = None) -> object:
        """One pass of the model.

        The action returns the tensor that goes on at a place, or None; ``enter`` what enters in the place of the first
        tensor of floating-point numbers among the inputs.

        Returns:
            what the model returns.
        """
        arguments = self.arguments.map(torch.clone)
        if enter is not None and arguments.differentiable is not None:
            arguments = arguments.with_differentiable(enter(arguments.differentiable))

        def at(site: Site, tensor: torch.Tensor) -> torch.Tensor | None:
            return action(site, tensor) if site in self._rows else None

        with watching(self.chosen, at):
            return self.model(*arguments.args, **arguments.kwargs)

    def output(self, returned: object) -> torch.Tensor | None:
        """The first tensor of what the model returns; None if it has no floating-point numbers for each input."""
        found = first_tensor(returned)
        return None if found is None or not counts_inputs(found, self.size) else found


def counts_inputs(tensor: torch.Tensor, size: int) -> bool:
    """Whether the first axis of a tensor counts the inputs, each perhaps in several pieces (windows of an image)."""
    return tensor.ndim > 0 and tensor.numel() > 0 and tensor.shape[0] % size == 0


def squares(tensor: torch.Tensor, size: int) -> np.ndarray:
    """The sum of the squares of all entries of each input, in double precision; shape (size,)."""
    return accurate(tensor.detach().reshape(size, -1)).square().sum(dim=1).cpu().numpy().astype(float)


def mean_products(first: torch.Tensor, second: torch.Tensor, size: int) -> np.ndarray:
    """The mean over all entries of each input of the product of two tensors, in double precision; shape (size,)."""
    product = accurate(first.detach()).reshape(size, -1) * accurate(second.detach()).reshape(size, -1)
    return product.mean(dim=1).cpu().numpy().astype(float)


def accurate(tensor: torch.Tensor) -> torch.Tensor:
    """The same numbers in double precision, where the device has it."""
    return tensor.to(torch.float32 if tensor.device.type == "mps" else torch.float64)


def signs(rng: np.random.Generator, like: torch.Tensor) -> torch.Tensor:
    """Independent entries +-1 in the shape of a tensor."""
    drawn = rng.integers(0, 2, like.numel(), dtype=np.int8) * np.int8(2) - np.int8(1)
    return torch.from_numpy(drawn).to(device=like.device, dtype=like.dtype).reshape(like.shape)


@contextmanager
def no_fused_encoders() -> Iterator[None]:
    """Let encoder layers call their modules, so that places inside are seen: in eval mode a fused one replaces them."""
    enabled = torch.backends.mha.get_fastpath_enabled()
    try:
        torch.backends.mha.set_fastpath_enabled(False)
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(enabled)


# attention from elementary operations, which have forward derivatives; fused ones have not
plain_attention = partial(sdpa_kernel, SDPBackend.MATH)
