"""Where a chosen module stands in a model: a whole residual block, or a branch whose output is added to a stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import torch
from torch import nn

from ....core.errors import DeclarationError
from ...models.arguments_of_models import CallArguments
from ...models.observing import hooked
from ...models.structures import first_tensor
from ..gradient_passes import Additions, run_with_gradients

_ASKED = "the tuning of"


class PlaceKind(Enum):
    """What a chosen module is."""

    BLOCK = "block"  # its output is the stream: z + R(z)
    BRANCH = "branch"  # its output is R, which the model adds to a stream


@dataclass(frozen=True)
class ResidualPlace:
    """A residual block.

    Args:
        name: of the module.
        module: the block z -> z + R(z), or the branch.
        kind: which of both.
        has_skip: whether the skip connection was seen: a sum with the stream as one of its terms.
        addition: of a branch, the number of the sum in a pass of the model; -1 for a block.
        term: of a branch, which term of the sum it is, 0 or 1.
    """

    name: str
    module: nn.Module
    kind: PlaceKind
    has_skip: bool
    addition: int = -1
    term: int = 0


@dataclass(frozen=True)
class _Sum:
    number: int
    terms: tuple[torch.Tensor, torch.Tensor]
    nodes: tuple[object, object]


@dataclass(frozen=True)
class _Call:
    stream: torch.Tensor
    stream_node: object
    output_node: object
    shapes: tuple[torch.Size, torch.Size]
    sums: range  # those inside of the module


def residual_places(
    model: nn.Module, modules: Mapping[str, nn.Module], arguments: CallArguments, *, only_clear: bool = False
) -> tuple[ResidualPlace, ...]:
    """Places in the order of execution, found in one pass.

    A module is a block if what enters it, perhaps times a weight, is a term of a sum inside of it, or if nothing else
    is found; it is a branch
    if the first later sum of which one term depends on its output and the other does not is a sum with the stream that
    it was computed from.

    Args:
        model: prepared by ``kept``; its parameters are made to require gradients.
        modules: the chosen ones, by name.
        arguments: the inputs.
        only_clear: leave out modules that are no blocks with a skip connection that is seen, instead of refusing them.

    Raises:
        DeclarationError: a module is inside of another one, is not called, or several times, or a block changes the
            shape of the stream.
    """
    _not_nested(modules)
    calls, sums, order = _recorded(model, modules, arguments)
    found = []
    for name in order:
        if only_clear and (order.count(name) > 1 or calls[name].shapes[0] != calls[name].shapes[1]):
            continue
        if order.count(name) > 1:
            raise DeclarationError(
                f"{_ASKED} {name}", f"it is called {order.count(name)} times in a pass", "choose modules called once"
            )
        found.append(_place(name, modules[name], calls[name], sums))
    if only_clear:
        return tuple(place for place in found if place.has_skip)
    if missing := [name for name in modules if name not in calls]:
        raise DeclarationError(
            f"{_ASKED} {missing[0]}", "no tensor passes through it in a pass of the model", "choose other blocks"
        )
    return tuple(found)


def _not_nested(modules: Mapping[str, nn.Module]) -> None:
    inside = Counter(id(part) for module in modules.values() for part in module.modules())
    if inner := [name for name, module in modules.items() if inside[id(module)] > 1]:
        raise DeclarationError(
            f"{_ASKED} {inner[0]}", "it is part of another chosen module", "choose a block or its branches, not both"
        )


def _recorded(
    model: nn.Module, modules: Mapping[str, nn.Module], arguments: CallArguments
) -> tuple[dict[str, _Call], list[_Sum], list[str]]:
    sums: list[_Sum] = []
    calls: dict[str, _Call] = {}
    entered: dict[str, tuple[torch.Tensor, object, int]] = {}
    order: list[str] = []

    def summed(number: int, left: torch.Tensor, right: torch.Tensor) -> None:
        sums.append(_Sum(number, (left, right), (left.grad_fn, right.grad_fn)))

    additions = Additions(summed)

    def entering(name: str, module: nn.Module, args: object, kwargs: object) -> None:
        stream = first_tensor((args, kwargs))
        if stream is not None:
            entered[name] = stream, stream.grad_fn, additions.count

    def leaving(name: str, module: nn.Module, args: object, kwargs: object, output: object) -> None:
        tensor = first_tensor(output)
        if tensor is not None and name in entered:
            stream, node, first = entered[name]
            shapes = stream.shape, tensor.shape
            calls[name] = _Call(stream, node, tensor.grad_fn, shapes, range(first, additions.count))
            order.append(name)

    with hooked(modules, entering, leaving):
        run_with_gradients(model, arguments, additions)
    return calls, sums, order


def _place(name: str, module: nn.Module, call: _Call, sums: list[_Sum]) -> ResidualPlace:
    for inner in sums[call.sums.start : call.sums.stop]:
        if any(_is_stream(inner, term, call) for term in (0, 1)):
            return _block(name, module, call, True)
    for later in sums[call.sums.stop :]:
        depends = [_depends(node, call.output_node) for node in later.nodes]
        if all(depends):
            break
        if any(depends):
            branch = depends.index(True)
            if _depends(later.nodes[branch], later.nodes[1 - branch]):
                return ResidualPlace(name, module, PlaceKind.BRANCH, True, later.number, branch)
    return _block(name, module, call, False)


def _is_stream(found: _Sum, term: int, call: _Call) -> bool:
    """Whether a term of a sum is the stream, or two operations away from it (a copy, times a weight), and the other one
    depends on the stream too."""
    near, reached = False, [found.nodes[term]]
    for _ in range(2):
        nodes = [node for node in reached if isinstance(node, torch.autograd.graph.Node)]
        reached = [before for node in nodes for before, _ in node.next_functions]
        near = near or any(node is call.stream_node for node in reached)
    return (found.terms[term] is call.stream or near) and _depends(found.nodes[1 - term], call.stream_node)


def _block(name: str, module: nn.Module, call: _Call, has_skip: bool) -> ResidualPlace:
    if call.shapes[0] != call.shapes[1]:
        entering, leaving = map(tuple, call.shapes)
        raise DeclarationError(
            f"{_ASKED} {name}",
            f"it changes the shape of the stream from {entering} to {leaving}",
            "choose blocks that keep it",
        )
    return ResidualPlace(name, module, PlaceKind.BLOCK, has_skip)


def _depends(node: object, on: object) -> bool:
    """Whether a node of the graph comes after another one; nodes are numbered in the order in which they are made."""
    if not isinstance(node, torch.autograd.graph.Node) or not isinstance(on, torch.autograd.graph.Node):
        return False
    least, seen, waiting = on._sequence_nr(), {node}, [node]
    while waiting:
        present = waiting.pop()
        if present is on:
            return True
        for before, _ in present.next_functions:
            if before is not None and before not in seen and before._sequence_nr() >= least:
                seen.add(before)
                waiting.append(before)
    return False
