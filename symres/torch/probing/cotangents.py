"""Squared norms of the Jacobians from every place to the output, and gradients of a loss, by reverse passes.

One reverse pass takes a cotangent with entries +-1 from the output back to all places. The sum of its squares at a
place over N_L is, averaged over the signs, ``(1/N_L) sum_ij (dh^L_i/dh^l_j)^2`` of each input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch

from ..models.in_place import without_gradients
from ..models.observing import Site
from .network_passes import Passes, squares

LossFunction = Callable[[object], torch.Tensor]


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

    @property
    def is_differentiable(self) -> bool:
        """Whether the output depends on the input or on a place by differentiable operations."""
        return self.output is not None and self.output.requires_grad

    def gradients(self, of: torch.Tensor, cotangent: torch.Tensor | None = None) -> np.ndarray:
        """The sum of the squares of the gradient at each place, of each input.

        Args:
            of: the output, or a loss.
            cotangent: weights of its entries; None for a scalar.

        Returns:
            Shape (places, inputs); 0 where ``of`` does not depend on a place, nan at places without a graph.

        Raises:
            DeclarationError: the model cannot be differentiated in reverse mode.
        """
        found = self._table["rows"] = self._passes.table()
        sites, leaves = list(self._leaves), list(self._leaves.values())
        try:
            gradients = torch.autograd.grad(of, leaves, cotangent, retain_graph=True, allow_unused=True)
        except RuntimeError as error:
            if isinstance(error, torch.cuda.OutOfMemoryError):
                raise
            raise without_gradients(self._passes.model, self._passes.arguments, error) from error
        for site, gradient in zip(sites, gradients, strict=True):
            if site is not None and gradient is not None:
                found[self._passes.row(site)] = squares(gradient, self._passes.size)
        for site in self._hidden:
            found[self._passes.row(site)] = np.nan
        return found

    def loss_gradients(self, loss: LossFunction) -> np.ndarray:
        """The squared norm of the gradient of a loss at each place, of each input; shape (places, inputs)."""
        with torch.enable_grad():
            value = loss(self._returned)
        return self.gradients(value) if value.requires_grad else self._passes.table(np.nan)


def cotangent_norms(
    passes: Passes, rngs: list[np.random.Generator], exact: bool, loss: LossFunction | None
) -> Iterator[tuple[np.ndarray | None, np.ndarray | None]]:
    """Norms from the places to the output for one probe after the other, and first those of the gradient of a loss.

    Args:
        passes: the network.
        rngs: sources of the signs, one for each probe.
        exact: all entries of the output, one after the other, instead of probes; the result is their sum.
        loss: of what the model returns; None: no loss.

    Returns:
        The squared gradients of the loss and None, if there is a loss; then None and the norms of each probe, shape
        (places, inputs). Where the output is not differentiable, no norms.
    """
    graph = ReverseGraph(passes)
    if loss is not None:
        yield graph.loss_gradients(loss), None
    if not graph.is_differentiable:
        return
    for rng in rngs[:1] if exact else rngs:
        graph = ReverseGraph(passes) if passes.stochastic and rng is not rngs[0] else graph
        output = graph.output
        assert output is not None
        entries = output.numel() // passes.size
        total = passes.table()
        for position in range(passes.directions(entries)) if exact else [None]:
            total += graph.gradients(output, passes.direction(position, rng, output))
        yield None, total / entries


def entries_of_output(passes: Passes) -> int | None:
    """The number N_L of entries of the output of one input; None where it has no floating-point numbers."""
    with torch.no_grad():
        output = passes.output(passes.run(lambda site, tensor: None))
    return None if output is None else output.numel() // passes.size
