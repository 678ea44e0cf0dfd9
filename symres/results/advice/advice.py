"""Advice on initialisation, for one depth and one width."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...core.abbreviation import counted
from ...core.display import Fact, Shown
from . import sentences
from .parts import Choice, Topic


@dataclass(frozen=True, repr=False)
class Advice(Choice, Shown):
    """The variances to draw and the scale of the inputs, with reasons; its fields are those of ``Choice``.

    Examples:
        >>> advice = sr.derive("abs").advice(depth=10, width=100)
        >>> advice.holds, advice.C_W, advice.C_b, advice.inputs_kernel
        (True, 1.0, 0.0, 1.0)
        >>> round(advice.fluctuation, 6)  # sqrt((V + 2)/width), with V = 20
        0.469042
    """

    @property
    def reasons(self) -> tuple[str, ...]:
        """What to draw, how to scale inputs and how networks fared, in words; names of symbols as programs write them.

        Examples:
            >>> sr.derive("abs").advice(depth=10, width=100).reasons[1]
            'This is the critical point: a layer keeps the kernel, and both susceptibilities are 1.'
        """
        return self.reasons_but()

    def reasons_but(self, *topics: Topic) -> tuple[str, ...]:
        """The reasons without those about some topics.

        Examples:
            >>> from symres.results.advice.parts import Topic
            >>> len(sr.derive("abs").advice(depth=10, width=100).reasons_but(*Topic))
            0
        """
        return tuple(text for topic, text in sentences.told(self) if topic not in topics)

    @property
    def code(self) -> tuple[str, ...]:
        """The lines for PyTorch, for one linear layer m; empty where nothing holds.

        Examples:
            >>> sr.derive("abs").advice(depth=10, width=100).code[0]
            'torch.nn.init.normal_(m.weight, std=(1/m.in_features)**0.5)'
        """
        if self.C_W is None or self.C_b is None or not self.holds:
            return ()
        weight, bias = (sentences.digits(value) for value in (self.C_W, self.C_b))
        zero = self.C_b == 0
        drawn = "torch.nn.init.zeros_(m.bias)" if zero else f"torch.nn.init.normal_(m.bias, std={bias}**0.5)"
        return (f"torch.nn.init.normal_(m.weight, std=({weight}/m.in_features)**0.5)", drawn)

    @property
    def schemes_title(self) -> str:
        """What ``schemes`` shows; empty where C_W and C_b are not both free.

        Examples:
            >>> sr.derive("abs").advice(depth=10, width=100).schemes_title.partition(": ")[2]
            'factors by which all layers change kernel and squared gradient, at infinite width'
        """
        return sentences.schemes_title(self.usual)

    @property
    def schemes(self) -> list[tuple[str, str, str, str]]:
        """Rows of customary schemes, each name, C_W and the factors by which kernel and squared gradient change.

        Examples:
            Ten layers of ``|z|`` at ``C_W = 2`` multiply kernels and squared gradients by ``2^10``:

            >>> sr.derive("abs").advice(depth=10, width=100).schemes[-1]
            ("He's", '2', '1000', '1000')
        """
        return sentences.schemes_rows(self.usual)

    @property
    def outcome(self) -> str:
        """What became of it, in words behind a title; empty where networks keep kernels and gradients.

        Examples:
            >>> sr.derive("abs").advice(depth=10, width=100).outcome
            ''
        """
        return sentences.outcome(self)

    def _title(self) -> str:
        return f"advice for {counted(self.depth, 'layer')} of width {self.width}{self.outcome}"

    def _facts(self) -> Iterable[Fact]:
        numbers = {"C_W": self.C_W, "C_b": self.C_b, **self.parameters, "inputs_kernel": self.inputs_kernel}
        shown = [Fact(name, sentences.digits(v)) for name, v in numbers.items() if v is not None]
        rows = [f"{name} (C_W = {w}): kernel {k}, squared gradient {g}" for name, w, k, g in self.schemes]
        told = [Fact(self.schemes_title, "; ".join(rows))] if rows else []
        return [*shown, *(Fact("", text) for text in self.reasons), *told]
