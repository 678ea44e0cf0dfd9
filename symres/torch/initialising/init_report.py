"""What was set in a model, on which module, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from ...core.display import Fact, Shown
from ...core.words import counted
from ...results.advice.advice import Advice
from ...results.advice.parts import DIGITS, Origin, Topic
from ...results.annotated_numbers import DataFrame, data_frame
from .depth_check import DepthCheck


class InitReason(StrEnum):
    """Why a tensor has its numbers."""

    THEORY = "theory"
    MEASURED = "measured"
    CONVENTION = "convention"
    LEFT = "left"


@dataclass(frozen=True)
class TensorSetting:
    """What was done with one tensor of a model, or with some rows of it.

    Args:
        module: the qualified name of the module.
        tensor: the name of the parameter in it.
        kind: "weight", "bias", "norm", or "other".
        std: standard deviation of the numbers that it was filled with, masked ones left out; 0 for zeros, nan for what
            was left or is constant.
        variance: C_W = fan_in*std^2 of weights, C_b = std^2 of biases; nan for others.
        reason: why, in a word.
        why: why, in a sentence.
    """

    module: str
    tensor: str
    kind: str
    std: float
    variance: float
    reason: InitReason
    why: str

    @property
    def name(self) -> str:
        """The qualified name of the parameter."""
        return f"{self.module}.{self.tensor}" if self.module else self.tensor


@dataclass(frozen=True, repr=False)
class InitReport(Shown):
    """An initialisation: what was set, why, and what kernels and gradients are afterwards.

    Args:
        model: the name of its class.
        target: "critical" or "match".
        seed: of the weights.
        changed: whether the model was changed; not in a dry run.
        settings: of each tensor, in the order in which they were set; those that were left come last.
        advice: what the theory advises for each kind of layer, by its equation.
        check: kernels and gradients with the new weights, against the theory.
        notes: what a reader should know.
        distribution: of the weights.
        kept: the equations in ``advice`` whose branches all start smaller than advised, and stay so.
        linear: the equations in ``advice`` of linear layers without an activation before them.

    Examples:
        >>> from torch.nn import Linear, ReLU, Sequential
        >>> model = Sequential(Linear(16, 64), ReLU(), Linear(64, 64), ReLU(), Linear(64, 1))
        >>> report = st.init_(model, seed=0)
        >>> report["2.weight"].variance, report["2.weight"].why
        (2.0, "critical point of z' = Dense(relu(z))")
        >>> frame = report.frame()
        >>> frame.loc[frame.kind == "weight", "C_W"].round(6).tolist(), report.left
        ([2.0, 2.0, 1.0], ())
    """

    model: str
    target: str
    seed: int
    changed: bool
    settings: tuple[TensorSetting, ...]
    advice: tuple[tuple[str, Advice], ...]
    check: DepthCheck
    notes: tuple[str, ...] = ()
    distribution: str = "normal"
    kept: tuple[str, ...] = ()
    linear: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> TensorSetting:
        """The first setting of a tensor, by the qualified name of the parameter, with or without its rows."""
        for setting in self.settings:
            if name in (setting.name, setting.name.partition("[")[0]):
                return setting
        raise KeyError(name)

    @property
    def left(self) -> tuple[TensorSetting, ...]:
        """The tensors that are as they were, each with the reason."""
        return tuple(setting for setting in self.settings if setting.reason is InitReason.LEFT)

    def frame(self) -> DataFrame:
        """A table with a row for each tensor: module, tensor, kind, std, C_W, C_b, reason, why.

        Returns:
            C_W is nan for biases, C_b for weights, std for what was left.
        """
        variances = {"C_W": "weight", "C_b": "bias"}
        rows = [
            {**vars(s), "reason": s.reason.value}
            | {symbol: s.variance if s.kind == kind else math.nan for symbol, kind in variances.items()}
            for s in self.settings
        ]
        return data_frame(rows, "an initialisation", ["module", "tensor", "kind", "std", "C_W", "C_b", "reason", "why"])

    def _title(self) -> str:
        count = sum(setting.reason is not InitReason.LEFT for setting in self.settings)
        done = "set" if self.changed else "would be set (dry run)"
        how = "" if self.distribution == "normal" else f", {self.distribution} weights"
        left = len(self.left)
        tensors = f"{counted(count, 'tensor')} {done}, {left} unchanged"
        return f"{self.model}: {tensors}; target {self.target}, seed {self.seed}{how}"

    def _facts(self) -> list[Fact]:
        alike: dict[tuple[object, ...], list[TensorSetting]] = {}  # tensors with equal numbers and reasons
        for s in self.settings:
            alike.setdefault((s.tensor, s.kind, f"{s.variance:.6g}", s.reason, s.why), []).append(s)
        facts = []
        for first, *others in alike.values():
            label = f"{first.name} ... {others[-1].name} ({len(others) + 1})" if others else first.name
            numbers, symbol = "", {"weight": "C_W", "bias": "C_b"}.get(first.kind)
            if symbol and not math.isnan(first.variance):
                numbers = f"std {first.std:.4g} ({symbol} = {first.variance:.{DIGITS}g}), "
            facts.append(Fact(label, f"{numbers}{first.reason.value}: {first.why}"))
        for text, advice in self.advice:
            said = "linear layers without an activation before them, " if text in self.linear else ""
            said += f"in a model of {counted(advice.depth, 'layer')} of width {advice.width}{advice.outcome}"
            by_hand = (Topic.SCALING, *[Topic.SOURCE] * (advice.origin is Origin.GIVEN))  # for those who draw weights
            reasons = advice.reasons_but(*by_hand)
            if text in self.kept and "xi" in advice.parameters:  # nothing was drawn as these sentences say
                advised = f"{advice.parameters['xi']:.{DIGITS}g}"
                said += f": xi = {advised} is advised; all branches of this model start smaller, and stay so"
                reasons = ()
            facts += [Fact(f"z' = {text}", said), *(Fact("", reason) for reason in reasons)]
        facts += [Fact("afterwards", sentence) for sentence in self.check.sentences]
        return facts + [Fact("note", note) for note in self.notes]
