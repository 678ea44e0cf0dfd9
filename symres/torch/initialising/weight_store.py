"""Tensors of a model that are filled with random numbers, each once, with a note of what was done and why."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeAlias

import torch
from torch import nn

from ..tracing.run_record import ComputedWeight
from .init_report import InitReason, TensorSetting
from .model_parts import WeightUse

_CUT = 2.0  # standard deviations at which a truncated normal distribution ends, as in PyTorch and in JAX
# of a normal variable between them: Var = 1 - 2 c p(c)/erf(c/sqrt(2)) with the density p
_CUT_VARIANCE = 1 - 2 * _CUT * math.exp(-(_CUT**2) / 2) / math.sqrt(2 * math.pi) / math.erf(_CUT / math.sqrt(2))

Draw = Callable[[Sequence[int], torch.Generator], torch.Tensor]
# where C_b is 0, for the reasons that are given for the weight beside it
_NO_BIAS = "biases begin at 0"
# of a parameter: its memory, where in it they begin, how many there are, which neurons are meant
_Entries: TypeAlias = tuple[int, int, int, tuple[int, ...] | None]


def _normal(shape: Sequence[int], generator: torch.Generator) -> torch.Tensor:
    return torch.randn(*shape, generator=generator, dtype=torch.float64, device="cpu")


def _truncated(shape: Sequence[int], generator: torch.Generator) -> torch.Tensor:
    """Normal numbers within two of their own standard deviations, divided by the one that is left."""
    numbers = torch.empty(*shape, dtype=torch.float64, device="cpu")
    return nn.init.trunc_normal_(numbers, a=-_CUT, b=_CUT, generator=generator) / math.sqrt(_CUT_VARIANCE)


def _uniform(shape: Sequence[int], generator: torch.Generator) -> torch.Tensor:
    numbers = torch.rand(*shape, generator=generator, dtype=torch.float64, device="cpu")
    return (2 * numbers - 1) * math.sqrt(3)


def _orthogonal(shape: Sequence[int], generator: torch.Generator) -> torch.Tensor:
    """A matrix of outputs by inputs with orthogonal rows, or columns where there are more rows; biases are normal."""
    if len(shape) < 2:
        return _normal(shape, generator)
    numbers = torch.empty(*shape, dtype=torch.float64, device="cpu")
    rows, columns = shape[0], math.prod(shape[1:])
    # the squares of a matrix with orthogonal rows of length 1 add up to the number of these rows
    return nn.init.orthogonal_(numbers, generator=generator) * math.sqrt(max(rows, columns))


DISTRIBUTIONS: Mapping[str, Draw] = MappingProxyType(
    {"normal": _normal, "truncated": _truncated, "uniform": _uniform, "orthogonal": _orthogonal}
)


@dataclass
class WeightStore:
    """The weights of a model.

    Args:
        model: it works on copies of its weights in float64.
        kept: names of parameters that are left, and why: frozen ones, and those of embeddings.
        generator: of the numbers.
        frozen: those among the names that ask for no gradients.
        distribution: of the numbers.
        computed: tensors of the run that are computed from parameters, by their identity.
    """

    model: nn.Module
    kept: dict[str, str]
    generator: torch.Generator
    frozen: frozenset[str] = frozenset()
    distribution: str = "normal"
    computed: Mapping[int, ComputedWeight] = field(default_factory=dict)
    settings: list[TensorSetting] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._names: dict[int, list[str]] = {}  # by the memory of the tensor, all names of tied ones
        for name, parameter in self.model.named_parameters(remove_duplicate=False):
            self._names.setdefault(_memory(parameter), []).append(name)
        self._sizes = {_memory(p): p.numel() for p in self.model.parameters()}
        self._done: dict[_Entries, float] = {}

    @property
    def set_names(self) -> set[str]:
        """The parameters that were set, all names of tied ones."""
        return {name for memory, *_ in self._done for name in self._names[memory]}

    def draw(self, use: WeightUse, C_W: float, C_b: float, reason: InitReason, why: str) -> None:
        """Fill weights and biases of one layer.

        Args:
            use: where they are.
            C_W: fan_in*Var(weight).
            C_b: Var(bias).
            reason: why.
            why: why, in a sentence.
        """
        std = math.sqrt(C_W / (use.fan_in * self._density(use.tensor)))
        kept = self._neurons_kept(use)
        if kept < 1:
            self.notes.append(
                f"a mask removes {1 - kept:.3g} of the neurons of {use.module or 'the model'}: the others have kernels "
                f"{1 / kept:.3g} times as large as the mean over all neurons, which is what the theory wants"
            )
        self._fill(use.tensor, use, "weight", C_W, std, reason, why)
        if use.bias is not None:
            self._fill(use.bias, use, "bias", C_b, math.sqrt(C_b), reason, why if C_b else _NO_BIAS)

    def constant(self, name: str, value: float, why: str) -> None:
        """Fill a parameter with one number."""
        tensor = self.model.get_parameter(name)
        if name in self.kept or _entries(tensor) in self._done:
            return
        tensor.detach().fill_(value)
        self._done[_entries(tensor)] = value
        self._note(name, "norm", InitReason.CONVENTION, why)

    def draw_token(self, name: str, std: float, why: str) -> None:
        """Fill a parameter that is a part of the stream with normal numbers."""
        tensor = self.model.get_parameter(name)
        if name in self.kept or _entries(tensor) in self._done:
            return
        numbers = torch.randn(tensor.shape, generator=self.generator, dtype=torch.float64)
        tensor.detach().copy_(numbers.to(tensor) * std)
        self._done[_entries(tensor)] = std
        self._note(name, "other", InitReason.MEASURED, why, std)

    def keep(self, name: str, why: str) -> None:
        """Leave a parameter as it is, and everything that it is tied to."""
        memory = _memory(self.model.get_parameter(name))
        self.kept |= {tied: self.kept.get(tied, why) for tied in self._names[memory]}

    def name_of(self, tensor: torch.Tensor) -> str:
        """The name of a parameter, masked perhaps; empty for any other tensor."""
        return next(iter(self._names.get(_memory(self._stored(tensor)), ())), "")

    def rescale(self, use: WeightUse, factor: float, why: str) -> None:
        """Multiply weights that were drawn, and say why they have their variance."""
        memory = _memory(self._stored(use.tensor))
        if _entries(self._stored(use.tensor), use.part) not in self._done:
            return
        self.refill(use, use.tensor.detach() * factor)
        for position, s in enumerate(self.settings):
            if s.name in self._names[memory]:
                changed = replace(s, std=s.std * factor, variance=s.variance * factor**2, why=why)
                self.settings[position] = replace(changed, reason=InitReason.MEASURED)

    def refill(self, use: WeightUse, numbers: torch.Tensor) -> None:
        """Give weights other numbers, and the parameter of which they are what a mask leaves."""
        use.tensor.detach().copy_(numbers)
        self._store_masked(use.tensor)

    def leave(self, name: str, why: str) -> None:
        """Note that a parameter is as it was."""
        self._note(name, "other", InitReason.LEFT, why)

    def is_left(self, use: WeightUse) -> bool:
        """Whether these weights ask for no gradients, or are computed from others."""
        name = self.name_of(use.tensor)
        return not name or name in self.frozen

    def _fill(
        self, tensor: torch.Tensor, use: WeightUse, kind: str, variance: float, std: float, reason: InitReason, why: str
    ) -> None:
        stored = self._stored(tensor)
        memory, part = _memory(stored), _entries(stored, use.part)
        if tensor.numel() > self._sizes.get(memory, 0):
            self._leave_computed(tensor, use, kind)
            return
        names = self._names[memory]
        if reasons := [self.kept[name] for name in names if name in self.kept]:
            self.notes.append(f"the {kind} of {use.module or 'the model'} is left unchanged: {reasons[0]}")
            return
        before = self._done.get(part)
        if before is not None:
            if not math.isclose(before, std, rel_tol=1e-6):
                shared = f"{names[0]} is used by {use.module} too, which would need the standard deviation {std:.4g}"
                self.notes.append(f"{shared}; it was set once, to {before:.4g}")
            return
        self._write(tensor, use, kind, std)
        self._done[part] = std
        rows = "" if use.part is None else f"[{use.part[0]}:{use.part[-1] + 1}]"
        if tensor.numel() < self._sizes[memory]:  # a view of some entries
            rows = f"[{stored.storage_offset()}...]"
        tied = f"; shared with {', '.join(names[1:])}, set once" if len(names) > 1 else ""
        density = self._density(tensor)
        tied += f"; {density:.3g} of the entries are kept by a mask" if density < 1 else ""
        self._note(f"{names[0]}{rows}", kind, reason, why + tied, std, variance)

    def _leave_computed(self, tensor: torch.Tensor, use: WeightUse, kind: str) -> None:
        """Leave what is no parameter: the parameters that it is computed from stay as they are."""
        for name in self.computed[id(tensor)].names if id(tensor) in self.computed else ():
            self.kept.setdefault(name, f"forward computes the {kind} of a layer from it")

    def _stored(self, tensor: torch.Tensor) -> torch.Tensor:
        """The parameter of which a tensor is what a mask leaves; any other tensor itself."""
        found = self.computed.get(id(tensor))
        return tensor if found is None or found.masked is None else found.masked

    def _density(self, tensor: torch.Tensor) -> float:
        """The share of entries that a mask keeps; 1 without one."""
        found = self.computed.get(id(tensor))
        return 1.0 if found is None or found.mask is None else float(found.mask.double().mean())

    def _neurons_kept(self, use: WeightUse) -> float:
        """The share of neurons of which a mask keeps a weight."""
        found = self.computed.get(id(use.tensor))
        return (
            1.0
            if found is None or found.mask is None
            else float(found.mask.movedim(use.rows, 0).flatten(1).any(1).double().mean())
        )

    def _store_masked(self, tensor: torch.Tensor) -> None:
        """Copy the entries that a mask keeps into the parameter, and clear those that it does not keep."""
        found = self.computed.get(id(tensor))
        if found is not None and found.masked is not None and found.mask is not None:
            tensor.detach().mul_(found.mask)
            found.masked.detach().copy_(torch.where(found.mask != 0, tensor, found.masked))

    def _note(
        self, name: str, kind: str, reason: InitReason, why: str, std: float = math.nan, variance: float = math.nan
    ) -> None:
        module, _, tensor = name.rpartition(".")
        self.settings.append(TensorSetting(module, tensor, kind, std, variance, reason, why))

    def _write(self, tensor: torch.Tensor, use: WeightUse, kind: str, std: float) -> None:
        axis = use.rows if kind == "weight" else 0
        rows = torch.arange(tensor.shape[axis]) if use.part is None else torch.tensor(use.part)
        shape = [*tensor.shape]
        shape[axis] = len(rows)
        outputs_first = [shape.pop(axis), *shape]
        drawn = DISTRIBUTIONS[self.distribution](outputs_first, self.generator).movedim(0, axis) * std
        tensor.detach().index_copy_(axis, rows.to(tensor.device), drawn.to(tensor.device, tensor.dtype))
        self._store_masked(tensor)


def _entries(tensor: torch.Tensor, part: tuple[int, ...] | None = None) -> _Entries:
    return _memory(tensor), tensor.storage_offset(), tensor.numel(), part


def _memory(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
