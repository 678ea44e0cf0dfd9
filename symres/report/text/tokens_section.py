"""The part of a page about deep stacks of tokens."""

from __future__ import annotations

from .console import Line, Span, line
from .sheet import ReportSection

_COLUMNS = ("layers", "kernel", "similarity", "APJN of a token")
_WIDTH = 16


class TokensSection(ReportSection):
    """Whether tokens become alike, and what gradients do."""

    def lines(self) -> list[Line]:
        """A table over the depth, and what it means."""
        stack = self.report.tokens
        if stack is None:
            return []
        said = f"{stack.tokens} tokens" + " (--tokens takes another number)" * stack.is_usual
        lines = self.rule("Deep stacks of tokens")
        lines += self.wrapped(f"{said}; the first stream has kernel 1, and its tokens have nothing in common", "dim")
        lines.append(line("    ", Span("".join(name.ljust(_WIDTH) for name in _COLUMNS).rstrip(), "bold")))
        for row in stack.rows:
            numbers = f"{row.layers}", f"{row.kernel:.5g}", f"{row.similarity:.5f}", f"{row.apjn:.5g}"
            lines.append(line("    ", "".join(number.ljust(_WIDTH) for number in numbers).rstrip()))
        return lines + [shown for text in stack.sentences for shown in self.wrapped(self.words(text))]
