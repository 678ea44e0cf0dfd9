"""Sentences that keep the values that they are made of: people read the words, code reads the fields.

And expressions as texts: in messages, and where they are sorted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    import sympy as sp


class Words(str):
    """A text with fields; subclasses are dataclasses whose ``__new__`` writes the text from the fields."""

    def __getnewargs__(self) -> tuple[object, ...]:  # type: ignore[override]  # copies are written again
        return tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]


class Obstruction(Enum):
    """What stands between a quantity and a closed form, as far as readers are told it in different words."""

    OUTSIDE = "outside the families of functions with closed forms"
    INFINITE = "an average that it needs is infinite"
    OTHER = "something else"


@dataclass(frozen=True, eq=False, repr=False)
class Reason(Words):
    """Why a result has no closed form."""

    subject: str  # what the reason is about, a formula or a noun; may be empty
    predicate: str  # what is said of it, whatever the subject is
    obstruction: Obstruction = Obstruction.OTHER  # the kind of the reason

    def __new__(cls, subject: str, predicate: str, obstruction: Obstruction = Obstruction.OTHER) -> Self:
        """Write the words."""
        return super().__new__(cls, f"{subject} {predicate}".lstrip())

    @classmethod
    def listed(cls, reasons: Sequence[str]) -> str:
        """Several reasons in one, of the kind of the first that has one."""
        first, *rest = dict.fromkeys(reasons) or [""]
        if not rest:
            return first
        kind = next((o for o in map(obstruction, reasons) if o is not Obstruction.OTHER), Obstruction.OTHER)
        subject, predicate = (first.subject, first.predicate) if isinstance(first, cls) else ("", first)
        return cls(subject, "; ".join([predicate, *rest]), kind)


@dataclass(frozen=True, eq=False, repr=False)
class NumbersWanted(Words):
    """What to do where parameters have no numbers: pass them by name, or type them."""

    names: tuple[str, ...]  # of the parameters
    call: str = ""  # what is called with them, ``gain(..., {})``; empty where that is clear
    example: str = "0.5"  # a number that may stand for each

    def __new__(cls, names: tuple[str, ...], call: str = "", example: str = "0.5") -> Self:
        """Write the words for callers in Python."""
        passed = ", ".join(f"{name}={example}" for name in names)
        return super().__new__(cls, f"pass numbers by name: {call.format(passed) if call else passed}")

    @property
    def typed(self) -> str:
        """The words for people at the command line."""
        return f"add {' '.join(f'--set {name}={self.example}' for name in self.names)}"


def as_typed(remedy: str) -> str:
    """What to do, as the command line has it."""
    return remedy.typed if isinstance(remedy, NumbersWanted) else remedy


def obstruction(reason: str) -> Obstruction:
    """The kind of a reason."""
    return reason.obstruction if isinstance(reason, Reason) else Obstruction.OTHER


def predicate(reason: str) -> str:
    """What a reason says without its subject: of two quantities with the same predicate it is told once."""
    return reason.predicate if isinstance(reason, Reason) else reason


@dataclass(frozen=True, eq=False, repr=False)
class SeriesRange(Words):
    """Where a series in K ends, and how far it reaches."""

    terms: str  # the last power
    reach: str = ""  # for which K it has which error; empty if it was not compared with numbers

    def __new__(cls, terms: str, reach: str = "") -> Self:
        """Write the words."""
        return super().__new__(cls, "; ".join(filter(None, (terms, reach))))


def abbreviated(value: object, length: int) -> str:
    """The text of an object, cut to a number of characters with dots at the end."""
    text = str(value)
    return text if len(text) <= length else f"{text[: length - 3]}..."


def with_digest(start: str, whole: str, joint: str = "_") -> str:
    """The start of a text with eight digits made from the whole of it: different texts stay different."""
    return f"{start.rstrip('_')}{joint}{hashlib.sha256(whole.encode()).hexdigest()[:8]}"


def listed(names: Iterable[str]) -> str:
    """Names in a sentence: ``a, b and c``."""
    *before, last = names
    return f"{', '.join(before)} and {last}" if before else last


def counted(number: int, noun: str) -> str:
    """A number of things: ``1 layer``, ``2 layers``."""
    return f"{number} {noun}{'s' * (number != 1)}"


@lru_cache(maxsize=2**14)
def text_of(expression: sp.Basic) -> str:
    """``str(expression)``: the same expressions are sorted by their texts again and again, and printing is slow."""
    return str(expression)
