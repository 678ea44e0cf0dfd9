"""Objects that show themselves: on a terminal, in a notebook, and through rooms that their own room cannot see.

A class says its facts once, and ``Shown`` writes them as text, LaTeX and HTML. What takes a room above, the page of a
theory for instance, is a view: the package itself says where views come from (``provide``), and they are loaded when
the first is asked for (``views``).
"""

from __future__ import annotations

import html
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

Plain: TypeAlias = str | float | bool | list["Plain"] | dict[str, "Plain"] | None

_LONGEST = 1200  # characters of LaTeX: a longer formula is no help in a notebook


@dataclass(frozen=True)
class Fact:
    """One line about an object.

    Args:
        label: what it is about; empty where the text says so itself.
        text: plain text.
        latex: an equation that says the same, without dollar signs; empty if there is none.
    """

    label: str
    text: str
    latex: str = ""


class Shown:
    """An object with a title and facts; sensible front ends show its HTML, its LaTeX or its text."""

    __slots__ = ()

    @abstractmethod
    def _title(self) -> str:
        """A few words on one line."""

    @abstractmethod
    def _facts(self) -> Iterable[Fact]:
        """In the order of reading."""

    def __str__(self) -> str:
        facts = (f"  {fact.label}: {fact.text}" if fact.label else f"  {fact.text}" for fact in self._facts())
        return "\n".join([self._title(), *facts])

    def _repr_latex_(self) -> str | None:
        r"""The equations as ``$\displaystyle ...$``; None if there are none, or they are too long."""
        text = r",\quad ".join(fact.latex for fact in self._facts() if fact.latex)
        return rf"$\displaystyle {text}$" if 0 < len(text) <= _LONGEST else None

    def _repr_html_(self) -> str:
        """A table of the facts, formulas in LaTeX."""
        rows = "".join(
            f'<tr><th style="text-align:left">{html.escape(fact.label)}</th>'
            f'<td style="text-align:left">{_cell(fact)}</td></tr>'
            for fact in self._facts()
        )
        return f"<table><caption>{html.escape(self._title())}</caption>{rows}</table>"


def _cell(fact: Fact) -> str:
    return html.escape(f"${fact.latex}$" if 0 < len(fact.latex) <= _LONGEST else fact.text)


def preformatted(text: str) -> str:
    """Plain text, its columns kept, as HTML."""
    return f"<pre>{html.escape(text)}</pre>"


class Views(Protocol):
    """What rooms above draw, or find out, for objects of rooms below."""

    def page(self, theory: Any, width: int) -> str:
        """The page of a theory, as ``symres derive`` prints it."""

    def summary(self, theory: Any) -> dict[str, Plain]:
        """The results of a theory in words and floats."""

    def advice(self, theory: Any, depth: Any, width: Any, inputs_kernel: Any) -> Any:
        """How to initialise networks of a layer."""

    def formula(self, state: Any) -> str:
        """The LaTeX of a state of a proof; empty if it is no formula."""


_source: list[Callable[[], Views]] = []


def provide(load: Callable[[], Views]) -> None:
    """Say where views come from; the last one counts."""
    _source[:] = [load]


def views() -> Views:
    """The views, loaded when they are first asked for."""
    return _source[0]()
