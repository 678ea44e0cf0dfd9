"""What scales a branch, or the skip connection, of a residual block exactly; a run on a changed weight verifies it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import nn

from ...activations.formula_parser import nearest
from ...core.errors import DeclarationError
from ...results.annotated_numbers import EstimatedNumber
from ..models.call_arguments import first_tensor, with_first_tensor
from ..models.observing import hooked
from .tuned_places import PlaceKind, TunedPlace, owners_of
from .tuning_passes import Visit

_TOLERANCE = 1e-5  # of the largest entry
_PROBE = 0.5  # a power of 2: multiplying and dividing by it is exact
_UNITS = 8  # of rounding that a sum may have


class ScaledBlock(nn.Module):
    """``z' = gamma z + xi (block(z) - z)``, for any block that keeps the shape of its first tensor.

    Args:
        block: any module; ``block`` is a prefix of its keys in the state dictionary.
        gamma: weight of the stream; a buffer, that is saved and not trained.
        xi: weight of the branch, likewise.

    Examples:
        >>> class Tripled(torch.nn.Module):
        ...     def forward(self, x):
        ...         return 3*x
        >>> st.ScaledBlock(Tripled(), gamma=0.5, xi=0.25)(torch.ones(2))  # 0.5 + 0.25*(3 - 1)
        tensor([1., 1.])
    """

    gamma: torch.Tensor
    xi: torch.Tensor

    def __init__(self, block: nn.Module, gamma: float, xi: float) -> None:
        super().__init__()
        self.block = block
        like = next((p for p in block.parameters() if p.is_floating_point()), torch.empty(0))
        dtype = torch.float64 if like.dtype == torch.float64 else torch.float32  # no narrower: it does not promote
        self.register_buffer("gamma", torch.tensor(gamma, dtype=dtype, device=like.device))
        self.register_buffer("xi", torch.tensor(xi, dtype=dtype, device=like.device))
        self.train(block.training)

    def forward(self, *args: object, **kwargs: object) -> object:
        """What the block returns, its first tensor replaced by the weighted sum."""
        stream = first_tensor((args, kwargs))
        assert stream is not None
        kept = stream.clone()  # the block may change in place what enters it
        output = self.block(*args, **kwargs)
        result = first_tensor(output)
        assert result is not None
        return with_first_tensor(output, self.gamma * kept + self.xi * (result - kept))

    def extra_repr(self) -> str:
        """The weights, for ``print``."""
        return f"gamma={float(self.gamma):.6g}, xi={float(self.xi):.6g}"


@dataclass(frozen=True)
class ScalableWeights:
    """Tensors or numbers that are multiplied together.

    Args:
        label: the name of the module, or of the attribute, in the model.
        entries: modules with the names of their attributes.
    """

    label: str
    entries: tuple[tuple[nn.Module, str], ...]

    @classmethod
    def of_module(cls, label: str, module: nn.Module) -> ScalableWeights:
        """All parameters that a module has itself."""
        return cls(label, tuple((module, name) for name, value in module._parameters.items() if value is not None))

    def multiply(self, factor: float) -> None:
        """Multiply all by a number, in place."""
        for module, name in self.entries:
            value = getattr(module, name)
            if isinstance(value, torch.Tensor):
                with torch.no_grad():
                    value.mul_(factor)
            else:
                setattr(module, name, value * factor)


@dataclass(frozen=True)
class PlaceChange:
    """What is to be done with one place of a model.

    Args:
        place: the block, branch or layer.
        gamma: the new weight of z.
        xi: of R.
        factors: what is multiplied, and by what; empty: the block is wrapped.
        label: what was multiplied by xi, by name.
    """

    place: TunedPlace
    gamma: EstimatedNumber
    xi: EstimatedNumber
    factors: tuple[tuple[ScalableWeights, float], ...]
    label: str = "wrapped"

    def scale(self) -> None:
        """Multiply the weights, in place."""
        for weights, factor in self.factors:
            weights.multiply(factor)

    def apply(self, model: nn.Module) -> nn.Module:
        """Change the model in place; returns it, or the wrapped block where the model itself is the block."""
        self.scale()
        if self.factors:
            return model
        wrapped = ScaledBlock(self.place.module, float(self.gamma), float(self.xi))
        for parent in list(model.modules()):
            for name, child in parent._modules.items():
                if child is self.place.module:
                    parent._modules[name] = wrapped
        return wrapped if model is self.place.module else model


def skip_of(place: TunedPlace, name: str | None) -> tuple[ScalableWeights | None, float]:
    """What multiplies the stream of a block, by the name of the attribute, and its present value; without one it is 1.

    Raises:
        DeclarationError: there is no such attribute, or it is not one number, or 0.
    """
    if name is None:
        return None, 1.0
    asked = f"skip_weight={name!r} of {place.name}"
    if place.kind is PlaceKind.BRANCH:
        raise DeclarationError(asked, "it is a branch: the stream passes outside", "choose whole blocks")
    weights = _named_weight(place, name, "skip_weight")
    entries = [torch.as_tensor(getattr(module, attribute)) for module, attribute in weights.entries]
    values = {number for entry in entries for number in entry.detach().double().flatten().tolist()}
    if len(values) != 1 or 0 in values:
        raise DeclarationError(asked, "it is 0 or not a single number", "set it to 1")
    return weights, values.pop()


def verify_skip(visit: Visit, skip: ScalableWeights, value: float) -> None:
    """Check by a run that the skip connection, and nothing else, changes with its weight.

    Raises:
        DeclarationError: it does not.
    """
    z, before = visit.stream.detach(), visit.result.detach()
    if not _equal(_changed(visit, skip) - before, (_PROBE - 1) * value * z, (z * value, before)):
        raise DeclarationError(
            f"skip_weight of {visit.place.name}",
            f"{skip.label} does not multiply the stream exactly",
            "name the attribute that is the weight of the skip connection, or use wrap=True",
        )


def branch_weight_of(visit: Visit, skip: float, name: str | None, model: nn.Module) -> ScalableWeights:
    """What scales the branch: the weights that a user names, or the last module whose own parameters do it exactly.

    The present weight of the skip connection is ``skip``; other parts of the model must not share the weights.

    Raises:
        DeclarationError: nothing does, or the weights are used elsewhere too.
    """
    place = visit.place
    if next(place.module.parameters(), None) is None and name is None:
        raise place.refused("it has no parameters", "use wrap=True")
    tried = _candidates(visit) if name is None else iter([_named_weight(place, name, "branch_weight")])
    weights = next((each for each in tried if _scales(visit, each, skip)), None)
    if weights is None:
        remedy = "name its last layer by branch_weight="
        if place.kind is PlaceKind.BLOCK:
            remedy = (
                f'choose its branches if it has several, blocks=["h.*.attn", "h.*.mlp"]; {remedy}, '
                "the weight of its stream by skip_weight=; or use wrap=True"
            )
        if name is None:
            raise place.refused("no module in it scales its branch exactly", remedy)
        asked = f"branch_weight={name!r} of {place.name}"
        raise DeclarationError(asked, "it does not scale the branch exactly", remedy)
    for module, attribute in weights.entries:
        value = getattr(module, attribute)
        if isinstance(value, nn.Parameter) and len(owners_of(model, value)) > 1:
            reason = f"{weights.label} shares its weights with another module"
            raise place.refused(reason, "use wrap=True")
    return weights


def _named_weight(place: TunedPlace, name: str, asked: str) -> ScalableWeights:
    """What a user names: a module in a block, then its own parameters; or an attribute ("xi", "ls.gamma")."""
    owner_name, _, attribute = name.rpartition(".")
    modules = dict(place.module.named_modules())
    label = f"{place.name}.{name}"
    if name and name in modules:
        weights = ScalableWeights.of_module(label, modules[name])
        if not weights.entries:
            raise DeclarationError(
                f"{asked}={label!r}", "it has no parameters of its own", "name a layer or an attribute"
            )
        return weights
    owner = modules.get(owner_name)
    value = None if owner is None else getattr(owner, attribute, None)
    is_number = isinstance(value, (float, int)) or (isinstance(value, torch.Tensor) and value.is_floating_point())
    if owner is not None and is_number:
        return ScalableWeights(label, ((owner, attribute),))
    names = [*filter(None, modules), *(parameter for parameter, _ in place.module.named_parameters())]
    remedy = nearest(name, names) or f"its parts are {', '.join(names[:8]) or 'none'}"
    raise DeclarationError(f"{asked}={name!r} of {place.name}", "it has no module or number of this name", remedy)


def _candidates(visit: Visit) -> Iterator[ScalableWeights]:
    """Modules with parameters of their own, the last executed first, then those that are never called, such as the
    projection of attention, whose weights its owner uses."""
    named = {
        name: module
        for name, module in visit.place.module.named_modules()
        if any(parameter is not None for parameter in module._parameters.values())
    }
    executed: dict[str, None] = {}
    with hooked(named, leaving=lambda name, *call: executed.setdefault(name)):
        visit.again()
    idle = [name for name in named if name not in executed]
    for name in [*reversed(executed), *reversed(idle)]:
        label = f"{visit.place.name}.{name}" if name else visit.place.name
        yield ScalableWeights.of_module(label, named[name])


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


def _equal(made: torch.Tensor, expected: torch.Tensor, rounded: tuple[torch.Tensor, ...]) -> bool:
    """Up to 1e-5 of the largest entry, and to the rounding of what was added."""
    unit = _UNITS * torch.finfo(made.dtype).eps
    allowed = _TOLERANCE * float(expected.abs().max()) + unit * max(float(term.abs().max()) for term in rounded)
    return made.shape == expected.shape and float((made - expected).abs().max()) <= allowed
