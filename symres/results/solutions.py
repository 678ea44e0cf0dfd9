"""Values of parameters with which a theory meets targets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..core.display import Fact, Shown


@dataclass(frozen=True, repr=False)
class Solution(Shown):
    """Values of the unknown parameters.

    Args:
        values: by name.
        certificate: how it is known that they meet the targets.
    """

    values: Mapping[str, float]
    certificate: str

    def _title(self) -> str:
        return ", ".join(f"{name} = {value:.15g}" for name, value in self.values.items())

    def _facts(self) -> Iterator[Fact]:
        yield Fact("", self.certificate)


@dataclass(frozen=True, repr=False)
class SolutionCurve(Shown):
    """The curve on which a theory meets targets, where there is one unknown more than targets.

    Args:
        equation: between the unknowns.
        points: some of the curve, in increasing order of the first unknown.
    """

    equation: str
    points: tuple[Solution, ...]

    def _title(self) -> str:
        return self.equation

    def _facts(self) -> Iterator[Fact]:
        yield from (Fact("", point._title()) for point in self.points)


@dataclass(frozen=True, repr=False)
class SolutionSet(Shown):
    """All solutions that were met in a box.

    Args:
        solutions: in increasing order of the first unknown; empty where there is none, and where there is a curve.
        reason: why there is none; else where they were looked for.
        curve: of the solutions, where there is one unknown more than targets; None for single solutions.
    """

    solutions: tuple[Solution, ...]
    reason: str
    curve: SolutionCurve | None = None

    def record(self) -> dict[str, Any]:
        """All of it as plain values, for JSON."""
        return asdict(self)

    def __bool__(self) -> bool:
        return bool(self.solutions) or self.curve is not None

    def _title(self) -> str:
        if self.curve is not None:
            return f"a curve: {self.curve.equation}"
        count = len(self.solutions)
        return "no solution" if not count else f"{count} solution{'s' * (count > 1)}"

    def _facts(self) -> Iterator[Fact]:
        if self.curve is not None:
            yield from self.curve._facts()
        for solution in self.solutions:
            yield Fact("", f"{solution._title()} ({solution.certificate})")
        yield Fact("", self.reason)
