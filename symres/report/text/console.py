"""Where text goes: what the streams can show, and how they fail."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TextIO

WIDTH = 80
_SAMPLE = "γχπ√⟨φ⟩²₁⁺−·─═∥⊥≤"
_ASCII = str.maketrans(
    {"─": "-", "═": "=", "·": "*", "–": "-", "—": "-", "±": "+-", "∥": "par", "⊥": "perp", "χ": "chi", "γ": "gamma"}
    | {"φ": "phi", "⟨": "<", "⟩": ">", "²": "^2", "√": "sqrt", "≤": "<=", "≥": ">=", "∞": "oo", "…": "..."}
)


@dataclass(frozen=True)
class Span:
    """A piece of a line and how it looks on a terminal (a rich style)."""

    text: str
    style: str = ""


Line = tuple[Span, ...]


def line(*parts: str | Span) -> Line:
    """A line from texts and spans."""
    return tuple(p if isinstance(p, Span) else Span(p) for p in parts)


class Output:
    """Standard output: lines with styles on a terminal, plain text anywhere else.

    A reader that went away (``| head``) is no error: the rest of the text is dropped, so that a command still does
    its work and its exit code says how that went.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stdout if stream is None else stream
        self.terminal = self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self.width = WIDTH
        if self.terminal:
            with suppress(OSError):
                self.width = max(min(os.get_terminal_size(self._stream.fileno()).columns or WIDTH, WIDTH), 40)

    @property
    def unicode(self) -> bool:
        """Whether the stream's encoding has mathematical characters."""
        try:
            _SAMPLE.encode(self._stream.encoding or "ascii")
        except (UnicodeEncodeError, LookupError):
            return False
        return True

    def lines(self, lines: Iterable[Line]) -> None:
        """Print lines; no trailing white space."""
        if self.terminal:
            self._styled(lines)
            return
        self.text("\n".join("".join(span.text for span in spans).rstrip() for spans in lines))

    def text(self, text: str) -> None:
        """Print text as it is, with a newline at its end."""
        if not self.unicode:
            text = text.translate(_ASCII)
        encoding = self._stream.encoding or "ascii"
        self._write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")

    def _styled(self, lines: Iterable[Line]) -> None:
        from rich.console import Console
        from rich.text import Text

        console = Console(file=self._stream, highlight=False, width=max(self.width, WIDTH))
        with console.capture() as capture:
            for spans in lines:
                text = Text.assemble(*((span.text, span.style) for span in spans))
                text.rstrip()
                console.print(text, soft_wrap=True)
        captured = capture.get()
        self._write(captured if self.unicode else captured.translate(_ASCII))

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except BrokenPipeError:
            # Python flushes standard output once more when it exits; that must find an open file.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())


def complain(message: str) -> None:
    """One line on standard error: no line breaks, no control characters, of readable length."""
    shown = "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in message)
    shown = " ".join(shown.split())
    if len(shown) > 500:
        shown = f"{shown[:380]} ... {shown[-110:]}"
    encoding = sys.stderr.encoding or "ascii"
    sys.stderr.write(f"symres: {shown}".encode(encoding, "backslashreplace").decode(encoding) + "\n")
    sys.stderr.flush()


@contextmanager
def busy(what: str) -> Iterator[None]:
    """A spinner on standard error while something takes its time, if that is a terminal."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{what} ..."):
        yield
