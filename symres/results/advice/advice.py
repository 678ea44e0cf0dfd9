"""Advice on initialisation, for one depth and one width."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...core.abbreviation import counted
from ...core.display import Fact, Shown
from . import sentences
from .choice import Choice
from .parts import Topic


@dataclass(frozen=True, repr=False)
class Advice(Choice, Shown):
    """The variances to draw and the scale of the inputs, with reasons; its fields are those of ``Choice``."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """In words: what to draw, how to scale inputs, how networks fared; names of symbols as programs write them."""
        return self.reasons_but()

    def reasons_but(self, *topics: Topic) -> tuple[str, ...]:
        """The reasons without those about some topics."""
        return tuple(text for topic, text in sentences.told(self) if topic not in topics)

    @property
    def code(self) -> tuple[str, ...]:
        """The lines for PyTorch, for one linear layer m; empty where nothing holds."""
        if self.C_W is None or self.C_b is None or not self.holds:
            return ()
        weight, bias = (sentences.digits(value) for value in (self.C_W, self.C_b))
        zero = self.C_b == 0
        drawn = "torch.nn.init.zeros_(m.bias)" if zero else f"torch.nn.init.normal_(m.bias, std={bias}**0.5)"
        return (f"torch.nn.init.normal_(m.weight, std=({weight}/m.in_features)**0.5)", drawn)

    @property
    def schemes_title(self) -> str:
        """What ``schemes`` shows; empty where C_W and C_b are not both free."""
        return sentences.schemes_title(self.usual)

    @property
    def schemes(self) -> list[tuple[str, str, str, str]]:
        """What customary schemes do: rows of name, C_W, and the factors by which kernel and squared gradient change."""
        return sentences.schemes_rows(self.usual)

    def _title(self) -> str:
        return f"advice for {counted(self.depth, 'layer')} of width {self.width}{sentences.outcome(self)}"

    def _facts(self) -> Iterable[Fact]:
        numbers = {"C_W": self.C_W, "C_b": self.C_b, **self.parameters, "inputs_kernel": self.inputs_kernel}
        shown = [Fact(name, sentences.digits(v)) for name, v in numbers.items() if v is not None]
        rows = [f"{name} (C_W = {w}): kernel {k}, squared gradient {g}" for name, w, k, g in self.schemes]
        told = [Fact(self.schemes_title, "; ".join(rows))] if rows else []
        return [*shown, *(Fact("", text) for text in self.reasons), *told]
