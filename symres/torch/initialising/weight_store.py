"""Tensors of a model that are filled with random numbers, each once, with a note of what was done and why."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import torch
from torch import nn

from ..tracing.run_record import ComputedWeight, RunRecord
from .init_report import InitReason, TensorSetting
from .model_parts import WeightUse

DISTRIBUTIONS = ("normal", "truncated", "uniform", "orthogonal")
_CUT = 2.0  # standard deviations at which a truncated normal distribution ends, as in PyTorch and in JAX
# of a normal variable between them: Var = 1 - 2 c p(c)/erf(c/sqrt(2)) with the density p
_CUT_VARIANCE = 1 - 2 * _CUT * math.exp(-(_CUT**2) / 2) / math.sqrt(2 * math.pi) / math.erf(_CUT / math.sqrt(2))
# where C_b is 0, for the reasons that are given for the weight beside it
_NO_BIAS = "biases begin at 0"
# of a parameter: its memory, where in it they begin, how many there are, which neurons are meant
_Entries: TypeAlias = tuple[int, int, int, tuple[int, ...] | None]


def standard_numbers(distribution: str, shape: Sequence[int], generator: torch.Generator) -> torch.Tensor:
    """Random numbers of mean 0 and variance 1, in float64 on the CPU.

    Args:
        distribution: "normal"; "truncated", normal ones within two of their own standard deviations, divided by the one
            that is left; "uniform"; or "orthogonal", a matrix of outputs by inputs with orthogonal rows, or columns
            where there are more rows, and normal numbers for biases.
        shape: outputs come first.
        generator: their source.
    """
    numbers = torch.empty(*shape, dtype=torch.float64, device="cpu")
    if distribution == "truncated":
        return nn.init.trunc_normal_(numbers, a=-_CUT, b=_CUT, generator=generator) / math.sqrt(_CUT_VARIANCE)
    if distribution == "uniform":
        return (2 * numbers.uniform_(generator=generator) - 1) * math.sqrt(3)
    if distribution == "orthogonal" and len(shape) > 1:
        # the squares of a matrix with orthogonal rows of length 1 add up to the number of these rows
        largest = max(shape[0], math.prod(shape[1:]))
        return nn.init.orthogonal_(numbers, generator=generator) * math.sqrt(largest)
    return numbers.normal_(generator=generator)


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
        self._done: dict[_Entries, float] = {}  # with the standard deviation or the constant

    def draw(self, use: WeightUse, C_W: float, C_b: float, reason: InitReason, why: str) -> None:
        """Fill weights and biases of one layer."""
        mask = self._mask(use.tensor)
        if mask is not None:
            share = float(mask.movedim(use.rows, 0).flatten(1).any(1).double().mean())
            if share < 1:
                self.notes.append(
                    f"a mask removes {1 - share:.3g} of the neurons of {use.module or 'the model'}: the others have "
                    f"kernels {1 / share:.3g} times as large as the mean over all neurons, "
                    "which is what the theory wants"
                )
        std = math.sqrt(C_W / (use.fan_in * self._density(use.tensor)))
        self._fill(use.tensor, use, "weight", C_W, std, reason, why)
        if use.bias is not None:
            self._fill(use.bias, use, "bias", C_b, math.sqrt(C_b), reason, why if C_b else _NO_BIAS)

    def constant(self, name: str, value: float, why: str) -> None:
        """Fill a parameter of a norm with one number."""
        if (tensor := self._undone(name)) is not None:
            tensor.fill_(value)
            self._done[_entries(tensor)] = value
            self._note(name, "norm", InitReason.CONVENTION, why)

    def draw_token(self, name: str, std: float, why: str) -> None:
        """Fill a parameter that is a part of the stream with normal numbers."""
        if (tensor := self._undone(name)) is not None:
            tensor.copy_(standard_numbers("normal", tensor.shape, self.generator).to(tensor) * std)
            self._done[_entries(tensor)] = std
            self._note(name, "other", InitReason.MEASURED, why, std)

    def _undone(self, name: str) -> torch.Tensor | None:
        """A parameter that is neither kept nor done."""
        tensor = self.model.get_parameter(name).detach()
        return None if name in self.kept or _entries(tensor) in self._done else tensor

    def keep(self, name: str, why: str) -> None:
        """Leave a parameter as it is, and everything that it is tied to."""
        memory = _memory(self.model.get_parameter(name))
        self.kept |= {tied: self.kept.get(tied, why) for tied in self._names[memory]}

    def name_of(self, tensor: torch.Tensor) -> str:
        """The name of a parameter, masked perhaps; empty for any other tensor."""
        return next(iter(self._names.get(_memory(self._stored(tensor)), ())), "")

    def is_drawn(self, use: WeightUse) -> bool:
        """Whether these weights were drawn."""
        return _entries(self._stored(use.tensor), use.part) in self._done

    def is_left(self, use: WeightUse) -> bool:
        """Whether these weights ask for no gradients, or are computed from others."""
        name = self.name_of(use.tensor)
        return not name or name in self.frozen

    def refill(self, tensor: torch.Tensor, numbers: torch.Tensor) -> None:
        """Give weights other numbers, and the parameter of which they are the entries that a mask keeps."""
        tensor.detach().copy_(numbers)
        made, mask = self.computed.get(id(tensor)), self._mask(tensor)
        if made is not None and made.masked is not None and mask is not None:
            tensor.detach().mul_(mask)
            made.masked.detach().copy_(torch.where(mask != 0, tensor, made.masked))

    def note_factor(self, use: WeightUse, factor: float, why: str) -> None:
        """Note that weights were multiplied, and why they have their variance."""
        names = self._names[_memory(self._stored(use.tensor))]
        for position, s in enumerate(self.settings):
            if s.name in names:
                changed = replace(s, std=s.std * factor, variance=s.variance * factor**2, why=why)
                self.settings[position] = replace(changed, reason=InitReason.MEASURED)

    def note_others(self, why: str) -> None:
        """Note the parameters that are as they were, and why if nothing is known of it."""
        names = {name for memory, *_ in self._done for name in self._names[memory]}
        for name, _ in self.model.named_parameters():
            if name not in names:
                self._note(name, "other", InitReason.LEFT, self.kept.get(name, why))

    def _fill(
        self, tensor: torch.Tensor, use: WeightUse, kind: str, variance: float, std: float, reason: InitReason, why: str
    ) -> None:
        """Fill a tensor, or the rows of a part, unless it is kept, computed or already done; note which."""
        stored = self._stored(tensor)
        memory, entries = _memory(stored), _entries(stored, use.part)
        if tensor.numel() > self._sizes.get(memory, 0):  # the parameters that it is computed from stay as they are
            for name in self.computed[id(tensor)].names if id(tensor) in self.computed else ():
                self.kept.setdefault(name, f"forward computes the {kind} of a layer from it")
            return
        names = self._names[memory]
        if reasons := [self.kept[name] for name in names if name in self.kept]:
            self.notes.append(f"the {kind} of {use.module or 'the model'} is left unchanged: {reasons[0]}")
            return
        if entries in self._done:
            before = self._done[entries]
            if not math.isclose(before, std, rel_tol=1e-6):
                shared = f"{names[0]} is used by {use.module} too, which would need the standard deviation {std:.4g}"
                self.notes.append(f"{shared}; it was set once, to {before:.4g}")
            return
        self._write(tensor, use.part, use.rows if kind == "weight" else 0, std)
        self._done[entries] = std
        rows = "" if use.part is None else f"[{use.part[0]}:{use.part[-1] + 1}]"
        if tensor.numel() < self._sizes[memory]:  # a view of some entries
            rows = f"[{stored.storage_offset()}...]"
        tied = f"; shared with {', '.join(names[1:])}, set once" if len(names) > 1 else ""
        density = self._density(tensor)
        tied += f"; {density:.3g} of the entries are kept by a mask" if density < 1 else ""
        self._note(f"{names[0]}{rows}", kind, reason, why + tied, std, variance)

    def _write(self, tensor: torch.Tensor, part: tuple[int, ...] | None, axis: int, std: float) -> None:
        """Draw the entries of some neurons, None being all, that an axis counts."""
        neurons = torch.arange(tensor.shape[axis]) if part is None else torch.tensor(part)
        shape = [len(neurons), *(size for other, size in enumerate(tensor.shape) if other != axis)]
        drawn = standard_numbers(self.distribution, shape, self.generator).movedim(0, axis) * std
        numbers = tensor.detach().clone()
        numbers.index_copy_(axis, neurons.to(tensor.device), drawn.to(tensor.device, tensor.dtype))
        self.refill(tensor, numbers)

    def _stored(self, tensor: torch.Tensor) -> torch.Tensor:
        """The parameter of which a tensor is what a mask leaves; any other tensor itself."""
        made = self.computed.get(id(tensor))
        return tensor if made is None or made.masked is None else made.masked

    def _mask(self, tensor: torch.Tensor) -> torch.Tensor | None:
        made = self.computed.get(id(tensor))
        return None if made is None else made.mask

    def _density(self, tensor: torch.Tensor) -> float:
        """The share of entries that a mask keeps; 1 without one."""
        mask = self._mask(tensor)
        return 1.0 if mask is None else float(mask.double().mean())

    def _note(
        self, name: str, kind: str, reason: InitReason, why: str, std: float = math.nan, variance: float = math.nan
    ) -> None:
        module, _, tensor = name.rpartition(".")
        self.settings.append(TensorSetting(module, tensor, kind, std, variance, reason, why))


def kept_parameters(model: nn.Module, record: RunRecord, frozen: frozenset[str]) -> dict[str, str]:
    """The parameters that are left, with the reason: frozen ones, and tables from which integers choose."""
    leaves = [leaf for call in record.calls if call.name == "embedding" for leaf in call.args]
    tables = {id(leaf) for leaf in leaves if isinstance(leaf, nn.Parameter)}
    tables |= {id(p) for m in model.modules() if isinstance(m, nn.Embedding) for p in m.parameters()}
    named = model.named_parameters(remove_duplicate=False)
    reasons = {name: "an embedding" for name, p in named if id(p) in tables}
    return reasons | dict.fromkeys(frozen, "it asks for no gradients")


def _entries(tensor: torch.Tensor, part: tuple[int, ...] | None = None) -> _Entries:
    return _memory(tensor), tensor.storage_offset(), tensor.numel(), part


def _memory(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
