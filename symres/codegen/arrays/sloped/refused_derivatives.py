"""The error of a derivative that a generated function does not have."""

from __future__ import annotations


class NoDerivative(NotImplementedError):
    """A derivative that a function does not have; symres, where it loads a module, puts a SymresError there."""

    def __init__(self, asked: str, found: str, remedy: str) -> None:
        super().__init__(f"{asked}: {found}; {remedy}")
