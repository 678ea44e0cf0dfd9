"""A printed result and what the derivation makes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import mpmath as mp


@dataclass(frozen=True)
class Claim:
    """One equation of a document, compared with its derivation at points.

    Args:
        equation: its number in the document.
        statement: what it says, one line.
        printed: the value that the document's formula gives at a point.
        derived: the value that symres derives at the same point.
        points: where they are compared.
        tolerance: largest relative deviation that counts as agreement; 1e-25 unless the comparison itself is an
            expansion in a small number.
        witness: a third value at the same points that shares nothing with the other two, for a result that is
            contradicted: plain iteration, quadrature or a finite network. It only has to tell which of them is right.
    """

    equation: str
    statement: str
    printed: Callable[..., mp.mpf]
    derived: Callable[..., mp.mpf]
    points: tuple[tuple[object, ...], ...]
    tolerance: float = 1e-25
    witness: Callable[..., mp.mpf] | None = None

    def judge(self) -> Judgement:
        """Compare at every point."""
        worst, place = mp.mpf(0), self.points[0]
        with mp.workdps(80):
            for point in self.points:
                printed, derived = mp.mpf(self.printed(*point)), mp.mpf(self.derived(*point))
                scale = max(abs(printed), abs(derived))
                deviation = abs(printed - derived) / scale if scale else mp.mpf(0)
                if deviation >= worst:
                    worst, place = deviation, point
        return Judgement(self, float(worst), place)


@dataclass(frozen=True)
class Judgement:
    """The verdict on a claim.

    Args:
        claim: the claim.
        deviation: largest relative deviation between print and derivation.
        place: the point where it occurs.
    """

    claim: Claim
    deviation: float
    place: tuple[object, ...]

    @property
    def confirmed(self) -> bool:
        """Whether the printed equation agrees with its derivation."""
        return self.deviation <= self.claim.tolerance

    def __str__(self) -> str:
        verdict = "CONFIRMED" if self.confirmed else "CONTRADICTED"
        return f"{self.claim.equation:12} {verdict:12} {self.deviation:8.1e}  {self.claim.statement}"
