"""What can go wrong: every message says what was asked, what was found and what to do."""

from __future__ import annotations


class SymresError(Exception):
    """Base of every error that symres raises on purpose.

    Args:
        asked: what the caller wanted.
        found: what stands in the way.
        remedy: what to do about it.
    """

    def __init__(self, asked: str, found: str, remedy: str) -> None:
        super().__init__(asked, found, remedy)
        self.asked = asked
        self.found = found
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.asked}: {self.found}; {self.remedy}"


class DeclarationError(SymresError):
    """A formula, a name, a parameter or a number that cannot be declared."""


class NoClosedForm(SymresError):
    """The exact engine does not close on this average; numbers with error bounds remain available."""


class OutOfBudget(NoClosedForm):
    """A stage was given up after the work that it may take; see ``symres.budget``."""


class UnsupportedLayer(SymresError):
    """A forward equation whose infinite-width theory symres cannot derive."""


class CheckRefuted(SymresError):
    """An oracle contradicts a derived result."""


class UnavailableDerivative(SymresError, NotImplementedError):
    """A derivative that a generated function does not have."""
