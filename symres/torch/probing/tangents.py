"""Squared norms of the Jacobians from the start to every place, by forward-mode differentiation.

One pass carries a tangent with entries +-1 from the start to all places. Its mean square at a place is, averaged over
the signs, ``(1/N_l) sum_ij (dh^l_i/dh^0_j)^2`` of each input (Hutchinson; Doshi et al. (3)).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch.autograd import forward_ad

from ..models.observing import Site
from .network_passes import Passes, plain_attention, squares


def entries_at_start(passes: Passes) -> int:
    """The number N_0 of entries of one input at the start."""
    found: list[int] = []
    if passes.start is None:
        assert passes.arguments.differentiable is not None
        return passes.arguments.differentiable.numel() // passes.size

    def note(site: Site, tensor: torch.Tensor) -> None:
        if site == passes.start:
            found.append(tensor.numel() // passes.size)

    with torch.no_grad():
        passes.run(note)
    return found[0]


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
    size, found = passes.size, passes.table(np.nan if passes.start is not None else 0.0)

    def dual(tensor: torch.Tensor) -> torch.Tensor:
        return forward_ad.make_dual(tensor, passes.direction(position, rng, tensor))

    def at(site: Site, tensor: torch.Tensor) -> torch.Tensor | None:
        row, entries = passes.row(site), tensor.numel() // size
        if site == passes.start:
            found[:] = 0.0
            found[:row] = np.nan
            found[row] = 1.0 if position is None else 1.0 / passes.directions(entries)
            return dual(tensor.clone())
        tangent = forward_ad.unpack_dual(tensor).tangent
        if tangent is not None:
            found[row] = squares(tangent, size) / entries
        return None

    with torch.no_grad(), plain_attention(), forward_ad.dual_level():
        passes.run(at, dual if passes.start is None else None)
    return found


def reverse_norms(passes: Passes, rng: np.random.Generator, exact: bool, step: Callable[[], None]) -> np.ndarray:
    """The norms of ``tangent_norms`` where an operation has no forward rule: one reverse pass for every place.

    Args:
        passes: the network.
        rng: source of the signs of cotangents at the places.
        exact: all entries of every place, one after the other.
        step: called after every place.

    Returns:
        As for ``tangent_norms``.
    """
    size, found = passes.size, passes.table(np.nan if passes.start is not None else 0.0)
    first: list[torch.Tensor] = []
    there: dict[Site, torch.Tensor] = {}

    def leaf(tensor: torch.Tensor) -> torch.Tensor:
        first.append(tensor.detach().clone().requires_grad_())
        return first[0].clone()  # a leaf must not be changed in place

    def at(site: Site, tensor: torch.Tensor) -> torch.Tensor | None:
        if site == passes.start:
            found[:] = 0.0
            found[: passes.row(site)] = np.nan
            found[passes.row(site)] = 1.0
            return leaf(tensor)
        if not torch.is_grad_enabled():  # inside of torch.no_grad: it has no graph
            found[passes.row(site)] = np.nan
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
                    found[passes.row(site)] += squares(gradient, size) / entries
            step()
    return found
