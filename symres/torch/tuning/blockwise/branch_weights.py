"""What scales a branch, or the skip connection, of a residual block exactly; a run on a changed weight verifies it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import nn

from ....activations.formula_parser import nearest
from ....core.errors import DeclarationError
from ...models.observing import hooked
from .residual_places import PlaceKind, ResidualPlace
from .stream_passes import Visit

_TOLERANCE = 1e-5  # of the largest entry
_PROBE = 0.5  # a power of 2: multiplying and dividing by it is exact
_UNITS = 8  # of rounding that a sum may have


@dataclass(frozen=True)
class ScalableWeights:
    """Tensors or numbers that are multiplied together.

    Args:
        label: the name of the module, or of the attribute, in the model.
        entries: modules with the names of their attributes.
    """

    label: str
    entries: tuple[tuple[nn.Module, str], ...]

    def multiply(self, factor: float) -> None:
        """Multiply all by a number, in place."""
        for module, name in self.entries:
            value = getattr(module, name)
            if isinstance(value, torch.Tensor):
                with torch.no_grad():
                    value.mul_(factor)
            else:
                setattr(module, name, value * factor)

    @property
    def number(self) -> float | None:
        """The value where all entries are one and the same number; else None."""
        found = {
            float(entry)
            for module, name in self.entries
            for entry in torch.as_tensor(getattr(module, name)).detach().double().flatten()
        }
        return found.pop() if len(found) == 1 else None


def named_weight(place: ResidualPlace, name: str, asked: str) -> ScalableWeights:
    """The weights that a user names: a module in a block, then its own parameters; or an attribute ("xi", "ls.gamma").

    Raises:
        DeclarationError: there is neither, or the attribute is no number.
    """
    owner_name, _, attribute = name.rpartition(".")
    modules = dict(place.module.named_modules())
    if name and name in modules:
        return _of_module(f"{place.name}.{name}", modules[name], asked)
    owner = modules.get(owner_name)
    value = None if owner is None else getattr(owner, attribute, None)
    if owner is not None and (
        isinstance(value, (float, int)) or (isinstance(value, torch.Tensor) and value.is_floating_point())
    ):
        return ScalableWeights(f"{place.name}.{name}", ((owner, attribute),))
    known = [*filter(None, modules), *(parameter for parameter, _ in place.module.named_parameters())]
    listed = nearest(name, known) or f"its parts are {', '.join(known[:8]) or 'none'}"
    raise DeclarationError(f"{asked}={name!r} of {place.name}", "it has no module or number of this name", listed)


def skip_of(place: ResidualPlace, name: str | None, wrap: bool) -> tuple[ScalableWeights | None, float]:
    """What multiplies the stream of a block, and its present value; None and 1 where nothing does.

    Raises:
        DeclarationError: there is no such attribute, or it is not one number, or 0.
    """
    if name is None or wrap:
        return None, 1.0
    if place.kind is PlaceKind.BRANCH:
        raise DeclarationError(
            f"skip_weight={name!r} of {place.name}", "it is a branch: the stream passes outside", "choose whole blocks"
        )
    weights = named_weight(place, name, "skip_weight")
    value = weights.number
    if not value:
        raise DeclarationError(f"skip_weight={name!r} of {place.name}", "it is 0 or not a single number", "set it to 1")
    return weights, value


def verify_skip(visit: Visit, skip: ScalableWeights, value: float) -> None:
    """Check by a run that the skip connection, and nothing else, changes with its weight.

    Raises:
        DeclarationError: it does not.
    """
    z, before = visit.stream.detach(), visit.result.detach()
    after = _changed(visit, skip)
    if not _equal(after - before, (_PROBE - 1) * value * z, (z * value, before)):
        raise DeclarationError(
            f"skip_weight of {visit.place.name}",
            f"{skip.label} does not multiply the stream exactly",
            "name the attribute that is the weight of the skip connection, or use wrap=True",
        )


def find_branch_weight(visit: Visit, skip: float, name: str | None, model: nn.Module) -> ScalableWeights:
    """What scales the branch: the weights that a user names, or the last module whose own parameters do it exactly.

    Args:
        visit: the block in a pass.
        skip: the present weight of its skip connection.
        name: a module or attribute in the block; None: modules are tried, the last one that is executed first.
        model: whose other parts must not share the weights.

    Raises:
        DeclarationError: nothing does, or the weights are used elsewhere too.
    """
    place = visit.place
    if next(place.module.parameters(), None) is None and name is None:
        raise DeclarationError(f"the tuning of {place.name}", "it has no parameters", "use wrap=True")
    if name is not None:
        found = named_weight(place, name, "branch_weight")
        if not _scales(visit, found, skip):
            raise DeclarationError(
                f"branch_weight={name!r} of {place.name}", "it does not scale the branch exactly", _remedy(place)
            )
    else:
        fitting = [weights for weights in _candidates(visit) if _scales(visit, weights, skip)]
        if not fitting:
            raise DeclarationError(
                f"the tuning of {place.name}", "no module in it scales its branch exactly", _remedy(place)
            )
        found = fitting[0]
    for module, attribute in found.entries:
        value = getattr(module, attribute)
        users = [m for m in model.modules() if any(parameter is value for parameter in m._parameters.values())]
        if isinstance(value, nn.Parameter) and len(users) > 1:
            raise DeclarationError(
                f"the tuning of {place.name}", f"{found.label} shares its weights with another module", "use wrap=True"
            )
    return found


def _remedy(place: ResidualPlace) -> str:
    if place.kind is PlaceKind.BRANCH:
        return "name its last layer by branch_weight="
    return (
        'choose its branches if it has several, blocks=["h.*.attn", "h.*.mlp"]; name its last layer by branch_weight=, '
        "the weight of its stream by skip_weight=; or use wrap=True"
    )


def _of_module(label: str, module: nn.Module, asked: str) -> ScalableWeights:
    names = tuple(module._parameters)
    entries = tuple((module, name) for name in names if module._parameters[name] is not None)
    if not entries:
        raise DeclarationError(f"{asked}={label!r}", "it has no parameters of its own", "name a layer or an attribute")
    return ScalableWeights(label, entries)


def _candidates(visit: Visit) -> Iterator[ScalableWeights]:
    """Modules with parameters of their own, the last executed first, then those that are never called, such as the
    projection of attention, whose weights its owner uses."""
    named = {
        name: module
        for name, module in visit.place.module.named_modules()
        if any(parameter is not None for parameter in module._parameters.values())
    }
    executed: list[str] = []

    with hooked(named, leaving=lambda name, *call: executed.append(name)):
        visit.again()
    idle = [name for name in named if name not in executed]
    for name in [*reversed(list(dict.fromkeys(executed))), *reversed(idle)]:
        label = f"{visit.place.name}.{name}" if name else visit.place.name
        yield _of_module(label, named[name], "branch_weight")


def _scales(visit: Visit, weights: ScalableWeights, skip: float) -> bool:
    after = _changed(visit, weights)
    if visit.place.kind is PlaceKind.BRANCH:
        before = visit.raw.detach()
        return _equal(after, _PROBE * before, (before,))
    z, before = visit.stream.detach(), visit.result.detach()
    return _equal(after - skip * z, _PROBE * (before - skip * z), (before, skip * z))


def _changed(visit: Visit, weights: ScalableWeights) -> torch.Tensor:
    weights.multiply(_PROBE)
    try:
        return visit.again()
    finally:
        weights.multiply(1 / _PROBE)


def _equal(found: torch.Tensor, expected: torch.Tensor, rounded: tuple[torch.Tensor, ...]) -> bool:
    """Up to 1e-5 of the largest entry, and to the rounding of what was added."""
    unit = _UNITS * torch.finfo(found.dtype).eps
    allowed = _TOLERANCE * float(expected.abs().max()) + unit * max(float(term.abs().max()) for term in rounded)
    return found.shape == expected.shape and float((found - expected).abs().max()) <= allowed
