"""Passes of a model in which every residual block is measured and gives another stream; tangents that go with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from torch import nn

from ....core.errors import DeclarationError
from ...models.arguments_of_models import CallArguments
from ...models.observing import hooked
from ...models.structures import first_tensor, with_first_tensor
from ...probing.network_passes import mean_products
from ..batch_errors import SignSource
from ..gradient_passes import Additions, run_with_gradients
from .residual_places import PlaceKind, ResidualPlace


@dataclass(frozen=True)
class Visit:
    """A residual block in a pass.

    Args:
        place: the block.
        stream: z, with a graph from it to ``result``.
        result: what leaves the module: z + R(z) of a block, R(z) of a branch.
        again: runs the module once more on the same, and returns the same tensor of what leaves it, without a graph.
        raw: of a branch, what left the module before reshapes led it to the sum; else the same as ``result``.
        attached: the stream with its graph from ``last``.
        last: what the action returned at the block before; None at the first block.
    """

    place: ResidualPlace
    stream: torch.Tensor
    result: torch.Tensor
    again: Callable[[], torch.Tensor]
    raw: torch.Tensor
    attached: torch.Tensor
    last: torch.Tensor | None


VisitAction: TypeAlias = Callable[[Visit], torch.Tensor]  # returns the stream that goes on


def pass_over_places(
    model: nn.Module, places: tuple[ResidualPlace, ...], arguments: CallArguments, action: VisitAction
) -> None:
    """One pass of a model; what the action returns at a block goes on in place of what the block gave.

    The graph is cut behind every block, so that memory does not grow with depth.

    Args:
        model: prepared by ``kept``.
        places: in it, in the order of execution.
        arguments: the inputs.
        action: what is done at each place.

    Raises:
        DeclarationError: the model does not take the inputs, or comes by other places than before.
    """
    watch = _Watch(places, action)
    with hooked({place.name: place.module for place in places}, watch.entering, watch.leaving):
        run_with_gradients(model, arguments, watch.additions)
    if missing := [place.name for place in places if place.name not in watch.done]:
        raise DeclarationError(
            f"the tuning of {missing[0]}", "two passes of the model add different tensors", "choose whole blocks"
        )


class _Watch:
    """What is known of a pass while it goes on."""

    def __init__(self, places: tuple[ResidualPlace, ...], action: VisitAction) -> None:
        self._action = action
        self._places = {place.name: place for place in places}
        self._branches = {place.addition: place for place in places if place.kind is PlaceKind.BRANCH}
        self._leaves: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}  # what enters a block, and its copy
        self._last: torch.Tensor | None = None
        self._left: dict[str, tuple[torch.Tensor, Callable[[], torch.Tensor]]] = {}
        self._busy = False
        self.done: set[str] = set()
        self.additions = Additions(self._summed)

    def entering(
        self, name: str, module: nn.Module, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> tuple[tuple[object, ...], dict[str, object]] | None:
        """What enters the module of a place: a block gets a copy that has a graph of its own."""
        stream = first_tensor((args, kwargs))
        if self._busy or self._places[name].kind is PlaceKind.BRANCH or stream is None:
            return None
        leaf = stream.detach().clone().requires_grad_()
        self._leaves[name] = stream, leaf
        copied = CallArguments(args, kwargs).with_differentiable(leaf.clone())  # a leaf must not change in place
        return copied.args, dict(copied.kwargs)

    def leaving(
        self, name: str, module: nn.Module, args: tuple[object, ...], kwargs: Mapping[str, object], output: object
    ) -> object:
        """What leaves it: of a block, the stream that the action returns."""
        place, result = self._places[name], first_tensor(output)
        if self._busy or result is None:
            return None
        arguments = CallArguments(args, kwargs).map(torch.detach)
        if place.kind is PlaceKind.BLOCK:  # it may have changed in place what entered it
            arguments = arguments.with_differentiable(self._leaves[name][1].detach())

        def again() -> torch.Tensor:
            self._busy = True
            try:
                with torch.no_grad(), self.additions.paused():
                    made = first_tensor(arguments.call(module))
            finally:
                self._busy = False
            assert made is not None
            return made

        if place.kind is PlaceKind.BRANCH:
            self._left[name] = result, again
            return None
        attached, leaf = self._leaves.pop(name)
        visit = Visit(place, leaf, result, again, result, attached, self._last)
        return with_first_tensor(output, self._acted(visit))

    def _summed(self, number: int, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor | None:
        place = self._branches.get(number)
        if place is None or place.name not in self._left:
            return None
        raw, again = self._left.pop(place.name)
        stream, branch = (left, right) if place.term else (right, left)
        return self._acted(Visit(place, stream, branch, again, raw, stream, self._last))

    def _acted(self, visit: Visit) -> torch.Tensor:
        self.done.add(visit.place.name)
        with self.additions.paused():
            new = self._action(visit)
        self._last = new.detach().to(visit.stream.dtype).requires_grad_()
        return self._last.clone()  # a leaf must not be changed in place


@dataclass(frozen=True)
class TangentSample:
    """Measurements of one block, shape (inputs, probes).

    Args:
        T_zz: mean square of a tangent that enters.
        T_RR: of what the Jacobian of the branch makes of it.
        T_Rz: mean product of both.
    """

    T_zz: np.ndarray
    T_RR: np.ndarray
    T_Rz: np.ndarray

    def leaving(self, gamma: float, xi: float) -> np.ndarray:
        """Mean square behind the block, shape (inputs, probes)."""
        return gamma**2 * self.T_zz + 2 * gamma * xi * self.T_Rz + xi**2 * self.T_RR


class Perturbations:
    """Tangents that enter at the first residual block and are carried through the tuned ones: APJN from there on.

    A tangent u with entries +-1 at the first block becomes ``u' = gamma u + xi (dR/dz) u`` behind a block. Its mean
    square, averaged over the signs, is the APJN from the first block, and obeys the equation of the kernel, PDLT
    (B.44), with tangents in the place of the stream. It counts what chi of single blocks leaves out: that Jacobians of
    blocks are correlated.

    Args:
        sources: of their signs, one for each tangent.
        size: the number of inputs.
    """

    def __init__(self, sources: Sequence[SignSource], size: int) -> None:
        self._sources, self._size = sources, size
        self._tangents: list[torch.Tensor] = []
        self._moved: list[torch.Tensor] = []

    def sample(self, visit: Visit, branch: torch.Tensor) -> TangentSample:
        """Carry the tangents to a block and through its branch.

        Args:
            visit: the block in a pass.
            branch: R(z), with a graph from ``visit.stream``.

        Raises:
            DeclarationError: no tangent arrives.
        """
        if visit.last is None:
            self._tangents = [signs.draw(visit.stream) for signs in self._sources]
        elif not torch.equal(visit.last, visit.stream):  # modules that are no blocks lie between
            moved = _pushed(visit.last, visit.attached, self._tangents)
            if moved is None:
                raise DeclarationError(
                    f"the tuning of {visit.place.name}",
                    "its stream does not depend on that of the block before",
                    "use target='gradient', or tune each chain of blocks by itself",
                )
            self._tangents = moved
        self._moved = _pushed(visit.stream, branch, self._tangents) or [torch.zeros_like(u) for u in self._tangents]
        pairs = (self._tangents, self._tangents), (self._moved, self._moved), (self._tangents, self._moved)
        return TangentSample(*(self._products(*pair) for pair in pairs))

    def advance(self, gamma: float, xi: float) -> None:
        """Go on behind the block that was sampled last."""
        self._tangents = [gamma * u + xi * v for u, v in zip(self._tangents, self._moved, strict=True)]

    def _products(self, first: Sequence[torch.Tensor], second: Sequence[torch.Tensor]) -> np.ndarray:
        return np.stack([mean_products(u, v, self._size) for u, v in zip(first, second, strict=True)], axis=1)


def _pushed(source: torch.Tensor, result: torch.Tensor, tangents: Sequence[torch.Tensor]) -> list[torch.Tensor] | None:
    """The Jacobian of a result times each tangent, by differentiating a reverse pass, which is linear in its cotangent;
    None where the result does not depend on the source."""
    cotangent = torch.zeros_like(result, requires_grad=True)
    with torch.enable_grad():
        (gradient,) = torch.autograd.grad(result, source, cotangent, create_graph=True, allow_unused=True)
    if gradient is None:
        return None
    found = []
    for tangent in tangents:
        (moved,) = torch.autograd.grad(gradient, cotangent, tangent, retain_graph=True, allow_unused=True)
        found.append(torch.zeros_like(result) if moved is None else moved)
    return found
