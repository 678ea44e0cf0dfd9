"""Passes of a model in which something is done at every tuned place, and another stream goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import nn

from ..models.call_arguments import CallArguments, first_tensor, with_first_tensor
from ..models.observing import hooked
from .tuned_places import Additions, PlaceKind, TunedPlace, run_with_gradients


@dataclass(frozen=True)
class Visit:
    """A place in a pass.

    Args:
        place: which one.
        stream: z, with a graph from it to ``result``; of a layer the same as ``result``.
        result: what leaves the module: z + R(z) of a block, R(z) of a branch, W a + b of a layer.
        again: runs the module once more on the same, and returns the same tensor of what leaves it, without a graph.
        raw: of a branch, what left the module before reshapes led it to the sum; else the same as ``result``.
        attached: the stream with its graph from ``last``.
        last: what the action returned at the place before; None at the first one.
    """

    place: TunedPlace
    stream: torch.Tensor
    result: torch.Tensor
    again: Callable[[], torch.Tensor]
    raw: torch.Tensor
    attached: torch.Tensor
    last: torch.Tensor | None


VisitAction: TypeAlias = Callable[[Visit], torch.Tensor]  # returns the stream that goes on


def pass_over_places(
    model: nn.Module, places: tuple[TunedPlace, ...], arguments: CallArguments, action: VisitAction
) -> None:
    """One pass of a model prepared by ``kept``; what the action returns at a place goes on in the place of its output.

    The graph is cut behind every place, so that memory does not grow with depth.

    Raises:
        DeclarationError: the model does not take the inputs, or comes by other places than before, or several times.
    """
    watch = _Watch(places, action)
    with hooked({place.name: place.module for place in places}, watch.entering, watch.leaving):
        run_with_gradients(model, arguments, watch.additions)
    for place in places:
        if place.name not in watch.done and place.kind is PlaceKind.LAYER:
            raise place.refused("it is not called in a pass of the model", "choose other layers")
        if place.name not in watch.done:
            raise place.refused("two passes of the model add different tensors", "choose whole blocks")


class _Watch:
    """What is known of a pass while it goes on."""

    def __init__(self, places: tuple[TunedPlace, ...], action: VisitAction) -> None:
        self._action = action
        self._places = {place.name: place for place in places}
        self._branches = {place.addition: place for place in places if place.kind is PlaceKind.BRANCH}
        self._leaves: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}  # what enters a block, and its copy
        self._last: torch.Tensor | None = None
        self._left: dict[str, tuple[torch.Tensor, Callable[[], torch.Tensor]]] = {}
        self.done: set[str] = set()
        self.additions = Additions(self._summed)

    def entering(
        self, name: str, module: nn.Module, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> tuple[tuple[object, ...], dict[str, object]] | None:
        """What enters the module of a place: a block gets a copy that has a graph of its own."""
        stream = first_tensor((args, kwargs))
        if self.additions.is_paused or self._places[name].kind is not PlaceKind.BLOCK or stream is None:
            return None
        leaf = stream.detach().clone().requires_grad_()
        self._leaves[name] = stream, leaf
        copied = CallArguments(args, kwargs).with_differentiable(leaf.clone())  # a leaf must not change in place
        return copied.args, dict(copied.kwargs)

    def leaving(
        self, name: str, module: nn.Module, args: tuple[object, ...], kwargs: Mapping[str, object], output: object
    ) -> object:
        """What leaves it: of a block or layer, what the action returns."""
        place, result = self._places[name], first_tensor(output)
        if self.additions.is_paused or result is None:
            return None
        arguments = CallArguments(args, kwargs).map(torch.detach)
        if place.kind is PlaceKind.BLOCK:  # it may have changed in place what entered it
            arguments = arguments.with_differentiable(self._leaves[name][1].detach())

        def again() -> torch.Tensor:
            with torch.no_grad():
                made = first_tensor(arguments.call(module))
            assert made is not None
            return made

        if place.kind is PlaceKind.BRANCH:
            self._left[name] = result, again
            return None
        attached, stream = self._leaves.pop(name) if place.kind is PlaceKind.BLOCK else (result, result)
        return with_first_tensor(output, self._acted(Visit(place, stream, result, again, result, attached, self._last)))

    def _summed(self, number: int, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor | None:
        place = self._branches.get(number)
        if place is None or place.name not in self._left:
            return None
        raw, again = self._left.pop(place.name)
        stream, branch = (left, right) if place.term else (right, left)
        return self._acted(Visit(place, stream, branch, again, raw, stream, self._last))

    def _acted(self, visit: Visit) -> torch.Tensor:
        if visit.place.name in self.done:
            raise visit.place.refused("it is called several times in a pass", "choose layers called once")
        self.done.add(visit.place.name)
        self.additions.is_paused = True
        try:
            new = self._action(visit)
        finally:
            self.additions.is_paused = False
        self._last = new.detach().to(visit.stream.dtype).requires_grad_()
        return self._last.clone()  # a leaf must not be changed in place
