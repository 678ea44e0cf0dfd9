"""Passes of one network over one part of the inputs: something done at each place, Jacobians, gradients of a loss.

One pass carries a tangent with entries +-1 from the start to all places. Its mean square at a place is, averaged over
the signs, ``(1/N_l) sum_ij (dh^l_i/dh^0_j)^2`` of each input (Hutchinson; Doshi et al. (3)). One reverse pass takes a
cotangent with entries +-1 from the output back to all places. The sum of its squares at a place over N_L is, averaged
over the signs, ``(1/N_L) sum_ij (dh^L_i/dh^l_j)^2`` of each input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np
import torch
from torch import nn
from torch.autograd import forward_ad
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from ...core.errors import DeclarationError
from ..models.call_arguments import CallArguments, first_tensor
from ..models.choosing import ChosenModules
from ..models.model_state import without_gradients
from ..models.observing import Action, Site, watching

LossFunction = Callable[[object], torch.Tensor]
Loss: TypeAlias = str | LossFunction


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
        direction = torch.zeros(like.numel(), dtype=like.dtype, device=like.device)
        if self.coupled:
            direction[position] = 1.0
        else:
            direction[position :: like.numel() // self.size] = signs(rng, direction[: self.size])
        return direction.reshape(like.shape)

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
        output = first_tensor(returned)
        return None if output is None or not counts_inputs(output, self.size) else output


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


def tangent_norms(passes: Passes, rng: np.random.Generator, position: int | None = None) -> np.ndarray:
    """The mean square of a tangent at each place.

    Args:
        passes: the network.
        rng: source of the signs, which are independent for each input.
        position: the entry of the start that varies; None: all of them.

    Returns:
        Shape (places, inputs); nan at places before the start, 1 at the start (its share for one entry).

    Raises:
        NotImplementedError, RuntimeError: an operation that has no forward rule.
    """
    size, norms = passes.size, passes.norms_from_start()

    def dual(tensor: torch.Tensor) -> torch.Tensor:
        return forward_ad.make_dual(tensor, passes.direction(position, rng, tensor))

    def at(site: Site, tensor: torch.Tensor) -> torch.Tensor | None:
        row, entries = passes.row(site), tensor.numel() // size
        if site == passes.start:
            norms[row:] = 0.0
            norms[row] = 1.0 if position is None else 1.0 / passes.directions(entries)
            return dual(tensor.clone())
        tangent = forward_ad.unpack_dual(tensor).tangent
        if tangent is not None:
            norms[row] = squares(tangent, size) / entries
        return None

    with torch.no_grad(), plain_attention(), forward_ad.dual_level():
        passes.run(at, dual if passes.start is None else None)
    return norms


def reverse_norms(passes: Passes, rng: np.random.Generator, exact: bool) -> np.ndarray:
    """The norms of ``tangent_norms`` where an operation has no forward rule: one reverse pass for every place.

    Args:
        passes: the network.
        rng: source of the signs of the cotangents at the places.
        exact: whether all entries of every place, one after the other, take the place of random signs.

    Returns:
        As for ``tangent_norms``.
    """
    size, norms = passes.size, passes.norms_from_start()
    first: list[torch.Tensor] = []
    there: dict[Site, torch.Tensor] = {}

    def leaf(tensor: torch.Tensor) -> torch.Tensor:
        first.append(tensor.detach().clone().requires_grad_())
        return first[0].clone()  # a leaf must not be changed in place

    def at(site: Site, tensor: torch.Tensor) -> torch.Tensor | None:
        if site == passes.start:
            norms[passes.row(site) :] = 0.0
            norms[passes.row(site)] = 1.0
            return leaf(tensor)
        if not torch.is_grad_enabled():  # inside of torch.no_grad: it has no graph
            norms[passes.row(site)] = np.nan
        elif tensor.requires_grad:
            there[site] = tensor.clone()  # what comes afterwards may change it in place
        return None

    with torch.enable_grad():
        passes.run(at, leaf if passes.start is None else None)
        for site, tensor in there.items():
            entries = tensor.numel() // size
            for position in range(passes.directions(entries)) if exact else [None]:
                cotangent = passes.direction(position, rng, tensor)
                (gradient,) = torch.autograd.grad(tensor, first[0], cotangent, retain_graph=True, allow_unused=True)
                if gradient is not None:
                    norms[passes.row(site)] += squares(gradient, size) / entries
    return norms


class ReverseGraph:
    """The graph of one pass, through which several reverse passes go.

    Gradients are taken where tensors were when the pass came by, also where they are changed in place afterwards.

    Args:
        passes: the network.
    """

    def __init__(self, passes: Passes) -> None:
        self._passes = passes
        self._leaves: dict[Site | None, torch.Tensor] = {}
        self._hidden: list[Site] = []
        # what a reverse pass finds; hooks of a graph may refer to it, but not to the graph, which then never went
        self._table = {"rows": passes.table()}
        with torch.enable_grad():
            self._returned = passes.run(self._at, lambda tensor: self._leaf(None, tensor))
        self.output = passes.output(self._returned)

    def _leaf(self, site: Site | None, tensor: torch.Tensor) -> torch.Tensor:
        leaf = self._leaves[site] = tensor.detach().clone().requires_grad_()
        return leaf.clone()  # a leaf must not be changed in place

    def _at(self, site: Site, tensor: torch.Tensor) -> torch.Tensor | None:
        if not torch.is_grad_enabled():  # inside of torch.no_grad: it has no graph
            self._hidden.append(site)
            return None
        if not tensor.requires_grad:  # nothing differentiable came before, as behind integer inputs
            return self._leaf(site, tensor)
        table, row, size = self._table, self._passes.row(site), self._passes.size

        def note(gradient: torch.Tensor) -> None:
            table["rows"][row] = squares(gradient, size)

        tensor.register_hook(note)
        return None

    def gradients(self, of: torch.Tensor, cotangent: torch.Tensor | None = None) -> np.ndarray:
        """The sum of the squares of the gradient of an output or of a loss at each place, of each input.

        Returns:
            Shape (places, inputs); 0 where ``of`` does not depend on a place, nan at places without a graph.

        Raises:
            DeclarationError: the model cannot be differentiated in reverse mode.
        """
        rows = self._table["rows"] = self._passes.table()
        sites, leaves = list(self._leaves), list(self._leaves.values())
        try:
            gradients = torch.autograd.grad(of, leaves, cotangent, retain_graph=True, allow_unused=True)
        except RuntimeError as error:
            if isinstance(error, torch.cuda.OutOfMemoryError):
                raise
            raise without_gradients(self._passes.model, self._passes.arguments, error) from error
        for site, gradient in zip(sites, gradients, strict=True):
            if site is not None and gradient is not None:
                rows[self._passes.row(site)] = squares(gradient, self._passes.size)
        for site in self._hidden:
            rows[self._passes.row(site)] = np.nan
        return rows

    def loss_gradients(self, loss: LossFunction) -> np.ndarray:
        """The squared norm of the gradient of a loss at each place, of each input; shape (places, inputs)."""
        with torch.enable_grad():
            value = loss(self._returned)
        return self.gradients(value) if value.requires_grad else self._passes.table(np.nan)


def _mean_square(output: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    if output.shape != targets.shape:
        raise DeclarationError(
            "loss='mse'", f"outputs are {tuple(output.shape)}, targets {tuple(targets.shape)}", "give equal shapes"
        )
    return functional.mse_loss(output, targets.to(output))


def _cross_entropy(output: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    if output.shape[:-1] != targets.shape or targets.is_floating_point():
        raise DeclarationError(
            "loss='cross_entropy'",
            f"outputs are {tuple(output.shape)}, targets {tuple(targets.shape)} {targets.dtype}",
            "give the integer of the class for each row of the output, whose last axis counts classes",
        )
    return functional.cross_entropy(output.flatten(0, -2), targets.flatten())


_NAMED = {"mse": _mean_square, "cross_entropy": _cross_entropy}


def loss_of_part(loss: Loss | None, targets: torch.Tensor | None, part: slice, size: int) -> LossFunction | None:
    """The loss of a part of the inputs, as a function of what the model returns; a name needs targets.

    Raises:
        DeclarationError: an unknown name, missing targets, or (when it is called) a loss that is no single number.
    """
    if loss is None:
        return None
    if not isinstance(loss, str):
        return lambda returned: _single(loss(returned))
    if loss not in _NAMED:
        raise DeclarationError(f"loss={loss!r}", "unknown loss", f"use {' or '.join(_NAMED)}, or a function")
    if targets is None or targets.shape[:1] != (size,):
        raise DeclarationError(f"loss={loss!r}", f"it needs targets for the {size} inputs", "pass targets=")
    named, targets_of_part = _NAMED[loss], targets[part]

    def judged(returned: object) -> torch.Tensor:
        output = first_tensor(returned)
        if output is None:
            raise DeclarationError(f"loss={loss!r}", "the model returns no floating-point numbers", "pass a function")
        return _single(named(output, targets_of_part.to(output.device)))

    return judged


def _single(value: object) -> torch.Tensor:
    if not isinstance(value, torch.Tensor) or value.numel() != 1:
        raise DeclarationError("the loss", "it is not a tensor with a single number", "return a mean over the inputs")
    return value.reshape(())
