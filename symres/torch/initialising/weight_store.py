"""Tensors of a model that are filled with random numbers, each once, with a note of what was done and why."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import torch
from torch import nn

from ...core.errors import DeclarationError
from .init_report import InitReason, TensorSetting
from .model_parts import WeightUse


@dataclass
class WeightStore:
    """The weights of a model.

    Args:
        model: it works on copies of its weights in float64.
        kept: names of parameters that are left, and why: frozen ones, and those of embeddings.
        generator: of the numbers.
        frozen: those among the names that ask for no gradients.
    """

    model: nn.Module
    kept: dict[str, str]
    generator: torch.Generator
    frozen: frozenset[str] = frozenset()
    settings: list[TensorSetting] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._names: dict[int, list[str]] = {}  # by the memory of the tensor, all names of tied ones
        for name, parameter in self.model.named_parameters(remove_duplicate=False):
            self._names.setdefault(_memory(parameter), []).append(name)
        self._sizes = {_memory(p): p.numel() for p in self.model.parameters()}
        self._done: dict[tuple[int, tuple[int, ...] | None], float] = {}

    @property
    def set_names(self) -> set[str]:
        """The parameters that were set, all names of tied ones."""
        return {name for memory, _ in self._done for name in self._names[memory]}

    def draw(self, use: WeightUse, C_W: float, C_b: float, reason: InitReason, why: str) -> None:
        """Fill weights and biases of one layer.

        Args:
            use: where they are.
            C_W: fan_in*Var(weight).
            C_b: Var(bias).
            reason: why.
            why: why, in a sentence.
        """
        self._fill(use.tensor, use, "weight", C_W, math.sqrt(C_W / use.fan_in), reason, why)
        if use.bias is not None:
            self._fill(use.bias, use, "bias", C_b, math.sqrt(C_b), reason, why)

    def constant(self, name: str, value: float, why: str) -> None:
        """Fill a parameter with one number."""
        tensor = self.model.get_parameter(name)
        if name in self.kept or (_memory(tensor), None) in self._done:
            return
        tensor.detach().fill_(value)
        self._done[_memory(tensor), None] = value
        self._note(name, "norm", InitReason.CONVENTION, why)

    def keep(self, name: str, why: str) -> None:
        """Leave a parameter as it is, and everything that it is tied to."""
        memory = _memory(self.model.get_parameter(name))
        self.kept |= {tied: self.kept.get(tied, why) for tied in self._names[memory]}

    def name_of(self, tensor: torch.Tensor) -> str:
        """The name of a parameter; empty for any other tensor."""
        return next(iter(self._names.get(_memory(tensor), ())), "")

    def rescale(self, use: WeightUse, factor: float, why: str) -> None:
        """Multiply weights that were drawn, and say why they have their variance."""
        memory = _memory(use.tensor)
        if (memory, use.part) not in self._done:
            return
        use.tensor.detach().mul_(factor)
        for position, s in enumerate(self.settings):
            if s.name in self._names[memory]:
                changed = replace(s, std=s.std * factor, variance=s.variance * factor**2, why=why)
                self.settings[position] = replace(changed, reason=InitReason.MEASURED)

    def leave(self, name: str, why: str) -> None:
        """Note that a parameter is as it was."""
        self._note(name, "other", InitReason.LEFT, why)

    def is_frozen(self, use: WeightUse) -> bool:
        """Whether these weights ask for no gradients."""
        return self.name_of(use.tensor) in self.frozen

    def _fill(
        self, tensor: torch.Tensor, use: WeightUse, kind: str, variance: float, std: float, reason: InitReason, why: str
    ) -> None:
        memory = _memory(tensor)
        if self._sizes.get(memory) != tensor.numel():
            raise DeclarationError(
                f"the {kind} of {use.module or 'the model'}",
                "it is computed from other parameters",
                "remove the parametrisation before the model is initialised",
            )
        names = self._names[memory]
        if reasons := [self.kept[name] for name in names if name in self.kept]:
            self.notes.append(f"the {kind} of {use.module or 'the model'} is left: {reasons[0]}")
            return
        before = self._done.get((memory, use.part))
        if before is not None:
            if not math.isclose(before, std, rel_tol=1e-6):
                shared = f"{names[0]} is used by {use.module} too, with the standard deviation {std:.4g} there"
                self.notes.append(f"{shared}; it was set once, to {before:.4g}")
            return
        self._write(tensor, use, kind, std)
        self._done[memory, use.part] = std
        rows = "" if use.part is None else f"[{use.part[0]}:{use.part[-1] + 1}]"
        tied = f"; shared with {', '.join(names[1:])}, set once" if len(names) > 1 else ""
        self._note(f"{names[0]}{rows}", kind, reason, why + tied, std, variance)

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
        drawn = torch.randn(shape, generator=self.generator, dtype=torch.float64, device="cpu") * std
        tensor.detach().index_copy_(axis, rows.to(tensor.device), drawn.to(tensor.device, tensor.dtype))


def _memory(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
