"""Where the tuned parts of a model stand: layers, whole residual blocks, or branches that are added to a stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import torch
from torch import nn
from torch.autograd.graph import Node
from torch.overrides import TorchFunctionMode

from ...core.errors import DeclarationError
from ..models.call_arguments import CallArguments, first_tensor
from ..models.keeping import passing
from ..models.observing import hooked
from ..probing.network_passes import plain_attention

_SUMS = {torch.add, torch.Tensor.add, torch.Tensor.__add__, torch.Tensor.__radd__}
_IN_PLACE = {torch.Tensor.add_, torch.Tensor.__iadd__}

SumAction: TypeAlias = Callable[[int, torch.Tensor, torch.Tensor], torch.Tensor | None]


class Additions(TorchFunctionMode):
    """A context in which something is done at every sum of two tensors of floating-point numbers of one shape.

    Args:
        action: of the number of the sum (from 0) and both terms; a tensor that it returns takes the place of the sum.

    Attributes:
        is_paused: whether sums are neither counted nor acted upon.
    """

    def __init__(self, action: SumAction) -> None:
        super().__init__()
        self._action = action
        self._count = 0
        self.is_paused = False

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: tuple[object, ...] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        if not self.is_paused and not kwargs and len(args) == 2 and (func in _SUMS or func in _IN_PLACE):
            left, right = args
            if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor) and _alike(left, right):
                number, self._count = self._count, self._count + 1
                new = self._action(number, left, right)
                if new is None:
                    return func(*args)
                if func in _SUMS:
                    return new
                left.data = new.detach()  # whoever holds the left term sees the sum
                return left
        return func(*args, **(kwargs or {}))


def _alike(left: torch.Tensor, right: torch.Tensor) -> bool:
    has_parameter = isinstance(left, nn.Parameter) or isinstance(right, nn.Parameter)
    return left.is_floating_point() and right.is_floating_point() and left.shape == right.shape and not has_parameter


def run_with_gradients(model: nn.Module, arguments: CallArguments, additions: Additions) -> None:
    """One pass in which every tensor has its graph, also behind integer inputs.

    Raises:
        DeclarationError: the model does not take the inputs.
    """
    for parameter in model.parameters():
        if parameter.is_floating_point():
            parameter.requires_grad_()
    if arguments.differentiable is not None:
        arguments = arguments.with_differentiable(arguments.differentiable.detach().requires_grad_())
    with torch.enable_grad(), plain_attention(), additions, passing(model):
        arguments.call(model)


def sums_in(model: nn.Module, arguments: CallArguments) -> int:
    """How many sums of two tensors that depend on inputs or parameters a pass comes by."""
    return sum(None not in terms for terms in _recorded(model, {}, arguments)[1])


class PlaceKind(Enum):
    """What a chosen module is."""

    BLOCK = "block"  # its output is the stream: z + R(z)
    BRANCH = "branch"  # its output is R, which the model adds to a stream
    LAYER = "layer"  # its output is W a + b


@dataclass(frozen=True)
class TunedPlace:
    """A module that is tuned.

    Args:
        name: of the module.
        module: the block z -> z + R(z), the branch, or the layer.
        kind: which of them.
        has_skip: whether the skip connection was seen: a sum with the stream as one of its terms.
        addition: of a branch, the number of the sum in a pass of the model; -1 for others.
        term: of a branch, which term of the sum it is, 0 or 1.
    """

    name: str
    module: nn.Module
    kind: PlaceKind
    has_skip: bool = False
    addition: int = -1
    term: int = 0

    @property
    def asked(self) -> str:
        """What an error is about."""
        return f"the {'rescaling' if self.kind is PlaceKind.LAYER else 'tuning'} of {self.name}"

    def refused(self, found: str, remedy: str) -> DeclarationError:
        """The error that names the module."""
        return DeclarationError(self.asked, found, remedy)


_Sum: TypeAlias = tuple[Node | None, Node | None]  # where the graphs of its terms end


@dataclass(frozen=True)
class _Call:
    entered: Node | None
    left: Node | None
    shapes: tuple[torch.Size, torch.Size]
    inside: range  # numbers of the sums inside of the module


def layer_places(model: nn.Module, layers: Mapping[str, nn.Module]) -> tuple[TunedPlace, ...]:
    """Places of dense or convolutional layers.

    Raises:
        DeclarationError: one of them has no matrix of weights that are its own.
    """
    places = tuple(TunedPlace(name, layer, PlaceKind.LAYER) for name, layer in layers.items())
    for place in places:
        weight = place.module._parameters.get("weight")
        if weight is None or weight.ndim < 2:
            asked = f"{place.asked} ({type(place.module).__name__})"
            remedy = "choose dense or convolutional layers"
            raise DeclarationError(asked, "it has no matrix of weights of its own", remedy)
        if len(owners_of(model, weight)) > 1:
            raise place.refused("another module has the same weight", "choose other layers")
    return places


def owners_of(model: nn.Module, parameter: object) -> list[nn.Module]:
    """The modules that have a parameter themselves."""
    modules = list(model.modules())
    return [module for module in modules if any(value is parameter for value in module._parameters.values())]


def residual_places(
    model: nn.Module, modules: Mapping[str, nn.Module], arguments: CallArguments, *, only_clear: bool = False
) -> tuple[TunedPlace, ...]:
    """Places of residual blocks and branches in the order of execution, found in one pass.

    A module is a block if what enters it, perhaps times a weight, is a term of a sum inside of it, or if nothing else
    is found. It is a branch if, in the first later sum of which one term depends on its output and the other does not,
    the branch also depends on the other one: the stream that it was computed from.

    Args:
        model: prepared by ``kept``; its parameters are made to require gradients.
        modules: the chosen ones, by name.
        arguments: the inputs.
        only_clear: leave out modules that are not blocks with a skip connection that is seen, instead of refusing them.

    Raises:
        DeclarationError: a module is inside of another one, is not called, or several times, or a block changes the
            shape of the stream.
    """
    inside = Counter(id(part) for module in modules.values() for part in module.modules())
    calls, sums = _recorded(model, modules, arguments)
    places = []
    for name, module in modules.items():
        asked, times = f"the tuning of {name}", len(calls.get(name, ()))
        if inside[id(module)] > 1:
            remedy = "choose a block or its branches, not both"
            raise DeclarationError(asked, "it is part of another chosen module", remedy)
        if not times and not only_clear:
            raise DeclarationError(asked, "no tensor passes through it in a pass of the model", "choose other blocks")
        if times > 1 and not only_clear:
            raise DeclarationError(asked, f"it is called {times} times in a pass", "choose modules called once")
    for name, (call, *again) in calls.items():
        if only_clear and (again or call.shapes[0] != call.shapes[1]):
            continue
        place = _place(name, modules[name], call, sums)
        if place.kind is PlaceKind.BLOCK and call.shapes[0] != call.shapes[1]:
            entering, leaving = map(tuple, call.shapes)
            changed = f"it changes the shape of the stream from {entering} to {leaving}"
            raise place.refused(changed, "choose blocks that keep it")
        places.append(place)
    return tuple(place for place in places if place.has_skip or not only_clear)


def _recorded(
    model: nn.Module, modules: Mapping[str, nn.Module], arguments: CallArguments
) -> tuple[dict[str, list[_Call]], list[_Sum]]:
    sums: list[_Sum] = []
    calls: dict[str, list[_Call]] = {}
    entered: dict[str, tuple[Node | None, torch.Size, int]] = {}

    def summed(number: int, left: torch.Tensor, right: torch.Tensor) -> None:
        sums.append((left.grad_fn, right.grad_fn))

    def entering(name: str, module: nn.Module, args: object, kwargs: object) -> None:
        stream = first_tensor((args, kwargs))
        if stream is not None:
            entered[name] = stream.grad_fn, stream.shape, len(sums)

    def leaving(name: str, module: nn.Module, args: object, kwargs: object, output: object) -> None:
        tensor = first_tensor(output)
        if tensor is not None and name in entered:
            node, shape, first = entered[name]
            call = _Call(node, tensor.grad_fn, (shape, tensor.shape), range(first, len(sums)))
            calls.setdefault(name, []).append(call)

    with hooked(modules, entering, leaving):
        run_with_gradients(model, arguments, Additions(summed))
    return calls, sums


def _place(name: str, module: nn.Module, call: _Call, sums: list[_Sum]) -> TunedPlace:
    if any(_is_stream(sums[number], term, call) for number in call.inside for term in (0, 1)):
        return TunedPlace(name, module, PlaceKind.BLOCK, has_skip=True)
    for number in range(call.inside.stop, len(sums)):
        depends = [_depends(node, call.left) for node in sums[number]]
        if all(depends):
            break
        if any(depends):
            term = depends.index(True)
            if _depends(sums[number][term], sums[number][1 - term]):
                return TunedPlace(name, module, PlaceKind.BRANCH, True, number, term)
    return TunedPlace(name, module, PlaceKind.BLOCK)


def _is_stream(inner: _Sum, term: int, call: _Call) -> bool:
    """Whether a term of a sum is the stream, or two operations away from it (a copy, times a weight), and the other one
    depends on the stream too."""
    near = reached = [inner[term]]
    for _ in range(2):
        reached = [before for node in reached if node is not None for before, _ in node.next_functions]
        near = near + reached
    return any(node is call.entered for node in near) and _depends(inner[1 - term], call.entered)


def _depends(node: Node | None, on: Node | None) -> bool:
    """Whether a node of the graph comes after another one; nodes are numbered in the order in which they are made."""
    if node is None or on is None:
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
