"""Objects that show themselves, on a terminal and in a notebook.

A class says its facts once, and ``Shown`` writes them as text, LaTeX and HTML. What takes a room above, the page of a
theory for instance, is one of the ``views`` of ``foreign``.
"""

from __future__ import annotations

import html
import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

Plain: TypeAlias = str | float | bool | list["Plain"] | dict[str, "Plain"] | None

_LONGEST = 1200  # characters of LaTeX: a longer formula is no help in a notebook
_LINE = 200  # characters of a repr: a list of some objects still fits a screen
_GRID = "display:grid;grid-template-columns:fit-content(35%) minmax(0,1fr);gap:0.3em 1em;align-items:baseline"
_WHOLE = "grid-column:1/-1"  # of a fact without a label
_INDENT = "padding-left:1em"
_BUTTON = (  # quiet until the eye looks for it
    "float:right;margin-left:1em;font-size:0.7em;color:inherit;background:none;border:1px solid currentColor;"
    "border-radius:3px;opacity:0.5;cursor:pointer"
)
_SCROLLS = "overflow-x:auto;overflow-y:hidden"  # a formula that MathJax finds no place to break is not cut off


@dataclass(frozen=True)
class Fact:
    """One line about an object."""

    label: str  # what it is about; empty where the text says so itself
    text: str  # plain text
    latex: str = ""  # an equation that says the same, without dollar signs; empty if there is none


def plain(value: str | float) -> Plain:
    """A value of a table as JSON has it: None for a number that is not finite."""
    return value if isinstance(value, str) or math.isfinite(value) else None


class Shown:
    """An object with a title and facts; sensible front ends show its HTML, its LaTeX or its text.

    ``dir`` of it, and so completion, has the names for users only. A class among whose public attributes are some for
    other rooms says which names are for users, by purpose, as ``_names``.
    """

    __slots__ = ()

    _names: ClassVar[Mapping[str, tuple[str, ...]]] = {}  # empty: every attribute without an underscore

    @abstractmethod
    def _title(self) -> str:
        """A few words on one line."""

    @abstractmethod
    def _facts(self) -> Iterable[Fact]:
        """In the order of reading."""

    def __dir__(self) -> list[str]:
        for_users = {name for names in self._names.values() for name in names}
        public = (name for name in super().__dir__() if not name.startswith("_"))
        return sorted(name for name in public if not for_users or name in for_users)

    def __repr__(self) -> str:
        """The title and the first facts on one line; ``str`` has all of them."""
        line = self._title()
        for fact in self._facts():
            added = f"; {_in_words(fact)}"
            if len(line) + len(added) > _LINE:
                return f"<{line}; ...>"
            line += added
        return f"<{line}>"

    def __str__(self) -> str:
        return "\n".join([self._title(), *(f"  {_in_words(fact)}" for fact in self._facts())])

    def _repr_latex_(self) -> str | None:
        r"""The equations as ``$\displaystyle ...$``; None if there are none, or they are too long."""
        text = r",\quad ".join(fact.latex for fact in self._facts() if fact.latex)
        return rf"$\displaystyle {text}$" if 0 < len(text) <= _LONGEST else None

    def _repr_html_(self) -> str:
        """The title, and the facts below it, formulas in LaTeX."""
        return f"{heading(self._title())}{listed(self._facts())}"


def _in_words(fact: Fact) -> str:
    return f"{fact.label}: {fact.text}" if fact.label else fact.text


def heading(text: str) -> str:
    """A line of HTML above what it is about."""
    return f'<div style="font-weight:bold">{html.escape(text)}</div>'


def listed(facts: Iterable[Fact]) -> str:
    """Facts as HTML, labels on the left.

    A grid and no table: MathJax breaks formulas to the width of what they stand in, which of a cell is that of a term.
    """
    rows, above = [], ""
    for fact in facts:
        if fact.label:
            rows.append(f"<div>{html.escape(fact.label) if fact.label != above else ''}</div>")
        above = fact.label
        is_formula = 0 < len(fact.latex) <= _LONGEST
        styles = [_WHOLE] * (not fact.label) + [_SCROLLS] * is_formula
        style = f' style="{";".join(styles)}"' if styles else ""
        content = html.escape(rf"$\displaystyle {fact.latex}$" if is_formula else fact.text)
        button = copy_button("LaTeX", fact.latex) if is_formula and "=" in fact.latex else ""
        rows.append(f"<div{style}>{button}{content}</div>")
    return f'<div style="{_GRID};{_INDENT}">{"".join(rows)}</div>' if rows else ""


def copy_button(what: str, text: str = "") -> str:
    """A button that copies a text, or else that of the element behind it; its colours are those of the page."""
    copied = "dataset.text" if text else "nextElementSibling.textContent"
    copy = f"navigator.clipboard.writeText(this.{copied})"
    named = f'type="button" title="copy {what}"' + (f' data-text="{html.escape(text)}"' if text else "")
    return f'<button {named} style="{_BUTTON}" onclick="{copy}">copy {what}</button>'


def preformatted(text: str) -> str:
    """Plain text, its columns kept, as HTML; published notebooks print ``pre`` in a font for prose."""
    return f'<pre style="font-family:monospace;line-height:1.25;overflow-x:auto">{html.escape(text)}</pre>'


def folded(summary: str, inside: str, is_open: bool = False) -> str:
    """HTML that is unfolded by a click on its summary, a line of text."""
    state = " open" if is_open else ""
    title = f'<summary style="cursor:pointer;font-weight:bold">{html.escape(summary)}</summary>'
    return f'<details{state}>{title}<div style="{_INDENT}">{inside}</div></details>'
